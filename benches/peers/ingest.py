"""Measures how fast casefilter and others load the same NDJSON, with one thread each, a process per round, in turn."""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

SAMPLE = "sample"
TABLES = "tables"
CASES = (SAMPLE, TABLES)
ROUNDS = 7
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Any request will do, since only the loading counts.
REQUEST = '{"body":{"criteria":[]},"limit":0}\n'

KEPT = "casefilter"
FORGOTTEN = "casefilter, columns alone"
NOTES = {
    KEPT: "`casefilter bench`: every field of the catalogue that occurs, every index, and the documents as they came",
    FORGOTTEN: "`casefilter bench --without-documents`: every field of the catalogue that occurs, and every index",
    "duckdb": "`read_json` into an in-memory table of the columns it infers, `threads=1`; no index, no document",
    "pyarrow": "`pyarrow.json.read_json` into a table in memory, blocks of its usual size, `use_threads=False`",
    "clickhouse": "`file(…, JSONEachRow)` into a `Memory` table, `max_threads=1`, chdb",
    "polars": "`read_ndjson` into a frame, its types inferred as by default, `POLARS_MAX_THREADS=1`",
}


def duckdb(path):
    import duckdb

    db = duckdb.connect(config={"threads": 1})
    load = f"CREATE TABLE cases AS SELECT * FROM read_json('{path}', format='newline_delimited')"
    return lambda: db.execute(load), lambda: db.execute("SELECT count(*) FROM cases").fetchone()[0], duckdb.__version__


def pyarrow(path):
    import pyarrow
    from pyarrow import json as arrow_json

    tables = []
    read = arrow_json.ReadOptions(use_threads=False)
    return lambda: tables.append(arrow_json.read_json(path, read)), lambda: tables[0].num_rows, pyarrow.__version__


def clickhouse(path):
    from chdb import session

    db = session.Session()
    db.query("SET max_threads=1, max_insert_threads=1, max_parsing_threads=1")
    load = f"CREATE TABLE cases ENGINE = Memory AS SELECT * FROM file('{path}', 'JSONEachRow')"
    ask = lambda question: str(db.query(question, "TSV")).strip()  # noqa: E731
    return lambda: db.query(load), lambda: int(ask("SELECT count() FROM cases")), ask("SELECT version()")


def polars(path):
    import polars

    frames = []
    load = lambda: frames.append(polars.read_ndjson(path))  # noqa: E731
    return load, lambda: frames[0].height, polars.__version__


READERS = {"duckdb": duckdb, "pyarrow": pyarrow, "clickhouse": clickhouse, "polars": polars}


def work_one(engine, path):
    """Runs in a separate process: loads once, and prints the time, the number of cases and the version."""
    import time

    load, count, version = READERS[engine](path)
    start = time.perf_counter()
    load()
    print(json.dumps([time.perf_counter() - start, count(), version]))


def sample(binary, work, cases):
    """Generates cases by `casefilter generate`, which have most fields of the catalogue. Another build may generate others."""
    path = Path(work) / f"sample-{cases}.ndjson"
    path.unlink(missing_ok=True)
    subprocess.run([binary, "generate", "--cases", str(cases), "-o", path], check=True, stderr=subprocess.DEVNULL)
    return path


def _round(engine, binary, path, work):
    """Returns seconds, cases and version, or the reason of a failure."""
    if engine in READERS:
        command = [sys.executable, __file__, engine, str(path)]
    else:
        requests = Path(work) / "load.ndjson"
        requests.write_text(REQUEST)
        command = [binary, "bench", path, "--requests", requests, "--runs", "1", "--format", "json"]
        command += ["--without-documents"] if engine == FORGOTTEN else []
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True, env=os.environ | ONE_THREAD)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it failed"])[-1]
    found = json.loads(done.stdout.splitlines()[-1])
    return found if isinstance(found, list) else [found["load_s"], found["cases"], None]


def tables(work, cases):
    """Returns the cases of the tables, which have a third of the fields."""
    import data  # the workers of the other engines have no pyarrow

    return data.ndjson(work, cases, "arrival")


def measure(binary, version, work, cases, which, rounds=ROUNDS):
    """Returns the rates of each engine in MB/s, or the reason of a failure."""
    path = sample(binary, work, cases) if which == SAMPLE else tables(work, cases)
    size = path.stat().st_size
    path.read_bytes()  # into the system's cache
    engines = {engine: {"note": note, "mb_s": [], "version": version} for engine, note in NOTES.items()}
    for _ in range(rounds):
        for engine, found in engines.items():
            if "error" in found:
                continue
            outcome = _round(engine, binary, path, work)
            if isinstance(outcome, str):
                found["error"], found["mb_s"] = outcome, []
                continue
            seconds, count, own_version = outcome
            if count != cases:
                raise SystemExit(f"{engine}: {count} cases of {cases}")
            found["version"] = own_version or version
            found["mb_s"].append(round(size / 1e6 / seconds, 1))
            print(f"  {engine}: {found['mb_s'][-1]} MB/s", file=sys.stderr, flush=True)
    return {"which": which, "cases": cases, "bytes_per_case": round(size / cases, 1), "engines": engines}


def table(result):
    """Formats the rates as Markdown, with the ratio to DuckDB's rate in the same round."""
    which = "sample cases" if result.get("which", SAMPLE) == SAMPLE else "cases of the tables"
    text = f"{result['cases']:,} {which} of {result['bytes_per_case']} bytes, one thread each, a process for each round, in turn; MB/s.\n\n"
    text += "| | least | median | most | of DuckDB's, median over rounds |\n|---|---:|---:|---:|---:|\n"
    yardstick = result["engines"]["duckdb"]["mb_s"]
    for engine, found in result["engines"].items():
        rates = found["mb_s"]
        if not rates:
            text += f"| {engine} {found['version']} | – | – | – | – |\n"
            continue
        ratios = [own / other for own, other in zip(rates, yardstick, strict=False)]
        of_yardstick = f"{statistics.median(ratios):.2f}" if ratios else "–"
        text += f"| {engine} {found['version']} | {min(rates):.0f} | {statistics.median(rates):.0f} | {max(rates):.0f} | {of_yardstick} |\n"
    text += "\n"
    for engine, found in result["engines"].items():
        fault = f" Gave no figure: {found['error']}." if "error" in found else ""
        text += f"- **{engine}**: {found['note']}.{fault}\n"
    return text


if __name__ == "__main__":
    work_one(sys.argv[1], sys.argv[2])
