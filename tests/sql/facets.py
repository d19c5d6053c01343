"""Runs the statements of counts by value on the databases, and compares their rows with the answers of casefilter.

    CASEFILTER_FACETS=FOLDER cargo test --features full --test sql_facets
    tests/sql/facets.py --casefilter target/debug/casefilter --folder FOLDER --engines duckdb,clickhouse

The options --socket and --psql are those of tests/sql/compare.py, for PostgreSQL.
"""

import argparse
import decimal
import json
import math
import pathlib
import subprocess
import sys

import engines


def text_of(value):
    """Returns a value of a database in the form of casefilter's answers."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value)
    return str(value)


def is_same(one, other):
    """Compares two values: numbers by value, texts by character."""
    if one is None or other is None:
        return one is other
    try:
        return decimal.Decimal(one) == decimal.Decimal(other) or math.isclose(float(one), float(other), rel_tol=1e-12)
    except (decimal.InvalidOperation, ValueError):
        return one == other


def compare(rows, expected):
    """Returns the difference between the rows of a statement and the answer, or None."""
    if "values" in expected:
        absent, values, other = 0, [], [0, 0]
        limit = None
        for rank, value, documents, count in rows:
            if int(rank) == 0:
                absent = int(documents)
            elif value is None:
                other = [int(count), int(documents)]
            else:
                values.append([text_of(value), int(documents)])
        same = len(values) == len(expected["values"]) and all(
            is_same(own[0], known[0]) and own[1] == known[1] for own, known in zip(values, expected["values"])
        )
        return None if same and absent == expected["absent"] and other == expected["other"] else (values, absent, other)
    if "buckets" in expected:
        absent = sum(int(count) for bucket, count in rows if bucket is None)
        found = [(int(float(bucket)), int(count)) for bucket, count in rows if bucket is not None]
        first = found[0][0] if found else 0
        found = [[bucket - first, count] for bucket, count in found]
        return None if found == expected["buckets"] and absent == expected["absent"] else (found, absent)
    [(absent, count, least, greatest, total)] = rows
    known = expected["stats"]
    same = int(count) == known[0] and (known[0] == 0 or is_same(text_of(least), known[1]) and is_same(text_of(greatest), known[2]))
    if same and expected["sum"] is not None:
        same = math.isclose(float(total), expected["sum"], rel_tol=1e-9, abs_tol=1e-9)
    return None if same and int(absent) == expected["absent"] else (absent, count, least, greatest, total)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--casefilter", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--engines", required=True)
    parser.add_argument("--socket")
    parser.add_argument("--psql")
    arguments = parser.parse_args()
    arguments.scratch = arguments.folder

    def run(*command):
        return subprocess.run([arguments.casefilter, *map(str, command)], capture_output=True, text=True, check=True).stdout

    catalog = ["--catalog", arguments.folder / "catalog.json"]
    documents = arguments.folder / "documents.ndjson"
    lines = [json.loads(line) for line in (arguments.folder / "facets.ndjson").read_text().split("\n") if line]
    wrong = 0
    for name in arguments.engines.split(","):
        engine = engines.start(name, arguments)
        flat = [] if name == "postgres" else ["--flat"]
        file = arguments.folder / ("counted.tsv" if name == "postgres" else "counted.parquet")
        file.unlink(missing_ok=True)
        run("export", documents, *catalog, *flat, "-o", file)
        engine.load(run("ddl", "--dialect", name, "--table", "counted", "--file", file, *catalog))
        for line in lines:
            own = line["sql"][name]
            for sql, params in (own["sql"], own["params"]), (own["literal"], []):
                try:
                    difference = compare(engine.query(sql, params), line["expected"])
                    [[total]] = engine.query(own["total"], [])
                    if int(total) != line["total"]:
                        difference = f"total {total}"
                except Exception as fault:
                    difference = f"{type(fault).__name__}: {fault}"[:600]
                if difference is not None:
                    wrong += 1
                    if wrong <= 10:
                        print(f"WRONG {name} {line['facet']}: {difference}, expected {line['expected']}\n  {sql}"[:2500])
        print(f"{name}: {len(lines)} facets compared", flush=True)
    if wrong:
        sys.exit(f"{wrong} wrong answers")
    print("every count is that of casefilter")


if __name__ == "__main__":
    main()
