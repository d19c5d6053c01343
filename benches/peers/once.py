"""Measures the first answer from a file: the time from the start of a process to its answer, and the peak of its memory.

Each process answers one question about one file, and ends. casefilter and DuckDB get the same cases, as NDJSON, as Parquet, and
as a database file of their own, and must give the same answer.
"""

import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

KINDS = ("ndjson", "parquet", "database")
THREADS = (1, 2)
CACHES = ("warm", "dropped")
CLI, PYTHON, OWN = "duckdb, command line", "duckdb, Python", "casefilter"
# The columns that the questions need, for `read_json`. Their names are members of the documents.
COLUMNS = "{id: 'VARCHAR', name: 'VARCHAR', priority: 'VARCHAR', createdAt: 'VARCHAR', caseReview: 'STRUCT(status VARCHAR)'}"

# Each question has the arguments of `casefilter search`, and the SQL after `SELECT`; `{}` stands for the table.
QUESTIONS = {
    "count": (
        ["--where", "status = open", "--count", "--limit", "0"],
        "count(*) FROM {} WHERE caseReview.status = 'open'",
    ),
    "newest 100": (
        ["--where", "status = open and priority = high", "--order=-createdAt", "--limit", "100", "--format", "ids"],
        "id FROM {} WHERE caseReview.status = 'open' AND priority = 'high' ORDER BY createdAt DESC NULLS LAST, id LIMIT 100",
    ),
    "one id": (["--where", "id = {id}", "--format", "ids"], "id FROM {} WHERE id = '{id}'"),
    "text": (
        ["--where", "name includes dispute", "--count", "--limit", "0"],
        "count(*) FROM {} WHERE contains(lower(name), 'dispute')",
    ),
}


def _run(command, threads, env=None):
    """Runs a process on that many cores. Returns seconds, the peak of its memory in MB, and its output.

    The peak is at least the memory of this Python process, from which the other is forked.
    """
    cores = sorted(os.sched_getaffinity(0))[:threads]
    output = Path("once.out")
    with output.open("wb") as out:
        start = time.perf_counter()
        child = subprocess.Popen(
            [str(part) for part in command], stdout=out, stderr=subprocess.PIPE, env=os.environ | (env or {}),
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )  # fmt: skip
        error = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {error}")
    return seconds, usage.ru_maxrss / 1024, output.read_text()


def _answer(text):
    """Returns the count or the list of ids in the output of any of the programs."""
    text = text.strip()
    if text.startswith("{"):
        return [str(json.loads(text)["list"]["totalItems"])]
    return text.split()


def _drop(path):
    """Removes a file from the system's cache of pages."""
    with Path(path).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def files(binary, work, cases):
    """Makes the files, and returns their paths by program and kind."""
    ndjson, parquet = work / f"once-{cases}.ndjson", work / f"once-{cases}.parquet"
    own, theirs = work / f"once-{cases}.db", work / f"once-{cases}.duckdb"
    for path in (ndjson, parquet, own, theirs):
        path.unlink(missing_ok=True)
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([binary, "generate", "--cases", str(cases), "-o", ndjson], **quiet)
    subprocess.run([binary, "import", "--db", own, ndjson], **quiet)
    subprocess.run([binary, "export", "--db", own, "-o", parquet], **quiet)
    create = f"CREATE TABLE cases AS SELECT * FROM '{parquet}'"
    if program := duckdb_program():
        # The package may be newer than the program, which then could not read its files.
        subprocess.run([program, theirs, "-c", create], **quiet)
    else:
        import duckdb

        with duckdb.connect(str(theirs)) as db:
            db.execute(create)
    return {
        OWN: {"ndjson": ndjson, "parquet": parquet, "database": own},
        "duckdb": {"ndjson": ndjson, "parquet": parquet, "database": theirs},
    }


def duckdb_program():
    """Returns the path of DuckDB's command line, or `None` if it is not installed."""
    beside = Path(sys.executable).parent / "duckdb"
    return beside if beside.exists() else shutil.which("duckdb")


def commands(binary, paths, kind, question, some_id, threads):
    """Returns the command of each program."""
    arguments, sql = QUESTIONS[question]
    own = paths[OWN][kind]
    source = ["--db", own] if kind == "database" else [own]
    found = {OWN: [binary, "search", *source, *(part.replace("{id}", some_id) for part in arguments)]}
    theirs = paths["duckdb"][kind]
    tables = {
        "ndjson": f"read_json('{theirs}', format='newline_delimited', columns={COLUMNS})",
        "parquet": f"'{theirs}'",
        "database": "cases",
    }
    sql = "SELECT " + sql.replace("{}", tables[kind]).replace("{id}", some_id)
    file = str(theirs) if kind == "database" else ":memory:"
    options = f"SET threads={threads}; SET preserve_insertion_order=false; SET enable_progress_bar=false;"
    if program := duckdb_program():
        read_only = ["-readonly"] if kind == "database" else []
        found[CLI] = [program, *read_only, "-list", "-noheader", file, "-c", f"{options} {sql}"]
    script = (
        f"import duckdb; db = duckdb.connect({file!r}, read_only={kind == 'database'}); db.execute({options!r})\n"
        f"for row in db.execute({sql!r}).fetchall(): print(row[0])"
    )
    found[PYTHON] = [sys.executable, "-c", script]
    return found


def rounds_of(cases):
    """Returns the number of processes for each answer: fewer for larger files, whose times differ less from run to run."""
    return max(1, min(5, 3_000_000 // cases))


def measure(binary, version, work, sizes):
    """Returns the least seconds and the most memory of each program, for each size, kind, question, threads and caches."""
    work = work.resolve()
    os.chdir(work)
    programs = {name: _version(package) for name, package in ((CLI, "duckdb-cli"), (PYTHON, "duckdb"))}
    result = {"version": version, "programs": programs, "sizes": {}}
    for cases in sizes:
        rounds = rounds_of(cases)
        paths = files(binary, work, cases)
        lengths = {f"{who} {kind}": path.stat().st_size for who, own in paths.items() for kind, path in own.items()}
        with paths[OWN]["ndjson"].open() as lines:
            line = next(line for number, line in enumerate(lines) if number == cases // 2)
        some_id = json.loads(line)["id"]
        rows = []
        for kind in KINDS:
            for question in QUESTIONS:
                for threads in THREADS:
                    for caches in CACHES:
                        row = {"kind": kind, "question": question, "threads": threads, "caches": caches}
                        rows.append(row | _compare(binary, paths, row, some_id, rounds))
                        told = f"{cases:,} {kind}, {question}, {threads} threads, {caches}"
                        print(f"  {told}: {rows[-1]['least_s']}", file=sys.stderr, flush=True)
        result["sizes"][str(cases)] = {"bytes": lengths, "rounds": rounds, "rows": rows}
    return result


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compare(binary, paths, row, some_id, rounds):
    kind, threads = row["kind"], row["threads"]
    wanted = commands(binary, paths, kind, row["question"], some_id, threads)
    times, memory, answers = {name: [] for name in wanted}, {name: 0 for name in wanted}, {}
    for turn in range(rounds):
        for name, command in wanted.items():
            path = paths[OWN if name == OWN else "duckdb"][kind]
            if row["caches"] == "dropped":
                _drop(path)
            elif turn == 0:
                _run(command, threads)
            seconds, peak, output = _run(command, threads)
            answers[name] = _answer(output)
            times[name].append(seconds)
            memory[name] = max(memory[name], peak)
    if any(answer != answers[OWN] for answer in answers.values()):
        shown = {name: answer[:3] for name, answer in answers.items()}
        raise SystemExit(f"different answers to {row}: {shown}")
    return {
        "least_s": {name: round(min(own), 4) for name, own in times.items()},
        "median_s": {name: round(statistics.median(own), 4) for name, own in times.items()},
        "peak_mb": {name: round(own) for name, own in memory.items()},
    }


def table(result):
    """Formats the results as Markdown: least times in milliseconds, and the peak of the memory in MB."""
    text = "Process start to answer, the least of several processes in turn, ms; in brackets the peak of the memory, MB.\n\n"
    text += f"casefilter {result['version']}; "
    text += "; ".join(f"{name} {version}" for name, version in result["programs"].items() if version) + ".\n"
    for cases, found in result["sizes"].items():
        text += f"\n## {int(cases):,} sample cases, {found['rounds']} processes for each answer\n\n"
        text += ", ".join(f"{name}: {size / 1e6:,.0f} MB" for name, size in found["bytes"].items()) + "\n\n"
        names = list(found["rows"][0]["least_s"])
        text += f"| file | question | threads | caches | {' | '.join(names)} | better of DuckDB / casefilter |\n"
        text += "|---|---|---:|---|" + "---:|" * (len(names) + 1) + "\n"
        for row in found["rows"]:
            cells = [f"{row['least_s'][name] * 1000:,.0f} ({row['peak_mb'][name]:,})" for name in names]
            best = min(row["least_s"][name] for name in names if name != OWN)
            cells.append(f"{best / row['least_s'][OWN]:.2f}")
            text += f"| {row['kind']} | {row['question']} | {row['threads']} | {row['caches']} | {' | '.join(cells)} |\n"
    return text
