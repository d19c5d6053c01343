#!/usr/bin/env python3
"""Measures the resident memory of `casefilter serve` under reads, imports and backups at the same time.

    tests/service/memory.py --casefilter target/release/casefilter [--cases 200000] [--seconds 60] [--rounds 1]
                            [--at-most MB] [--readers 8]

It needs Python 3.9, Linux and about 2 GB of disk for 200,000 cases. Everything it makes is in a temporary folder.
For each round it prints the memory at the start, the largest and the last one, in MB, and the requests per second.
With --at-most the exit status is 1 when the largest one is above. To compare allocators, set LD_PRELOAD for the
server alone by --preload FILE, or MALLOC_ARENA_MAX in the environment.
"""

import argparse
import hashlib
import hmac
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SEARCH = "/resources/api/caseManagement/v2/cases/byFilter"
BODY = json.dumps({"criteria": [{"field": "status", "op": "=", "values": ["open"]}]})
LIMITS = [1, 20, 100, 1000]


def search(connection, key, limit):
    target, now = f"{SEARCH}?limit={limit}&order=-createdAt", str(int(time.time()))
    signed = f"{now}POST{target}{BODY}".encode()
    signature = hmac.new(key["secret"].encode(), signed, hashlib.sha256).hexdigest()
    headers = {"X-App-Token": key["token"], "X-App-Access-Ts": now, "X-App-Access-Sig": signature}
    connection.request("POST", target, BODY, headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status in (200, 503), answer.status


def resident_mb(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


class Load:
    """Everything that runs beside the measuring: each part until `end` is set."""

    def __init__(self, casefilter, folder, port, key, readers):
        self.casefilter, self.folder, self.port, self.key = casefilter, folder, port, key
        self.requests, self.end, self.faults = 0, threading.Event(), []
        parts = [self.reads] * readers + [self.imports, self.backups]
        self.threads = [threading.Thread(target=self.guarded, args=(part, i)) for i, part in enumerate(parts)]
        for thread in self.threads:
            thread.start()

    def guarded(self, part, number):
        try:
            part(number)
        except Exception as fault:  # told at the end: a load that failed measures nothing
            self.faults.append(fault)

    def reads(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.end.is_set():
            search(connection, self.key, LIMITS[(number + self.requests) % len(LIMITS)])
            self.requests += 1

    def imports(self, _):
        while not self.end.is_set():
            self.run("import", "--db", self.folder / "c.db", self.folder / "part.ndjson")

    def backups(self, _):
        copy = self.folder / "copy.db"
        while not self.end.is_set():
            self.run("backup", "--db", self.folder / "c.db", "-o", copy)
            copy.unlink()

    def run(self, *arguments):
        subprocess.run([self.casefilter, *arguments], check=True, capture_output=True)

    def stop(self):
        self.end.set()
        for thread in self.threads:
            thread.join()
        if self.faults:
            raise self.faults[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--casefilter", required=True)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--at-most", type=float)
    parser.add_argument("--preload")
    args = parser.parse_args()
    casefilter = str(Path(args.casefilter).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = lambda *arguments: subprocess.run([casefilter, *arguments], check=True, capture_output=True, cwd=folder)
        run("generate", "--cases", str(args.cases), "-o", "all.ndjson")
        with open(folder / "all.ndjson") as whole, open(folder / "part.ndjson", "w") as part:
            part.writelines(line for _, line in zip(range(args.cases // 10), whole))
        run("import", "--db", "c.db", "all.ndjson")
        run("token", "app", "--file", "tokens.json", "--allow", "viewCases")
        key = json.loads((folder / "tokens.json").read_text())["tokens"][0]
        environment = dict(os.environ, **({"LD_PRELOAD": args.preload} if args.preload else {}))
        command = [casefilter, "serve", "--db", "c.db", "--tokens", "tokens.json", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            while "address" not in (event := json.loads(server.stderr.readline())):
                pass
            threading.Thread(target=server.stderr.read, daemon=True).start()
            largest = 0.0
            for number in range(args.rounds):
                start, peak = resident_mb(server.pid), 0.0
                load = Load(casefilter, folder, int(event["address"].rsplit(":", 1)[1]), key, args.readers)
                until = time.monotonic() + args.seconds
                while time.monotonic() < until and not load.faults:
                    time.sleep(0.2)
                    peak = max(peak, resident_mb(server.pid))
                load.stop()
                time.sleep(2)
                last, rate = resident_mb(server.pid), load.requests / args.seconds
                print(f"round {number + 1}: start {start:.0f} MB, largest {peak:.0f} MB, last {last:.0f} MB, "
                      f"{rate:.0f} requests/s", flush=True)
                largest = max(largest, peak)
        finally:
            server.terminate()
            server.wait()
    if args.at_most and largest > args.at_most:
        print(f"the largest, {largest:.0f} MB, is above {args.at_most:.0f} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
