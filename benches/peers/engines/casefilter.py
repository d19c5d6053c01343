"""casefilter, by its own command line."""

import json
import os
import subprocess
from pathlib import Path

import data
import requests

# Counts that take long, and loading, are shared by all threads otherwise.
ONE_THREAD = {"RAYON_NUM_THREADS": "1"}
ROOT = Path(__file__).resolve().parents[3]
NOTE = (
    "`casefilter bench`, one thread: from the bytes of the body to the bytes of the answer, whole case documents "
    "on pages included"
)
CACHED = "casefilter, cached"
CACHED_NOTE = (
    "`casefilter bench --cache`, the same but that the body has been met before: its compiled filter is found by its bytes "
    "in a bounded cache, as the service does"
)


def build():
    """The release build of the command line, with Parquet input where the project has it."""
    features = "cli,arrow" if "\narrow = [" in (ROOT / "Cargo.toml").read_text() else "cli"
    command = ["cargo", "build", "--release", "--bin", "casefilter", "--features", features]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return next(message["executable"] for message in messages if message.get("executable"))


def reads_parquet(binary, work):
    """Whether this build takes a Parquet file, found by giving it a small one."""
    probe = data.parquet(work, 100, "arrival")
    try:
        return len(answers(binary, probe, requests.thirteen(100), work, check=False)) == len(requests.TITLES)
    except (KeyError, ValueError):
        # Something else than answers on its standard output.
        return False


def cases(binary, work, number, shape, ndjson):
    """The file to give it: NDJSON up to a million if Parquet is not to be had or not wanted."""
    if ndjson or not reads_parquet(binary, work):
        return data.ndjson(work, number, shape)
    return data.parquet(work, number, shape)


def lines(command, check=True):
    command = [str(part) for part in command]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | ONE_THREAD)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _requests_file(all_requests, work):
    path = Path(work) / "requests.ndjson"
    requests.write(path, all_requests)
    return path


def answers(binary, file, all_requests, work, check=True):
    """Name → count, or the ids of the page."""
    command = [binary, "search", file, "--requests", _requests_file(all_requests, work)]
    found = {}
    for (name, request), answer in zip(all_requests.items(), lines(command, check), strict=False):
        page = answer["list"]
        found[name] = page["totalItems"] if requests.is_count(request) else [item["id"] for item in page["items"]]
    return found


def bench(binary, file, all_requests, work, cached=False):
    """(name → its line, the last line)"""
    command = [binary, "bench", file, "--requests", _requests_file(all_requests, work), "--format", "json", "--cold"]
    command += ["--cache"] if cached else []
    *timed, summary = lines(command)
    return dict(zip(all_requests, timed, strict=True)), summary


def version(binary, built):
    """What the binary says, and the last commit of its sources if they are those beside this script."""
    said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    if not built:
        return f"{said}, a binary built elsewhere"
    command = ["git", "log", "-1", "--format=%h", "--", "src", "Cargo.toml", "Cargo.lock"]
    commit = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()
    return f"{said} at {commit}" if commit else said
