"""The databases. Each has load(script), query(sql, params), version() and, if it needs that, literal(is_literal).

`at_once` is the number of statements that run concurrently, if more than one.
"""

import atexit
import json
import os
import pathlib
import socket
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
        # The help of `casefilter sql` tells users to do this for long literals.
        self.session.query("SET max_query_size = 16777216")

    def version(self):
        return self.query("SELECT version()", [])[0][0]

    def load(self, script):
        # Splits the script into statements, without comments.
        lines = [line for line in script.split("\n") if not line.startswith("--")]
        for statement in "\n".join(lines).split(";\n"):
            if statement.strip():
                self.session.query(statement)

    def query(self, sql, params):
        bound = {f"p{number}": text_of(value) for number, value in enumerate(params, 1)}
        answer = self.session.query(sql, "JSONCompactEachRow", params=bound) if bound else self.session.query(sql, "JSONCompactEachRow")
        return [json.loads(line) for line in answer.bytes().decode().split("\n") if line]


def text_of(value):
    """Returns a parameter in ClickHouse's text format."""
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
    """A master and two workers, as processes on this machine. Each worker has an executor with one core."""

    name = "spark"
    # A statement spends most of its time waiting for processes.
    at_once = 4

    def __init__(self, arguments):
        import pyspark
        from pyspark.sql import SparkSession
        from pyspark.sql.functions import expr

        self.expr = expr
        self.home = pathlib.Path(pyspark.__file__).parent
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=arguments.scratch))
        self.processes = []
        atexit.register(self.stop)
        master = f"spark://127.0.0.1:{free_port()}"
        self.launch("master", "--port", master.rpartition(":")[2])
        for number in (1, 2):
            folder = self.folder / f"work{number}"
            self.launch("worker", "--cores", "1", "--memory", "1g", "--work-dir", folder, master, name=f"worker{number}")
        settings = {
            "spark.cores.max": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "1g",
            # Waits until both executors have started.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
            "spark.locality.wait": "0s",
            # Two files per table, so that each worker gets a task.
            "spark.sql.shuffle.partitions": "2",
            # The tables are small. Separate stages for each exchange would take most of the time.
            "spark.sql.adaptive.enabled": "false",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": self.folder / "warehouse",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
        builder = SparkSession.builder.master(master)
        for key, value in settings.items():
            builder = builder.config(key, str(value))
        self.session = builder.getOrCreate()
        # The compiler fails on the largest statements and logs a page of Java for each. Errors are still raised here.
        self.session.sparkContext.setLogLevel("OFF")
        executors = self.session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
        assert executors == 2, f"{executors} executors"

    def launch(self, kind, *rest, name=None):
        """Starts a master or a worker. It ends with this process."""
        command = [self.home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}.{kind.capitalize()}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *rest]
        surroundings = os.environ | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(self.home)}
        with open(self.folder / f"{name or kind}.log", "w") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=surroundings))

    def stop(self):
        if hasattr(self, "session"):
            self.session.stop()
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()

    def version(self):
        return self.session.version

    def load(self, script):
        lines = [line for line in script.split("\n") if not line.startswith("--")]
        for statement in "\n".join(lines).split(";\n"):
            if statement.strip():
                self.session.sql(statement)

    def literal(self, is_literal):
        """Compiles statements with parameters, and interprets those with literals, which is faster for a single run."""
        self.session.conf.set("spark.sql.codegen.wholeStage", str(not is_literal).lower())
        self.session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if is_literal else "FALLBACK")

    def query(self, sql, params):
        frame = self.session.sql(sql, args=[self.typed(value) for value in params]) if params else self.session.sql(sql)
        return [tuple(row) for row in frame.collect()]

    def typed(self, value):
        """Returns a parameter. Gives lists of integers one type, since Spark would choose types by the size of the numbers."""
        if isinstance(value, list) and value and all(type(item) is int for item in value):
            return self.expr("array(" + ", ".join(f"{item}L" for item in value) + ")")
        return value


def free_port():
    """Returns an unused port of this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(name, arguments):
    kinds = {kind.name: kind for kind in (Postgres, DuckDb, ClickHouse, Spark)}
    return kinds[name](arguments)
