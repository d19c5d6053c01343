"""ClickHouse, in process: a MergeTree sorted by createdAt with skip indexes."""

import csv
import io
import json
import shutil
from pathlib import Path

import chdb
from chdb import session

import requests
from engines import sql


class Dialect(sql.Dialect):
    has_all = "hasAll({column}, {values})"
    has_any = "hasAny({column}, {values})"
    starts_with = "startsWith({column}, {value})"
    has_part = "position({column}, {value}) > 0"
    instant = "toDateTime('{}', 'UTC')"
    month = "toStartOfMonth({column})"
    unnest = "arrayJoin(if(empty({column}), [NULL], {column}))"


class Engine:
    note = (
        "MergeTree ORDER BY createdAt, LowCardinality strings, skip indexes on updatedAt (minmax), "
        "applicantId and id (bloom filter); one part; max_threads=1"
    )

    def __init__(self, parquet, work):
        self.path = Path(work) / "clickhouse"
        shutil.rmtree(self.path, ignore_errors=True)
        self.db = session.Session(str(self.path))
        self.db.query("SET max_threads = 1, max_insert_threads = 1")
        self.version = f"{self.value('SELECT version()')} (chdb {chdb.__version__})"
        columns = ", ".join(f"{sql.column(field)} {self.kind(field)}" for field in sql.FIELDS)
        indexes = (
            'INDEX u "updatedAt" TYPE minmax GRANULARITY 1, '
            'INDEX a "applicantId" TYPE bloom_filter GRANULARITY 1, '
            'INDEX i "id" TYPE bloom_filter GRANULARITY 1'
        )
        self.db.query("CREATE DATABASE IF NOT EXISTS peers")
        self.db.query("USE peers")
        self.db.query(
            f'CREATE TABLE cases ({columns}, {indexes}) ENGINE = MergeTree ORDER BY "createdAt"'
        )
        source = ", ".join(self.source(field) for field in sql.FIELDS)
        self.db.query(f"INSERT INTO cases SELECT {source} FROM file({sql.text(str(parquet))}, Parquet)")
        self.db.query("OPTIMIZE TABLE cases FINAL")

    @staticmethod
    def kind(field):
        name = sql.name(field)
        if field in sql.LISTS:
            return "Array(LowCardinality(String))"
        if sql.TYPED.get(field) == "number":
            return "Nullable(Float64)"
        if name == "createdAt":
            return "DateTime('UTC')"
        if name == "updatedAt":
            return "Nullable(DateTime('UTC'))"
        if name in ("status", "priority", "createdByType", "clientId"):
            return "LowCardinality(String)"
        if name in sql.FEW:
            return "LowCardinality(Nullable(String))"
        return "String" if name == "id" else "Nullable(String)"

    @staticmethod
    def source(field):
        return "coalesce(priority, 'medium')" if field == "priority" else f"`{field}`"

    def value(self, statement):
        return self.db.query(statement, "CSV").bytes().decode().strip().strip('"')

    def rows(self, statement):
        answer = self.db.query(statement, "JSONCompactEachRow").bytes().decode()
        return [json.loads(line) for line in answer.splitlines()]

    def prepare(self, request):
        if requests.is_facets(request):
            statements = Dialect().facets(request)
            return lambda: Dialect().counted(request, [self.rows(statement) for statement in statements])
        statement = Dialect().select(request)
        if requests.is_count(request):
            return lambda: int(self.value(statement))
        return lambda: [row[0] for row in csv.reader(io.StringIO(self.db.query(statement, "CSV").bytes().decode()))]

    def close(self):
        self.db.close()
        shutil.rmtree(self.path, ignore_errors=True)


def load(parquet, work):
    return Engine(parquet, work)
