"""The engines, each behind load(script), query(sql, params) and version()."""

import json
import pathlib
import subprocess
import tempfile


class Postgres:
    name = "postgres"

    def __init__(self, arguments):
        import psycopg

        self.psql = arguments.psql
        self.socket = arguments.socket
        self.connection = psycopg.connect(
            f"host={self.socket} user=postgres dbname=postgres", autocommit=True, cursor_factory=psycopg.RawCursor
        )

    def version(self):
        return self.connection.execute("show server_version").fetchone()[0]

    def load(self, script):
        command = [self.psql, "-qX", "-h", self.socket, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "postgres"]
        subprocess.run(command, input=script, text=True, check=True)

    def query(self, sql, params):
        return self.connection.execute(sql, params or None).fetchall()


class DuckDb:
    name = "duckdb"

    def __init__(self, arguments):
        import duckdb

        self.connection = duckdb.connect()

    def version(self):
        return self.connection.execute("select version()").fetchone()[0]

    def load(self, script):
        self.connection.execute(script)

    def query(self, sql, params):
        statements = self.connection.extract_statements(sql)
        assert len(statements) == 1, sql
        return self.connection.execute(sql, params or None).fetchall()


class ClickHouse:
    name = "clickhouse"

    def __init__(self, arguments):
        from chdb import session

        self.session = session.Session(tempfile.mkdtemp(dir=arguments.scratch))
        self.session.query("CREATE DATABASE d")
        self.session.query("USE d")
        # As the help of `casefilter sql` says, for long literals.
        self.session.query("SET max_query_size = 16777216")

    def version(self):
        return self.query("SELECT version()", [])[0][0]

    def load(self, script):
        # The parts of a script, without the comments.
        lines = [line for line in script.split("\n") if not line.startswith("--")]
        for statement in "\n".join(lines).split(";\n"):
            if statement.strip():
                self.session.query(statement)

    def query(self, sql, params):
        bound = {f"p{number}": text_of(value) for number, value in enumerate(params, 1)}
        answer = self.session.query(sql, "JSONCompactEachRow", params=bound) if bound else self.session.query(sql, "JSONCompactEachRow")
        return [json.loads(line) for line in answer.bytes().decode().split("\n") if line]


def text_of(value):
    """A parameter in the text format in which ClickHouse takes parameters."""
    if isinstance(value, list):
        return "[" + ",".join(quoted(item) if isinstance(item, str) else text_of(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\0")
    return repr(value)


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0") + "'"


class Spark:
    name = "spark"

    def __init__(self, arguments):
        from pyspark.sql import SparkSession

        # A master and two workers, processes of their own on this machine.
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        settings = {
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": tempfile.mkdtemp(dir=arguments.scratch),
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def version(self):
        return self.session.version

    def load(self, script):
        lines = [line for line in script.split("\n") if not line.startswith("--")]
        for statement in "\n".join(lines).split(";\n"):
            if statement.strip():
                self.session.sql(statement)

    def query(self, sql, params):
        frame = self.session.sql(sql, args=params) if params else self.session.sql(sql)
        return [tuple(row) for row in frame.collect()]


def start(name, arguments):
    kinds = {kind.name: kind for kind in (Postgres, DuckDb, ClickHouse, Spark)}
    return kinds[name](arguments)
