"""Compares casefilter with the engines that one could use instead: same cases, same requests, equal answers.

Each engine runs in a separate process, so that its memory is freed before the next one starts.
"""

import argparse
import functools
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import data
import engines
import ingest
import once
import requests
from engines import casefilter

LEAST_RUNS = 5
ENOUGH_S = 1.0
MOST_RUNS = 100_000
WORKER_S = 1800
GROWTH = (1_000_000, 3_000_000, 10_000_000)
ONCE = (100_000, 1_000_000, 10_000_000)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000_000, metavar="N")
    parser.add_argument(
        "--engines", default=",".join(engines.SCAN + engines.INDEXED), metavar="A,B", help="default: %(default)s"
    )
    parser.add_argument("--shape", choices=data.SHAPES, default="arrival")
    parser.add_argument(
        "--requests",
        choices=requests.SETS,
        default="thirteen",
        help="those of the interface, those with extended criteria, or counts by value; duckdb, clickhouse and datafusion answer the last two (default: %(default)s)",
    )
    parser.add_argument("--growth", action="store_true", help="casefilter alone at 1M, 3M and 10M cases")
    parser.add_argument(
        "--ingest",
        nargs="?",
        const="sample",
        choices=ingest.CASES,
        help="how fast each takes in the same NDJSON: of `casefilter generate`, or of the tables (default: %(const)s)",
    )
    parser.add_argument("--once", action="store_true", help="the first answer from a file, beside DuckDB: a process for each answer")
    parser.add_argument("--sizes", metavar="N,N", help="other sizes for --growth and --once")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", metavar="DIR")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "casefilter-peers", metavar="DIR")
    parser.add_argument("--casefilter", metavar="FILE", help="a binary to use instead of building one")
    parser.add_argument("--ndjson", action="store_true", help="give casefilter NDJSON even if it reads Parquet")
    parser.add_argument("--note", default="", help="a sentence for the table, for example who shared the machine")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def timed(function):
    """Returns sorted times in µs. The caller has run it once already."""
    times, taken = [], 0
    while len(times) < LEAST_RUNS or (taken < ENOUGH_S * 1e9 and len(times) < MOST_RUNS):
        start = time.perf_counter_ns()
        function()
        took = time.perf_counter_ns() - start
        times.append(took / 1000)
        taken += took
    return sorted(times)


def timed_cold(function):
    """Like `timed`, but flushes the processor's caches before each run."""
    times, start = [], time.perf_counter()
    while len(times) < LEAST_RUNS or time.perf_counter() - start < ENOUGH_S:
        empty_caches()
        begun = time.perf_counter_ns()
        function()
        times.append((time.perf_counter_ns() - begun) / 1000)
    return sorted(times)


def empty_caches():
    """Reads one value per cache line of 256 MiB, like `casefilter bench --cold`."""
    other_memory()[::8].sum()


@functools.cache
def other_memory():
    return np.ones((256 << 20) // 8, dtype=np.uint64)


def same(request, got, expected):
    if requests.is_facets(request):
        return all(map(same_counts, got, expected)) and len(got) == len(expected)
    # Without an order, an engine may return any of the cases.
    if requests.is_count(request) or request.get("order"):
        return got == expected
    return sorted(got) == sorted(expected)


def same_counts(got, expected):
    """Compares the counts of one facet. Sums may differ in the last digits."""
    if isinstance(expected, dict):
        return got == expected
    return all(abs(one - other) <= abs(other) * 1e-9 for one, other in zip(got, expected, strict=True))


def work_one(args):
    """Runs in a separate process: loads one engine, compares, measures, and writes the results to a file."""
    expected = json.loads((args.work / "expected.json").read_text())
    start = time.perf_counter()
    engine = importlib.import_module(f"engines.{args.worker}").load(
        data.parquet(args.work, args.cases, args.shape), args.work
    )
    result = {"load_s": round(time.perf_counter() - start, 2), "version": engine.version, "note": engine.note}
    result["requests"] = {}
    try:
        for name, request in requests.of_set(args.requests, args.cases).items():
            result["requests"][name] = measure(name, request, engine.prepare(request), expected[name])
    finally:
        getattr(engine, "close", lambda: None)()
    (args.work / f"{args.worker}.json").write_text(json.dumps(result))


def measure(name, request, ways, expected):
    best, chosen = None, None
    for way in ways if isinstance(ways, list) else [ways]:
        got = way()
        if not same(request, got, expected):
            shown = [str(answer)[:200] for answer in (got, expected)]
            print(f"  {name}: answers {shown[0]}, casefilter {shown[1]}", file=sys.stderr)
            return {"error": "another answer"}
        times = timed(way)
        median = round(statistics.median(times), 2)
        if best is None or median < best["median_us"]:
            best, chosen = {"median_us": median, "min_us": round(times[0], 2), "runs": len(times)}, way
    best["cold_us"] = round(statistics.median(timed_cold(chosen)), 2)
    return best


def machine():
    facts = {"system": f"{platform.system()} {platform.release()}", "python": platform.python_version()}
    facts["cpu"] = processor()
    facts["cores"] = os.cpu_count()
    memory = [line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    facts["memory_gib"] = round(int(memory[0]) / 2**20, 1) if memory else None
    cache = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    facts["l3"] = cache.read_text().strip() if cache.exists() else None
    facts["load_average"] = round(os.getloadavg()[0], 1)
    return facts


def processor():
    """Returns the processor's name with family and model, since some clouds use one name for several models."""
    told = {}
    for line in _lines("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        told.setdefault(key.strip(), value.strip())
    names = {"cpu family": "family", "model": "model"}
    parts = [f"{name} {told[key]}" for key, name in names.items() if key in told]
    return ", ".join([told.get("model name") or platform.processor(), *parts])


def _lines(path):
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def say(text):
    print(text, file=sys.stderr, flush=True)


def side_by_side(args, binary):
    wanted = requests.of_set(args.requests, args.cases)
    say(f"cases: {args.cases:,} ({args.shape})")
    file = casefilter.cases(binary, args.work, args.cases, args.shape, args.ndjson)
    data.parquet(args.work, args.cases, args.shape)
    expected = casefilter.answers(binary, file, wanted, args.work)
    (args.work / "expected.json").write_text(json.dumps(expected))
    say(f"casefilter: {file.name}")
    result = {"cases": args.cases, "shape": args.shape, "requests": args.requests, "note": args.note, "machine": machine(), "engines": {}}
    result["failed"] = []
    version = casefilter.version(binary, not args.casefilter)
    for engine, note in (("casefilter", casefilter.NOTE), (casefilter.CACHED, casefilter.CACHED_NOTE)):
        measured, summary = casefilter.bench(binary, file, wanted, args.work, cached=engine == casefilter.CACHED)
        for name, line in measured.items():
            answer = expected[name]
            if "error" in line or (requests.is_count(wanted[name]) and line["matched"] != answer):
                raise SystemExit(f"{engine}: {name}: {line}, search answers {answer}")
        result["matched"] = {name: line["matched"] for name, line in measured.items()}
        result["engines"][engine] = {
            "version": version, "note": note, "load_s": summary["load_s"],
            "bytes_per_case": summary["bytes_per_case"], "from": file.suffix[1:], "requests": measured,
        }  # fmt: skip
    for engine in args.engines.split(","):
        say(engine)
        (args.work / f"{engine}.json").unlink(missing_ok=True)
        command = [sys.executable, __file__, "--worker", engine, "--cases", str(args.cases)]
        command += ["--shape", args.shape, "--work", str(args.work), "--requests", args.requests]
        try:
            status = subprocess.run(command, check=False, timeout=WORKER_S).returncode
        except subprocess.TimeoutExpired:
            status = "none: it took too long"
        if status:
            say(f"  failed with status {status}")
            result["failed"].append(f"{engine}: status {status}")
            continue
        found = json.loads((args.work / f"{engine}.json").read_text())
        result["engines"][engine] = found
        wrong = [name for name, line in found["requests"].items() if "error" in line]
        result["failed"] += [f"{engine}: another answer to {name}" for name in wrong]
    return result


def sizes(args, usual):
    return [int(size) for size in args.sizes.split(",")] if args.sizes else usual


def growth(args, binary):
    result = {"shape": args.shape, "requests": args.requests, "note": args.note, "machine": machine(), "version": casefilter.version(binary, not args.casefilter)}
    result["sizes"] = {}
    for size in sizes(args, GROWTH):
        say(f"growth: {size:,}")
        file = casefilter.cases(binary, args.work, size, args.shape, args.ndjson)
        measured, summary = casefilter.bench(binary, file, requests.of_set(args.requests, size), args.work)
        result["sizes"][str(size)] = {"from": file.suffix[1:], "summary": summary, "requests": measured}
    return result


def end(failed):
    """Exits with an error if an engine failed, so that the table is not taken for complete."""
    if failed:
        raise SystemExit(f"not compared: {'; '.join(failed)}")


def main():
    args = arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    if args.worker:
        work_one(args)
        return
    if (args.ingest or args.once) and (args.growth or args.ndjson or args.shape != "arrival" or args.ingest and args.once):
        raise SystemExit("--ingest and --once take neither --shape, --growth, --ndjson nor each other with them")
    import table  # the workers have no matplotlib

    binary = args.casefilter or casefilter.build()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.ingest:
        result = {"note": args.note, "machine": machine()}
        version = casefilter.version(binary, not args.casefilter)
        result |= ingest.measure(binary, version, args.work, args.cases, args.ingest)
        stem = f"ingest-{args.cases}" if args.ingest == ingest.SAMPLE else f"ingest-{args.ingest}-{args.cases}"
        (args.out / f"{stem}.json").write_text(json.dumps(result, indent=1) + "\n")
        text = f"{ingest.table(result)}\n{table.about(result['machine'])}. {args.note}".rstrip() + "\n"
        (args.out / f"{stem}.md").write_text(text)
        print(text)
        failed = [f"{engine}: {found['error']}" for engine, found in result["engines"].items() if "error" in found]
        end(failed)
        return
    if args.once:
        version = casefilter.version(binary, not args.casefilter)
        result = once.measure(Path(binary).resolve(), version, args.work, sizes(args, ONCE))
        result |= {"note": args.note, "machine": machine()}
        (args.out / "once.json").write_text(json.dumps(result, indent=1) + "\n")
        text = f"{once.table(result)}\n{table.about(result['machine'])}. {args.note}".rstrip() + "\n"
        (args.out / "once.md").write_text(text)
        print(text)
        return
    if args.growth:
        result, stem = growth(args, binary), f"growth-{args.shape}"
    else:
        result, stem = side_by_side(args, binary), f"{args.shape}-{args.cases}"
    if args.requests != "thirteen":
        stem = f"{args.requests}-{stem}"
    (args.out / f"{stem}.json").write_text(json.dumps(result, indent=1) + "\n")
    text = table.growth(result, args.out / f"{stem}.png") if args.growth else table.table(result, args.out / f"{stem}.png")
    (args.out / f"{stem}.md").write_text(text)
    print(text)
    end(result.get("failed"))


if __name__ == "__main__":
    main()
