"""casefilter, by its command line."""

import json
import os
import subprocess
from pathlib import Path

import data
import requests

# Otherwise all threads would share long counts, and loading.
ONE_THREAD = {"RAYON_NUM_THREADS": "1"}
ROOT = Path(__file__).resolve().parents[3]
# The fields of the data; `id` is declared searchable, as a host declares it that searches parts of it.
SEARCHABLE = Path(__file__).resolve().parents[1] / "searchable.json"
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
    """Builds the command line in release mode with everything: the feature `full`, or `cli` of older checkouts."""
    features = "full" if "\nfull = [" in (ROOT / "Cargo.toml").read_text() else "cli"
    command = ["cargo", "build", "--release", "--bin", "casefilter", "--features", features]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return next(message["executable"] for message in messages if message.get("executable"))


def reads_parquet(binary, work):
    """Returns true if this build reads Parquet. Tries it with a small file."""
    probe = data.parquet(work, 100, "arrival")
    try:
        return len(answers(binary, probe, requests.thirteen(100), work, check=False)) == len(requests.TITLES)
    except (KeyError, ValueError):
        # The output is not a list of answers.
        return False


def cases(binary, work, number, shape, ndjson):
    """Returns the input file: NDJSON up to a million cases if Parquet is not available or not wanted."""
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


def flags(all_requests):
    """Returns the flags for the catalogue with extended criteria and a searchable id, if a request has such criteria."""
    return ["--catalog", SEARCHABLE] if all_requests.keys() <= requests.EXTENDED_TITLES.keys() else []


def answers(binary, file, all_requests, work, check=True):
    """Returns the count or the ids of the page, by name."""
    command = [binary, "search", file, "--requests", _requests_file(all_requests, work), *flags(all_requests)]
    found = {}
    for (name, request), answer in zip(all_requests.items(), lines(command, check), strict=False):
        if requests.is_facets(request):
            parts = zip(request["facets"]["facets"], answer["facets"], strict=True)
            found[name] = [requests.counted(facet, part) for facet, part in parts]
            continue
        page = answer["list"]
        found[name] = page["totalItems"] if requests.is_count(request) else [item["id"] for item in page["items"]]
    return found


def bench(binary, file, all_requests, work, cached=False):
    """Returns the output lines by name, and the last line."""
    command = [binary, "bench", file, "--requests", _requests_file(all_requests, work), "--format", "json", "--cold"]
    command += ["--cache"] if cached else []
    command += flags(all_requests)
    *timed, summary = lines(command)
    return dict(zip(all_requests, timed, strict=True)), summary


def version(binary, built):
    """Returns the version of the binary, with the last commit of its sources if it was built from this tree."""
    said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    if not built:
        return f"{said}, a binary built elsewhere"
    command = ["git", "log", "-1", "--format=%h", "--", "src", "Cargo.toml", "Cargo.lock"]
    commit = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()
    return f"{said} at {commit}" if commit else said
