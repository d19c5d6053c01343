"""One module for each engine: `load(parquet, work)` answers an object with

`prepare(request)`, which answers a function without arguments that answers the count or the list of
ids; `version`; `note`, how it was prepared; and perhaps `close()`.
"""

SCAN = ("duckdb", "clickhouse", "datafusion", "polars")
INDEXED = ("tantivy", "postgres")
