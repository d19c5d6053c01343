"""One module for each engine. `load(parquet, work)` returns an object with these members:

`prepare(request)` returns a function without arguments, which returns the count or the list of ids. `version` is the
version, and `note` says how the data were prepared. `close()` is optional.
"""

SCAN = ("duckdb", "clickhouse", "datafusion", "polars")
INDEXED = ("tantivy", "postgres")
