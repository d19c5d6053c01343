"""DuckDB: an in-memory table, enums for the three fields with known values, an index on the ids."""

import duckdb

import requests
from engines import sql

ENUMS = ("status", "priority", "createdByType")


class Engine:
    note = "in-memory table; ENUM for status, priority, createdByType; ART index on applicantId and id"

    def __init__(self, parquet):
        self.version = duckdb.__version__
        self.db = duckdb.connect()
        self.db.execute("SET threads=1")
        source = f"read_parquet({sql.text(str(parquet))})"
        for enum in ENUMS:
            field = next(field for field in sql.FIELDS if sql.name(field) == enum)
            self.db.execute(
                f'CREATE TYPE {enum}_type AS ENUM (SELECT DISTINCT "{field}" FROM {source} WHERE "{field}" IS NOT NULL)'
            )
        columns = ", ".join(f"{self.source(field)} AS {sql.column(field)}" for field in sql.FIELDS)
        self.db.execute(f"CREATE TABLE cases AS SELECT {columns} FROM {source}")
        self.db.execute('CREATE INDEX by_applicant ON cases ("applicantId")')
        self.db.execute('CREATE INDEX by_id ON cases ("id")')

    @staticmethod
    def source(field):
        if sql.TYPED.get(field) == "time":
            return f'make_timestamp(epoch_us("{field}"))'
        value = f"""coalesce("{field}", 'medium')""" if field == "priority" else f'"{field}"'
        return f"CAST({value} AS {sql.name(field)}_type)" if sql.name(field) in ENUMS else value

    def prepare(self, request):
        if requests.is_facets(request):
            statements = sql.Dialect().facets(request)
            rows = lambda: [self.db.execute(statement).fetchall() for statement in statements]
            return lambda: sql.Dialect().counted(request, rows())
        statement = sql.Dialect().select(request)
        if requests.is_count(request):
            return lambda: self.db.execute(statement).fetchone()[0]
        return lambda: [row[0] for row in self.db.execute(statement).fetchall()]


def load(parquet, work):
    return Engine(parquet)
