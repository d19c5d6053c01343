"""PostgreSQL: a separate server on a socket in a temporary directory, with every useful index."""

import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pyarrow.parquet as pq

import requests
from engines import sql

SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "2GB",
    "work_mem": "256MB",
    "maintenance_work_mem": "1GB",
    "effective_cache_size": "6GB",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "fsync": "off",
    "synchronous_commit": "off",
    "max_wal_size": "4GB",
    "autovacuum": "off",
}
TYPES = {"number": "double precision", "time": "timestamp"}
INDEXES = [
    '("id")', '("applicantId")', '("createdAt" DESC, "id")', '("updatedAt")', '("amount")', '("clientId")',
    '("country")', '("blueprintId")', '("assignee")', '("priority", "status")', '("createdByType", "amount")',
    '("groupByType")', '("status", "createdAt" DESC, "id")', '("status", "updatedAt")',
    '("status", "createdByType", "amount" DESC NULLS LAST, "id")', "USING gin (tags)", 'USING gin ("sourceKeys")',
]  # fmt: skip


class Dialect(sql.Dialect):
    has_all = "{column} @> {values}"
    has_any = "{column} && {values}"
    array = "ARRAY[{}]::text[]"


def binary(name):
    """Finds a program on the path, or in Debian's folder of server programs."""
    found = shutil.which(name)
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        found = found or shutil.which(name, path=str(directory))
    if not found:
        raise SystemExit(f"{name} not found: install Debian's package postgresql")
    return found


class Engine:
    note = (
        "text[] with GIN, B-trees on every other column and composites for the requests; shared_buffers 2 GB, "
        "prepared statements, no parallel workers"
    )

    def __init__(self, parquet):
        # The server does not run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        self.home = Path(tempfile.mkdtemp(prefix="casefilter-postgres-"))
        if self.user:
            owner = pwd.getpwnam(self.user)
            os.chown(self.home, owner.pw_uid, owner.pw_gid)
        name = self.user or getpass.getuser()
        self.server = self.db = None
        try:
            self.run(["initdb", "-D", "data", "-A", "trust", "-U", name, "-E", "UTF8", "--locale=C", "--no-sync"])
            options = [part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value}")]
            self.server = subprocess.Popen(
                [binary("postgres"), "-D", "data", "-k", str(self.home), *options],
                user=self.user, cwd=self.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self.run(["pg_isready", "-h", str(self.home), "-t", "60"], tries=60)
            self.db = psycopg.connect(host=str(self.home), user=name, dbname="postgres", autocommit=True)
            self.fill(parquet)
        except BaseException:
            self.close()
            raise

    def run(self, command, tries=1):
        for last in range(tries, 0, -1):
            done = subprocess.run(
                [binary(command[0]), *command[1:]], user=self.user, cwd=self.home, capture_output=True, check=last == 1
            )
            if done.returncode == 0:
                return
            # The server starts within about a second.
            time.sleep(0.5)

    def fill(self, parquet):
        self.version = self.db.execute("SHOW server_version").fetchone()[0]
        columns = ", ".join(
            f"{sql.column(field)} {'text[]' if field in sql.LISTS else TYPES.get(sql.TYPED.get(field), 'text')}"
            for field in sql.FIELDS
        )
        self.db.execute(f"CREATE TABLE cases ({columns})")
        with self.db.cursor().copy("COPY cases FROM STDIN") as copy:
            for batch in pq.ParquetFile(parquet).iter_batches(50_000, columns=sql.FIELDS):
                lists = []
                for field in sql.FIELDS:
                    column = batch.column(batch.schema.get_field_index(field))
                    if field == "priority":
                        column = column.fill_null("medium")
                    lists.append(column.to_pylist())
                for row in zip(*lists, strict=True):
                    copy.write_row(row)
        for index in INDEXES:
            self.db.execute(f"CREATE INDEX ON cases {index}")
        self.db.execute("VACUUM ANALYZE cases")

    def prepare(self, request):
        statement = Dialect().select(request)
        if requests.is_count(request):
            return lambda: self.db.execute(statement, prepare=True).fetchone()[0]
        return lambda: [row[0] for row in self.db.execute(statement, prepare=True).fetchall()]

    def close(self):
        if self.db:
            self.db.close()
        if self.server:
            # An interrupt is PostgreSQL's fast shutdown.
            self.server.send_signal(signal.SIGINT)
            self.server.wait(60)
        shutil.rmtree(self.home, ignore_errors=True)


def load(parquet, work):
    return Engine(parquet)
