#!/usr/bin/env python3
"""Measures the resident memory of `casefilter serve` under reads, imports and backups at the same time.

    tests/service/memory.py --casefilter target/release/casefilter [--cases 200000] [--seconds 60] [--rounds 1]
                            [--at-most MB] [--readers 8] [--deaf N]

The script needs Python 3.9, Linux and about 2 GB of disk for 200,000 cases. All its files are in a temporary folder.
For each round it prints the first, the largest and the last memory size in MB, and the requests per second.
With --at-most, the exit status is 1 if the largest size is above MB. To compare allocators, set LD_PRELOAD for the
server only with --preload FILE, or MALLOC_ARENA_MAX in the environment.

With --deaf N, a round instead has N clients that each request a page of 10,000 cases and do not read it. The script then
prints the number of responses by status, and the longest time of a search for one case by another token.
"""

import argparse
import hashlib
import hmac
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SEARCH = "/resources/api/caseManagement/v2/cases/byFilter"
BODY = json.dumps({"criteria": [{"field": "status", "op": "=", "values": ["open"]}]})
LIMITS = [1, 20, 100, 1000]


def signed_headers(key, target, body):
    now = str(int(time.time()))
    signed = f"{now}POST{target}{body}".encode()
    signature = hmac.new(key["secret"].encode(), signed, hashlib.sha256).hexdigest()
    return {"X-App-Token": key["token"], "X-App-Access-Ts": now, "X-App-Access-Sig": signature}


def search(connection, key, limit):
    target = f"{SEARCH}?limit={limit}&order=-createdAt"
    connection.request("POST", target, BODY, signed_headers(key, target, BODY))
    answer = connection.getresponse()
    answer.read()
    assert answer.status in (200, 503), answer.status


def resident_mb(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


class Load:
    """The background load: each part runs until `end` is set."""

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


class Deaf:
    """Clients that each request a large page and read only the status of the response."""

    def __init__(self, port, key, count):
        target, self.statuses, self.connections = f"{SEARCH}?limit=10000", {}, []
        body = json.dumps({"criteria": [{"field": "id", "op": "<>", "values": [""]}]})
        head = "".join(f"{name}: {value}\r\n" for name, value in signed_headers(key, target, body).items())
        request = f"POST {target} HTTP/1.1\r\nHost: t\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request)
            self.connections.append(connection)

    def read_statuses(self):
        for connection in self.connections:
            connection.settimeout(0.01)
            try:
                status = int(connection.recv(12)[9:])
            except (OSError, ValueError):
                status = "no response yet"
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def close(self):
        for connection in self.connections:
            connection.close()


def deaf_round(pid, port, keys, count, seconds):
    start, peak, slowest = resident_mb(pid), 0.0, 0.0
    deaf, until = Deaf(port, keys[0], count), time.monotonic() + seconds
    other = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < until:
        sent = time.monotonic()
        search(other, keys[1], 1)
        slowest = max(slowest, time.monotonic() - sent)
        peak = max(peak, resident_mb(pid))
        time.sleep(0.05)
    deaf.read_statuses()
    deaf.close()
    time.sleep(2)
    print(f"{count} deaf clients: start {start:.0f} MB, largest {peak:.0f} MB, last {resident_mb(pid):.0f} MB, "
          f"responses {deaf.statuses}, slowest search of another token {slowest:.3f} s", flush=True)
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--casefilter", required=True)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--at-most", type=float)
    parser.add_argument("--preload")
    parser.add_argument("--deaf", type=int)
    args = parser.parse_args()
    casefilter = str(Path(args.casefilter).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = lambda *arguments: subprocess.run([casefilter, *arguments], check=True, capture_output=True, cwd=folder)
        run("generate", "--cases", str(args.cases), "-o", "all.ndjson")
        with open(folder / "all.ndjson") as whole, open(folder / "part.ndjson", "w") as part:
            part.writelines(line for _, line in zip(range(args.cases // 10), whole))
        run("import", "--db", "c.db", "all.ndjson")
        for token in ("first", "second"):
            run("token", "app", "--file", "tokens.json", "--allow", "viewCases", "--name", token)
        keys = json.loads((folder / "tokens.json").read_text())["tokens"]
        environment = dict(os.environ, **({"LD_PRELOAD": args.preload} if args.preload else {}))
        command = [casefilter, "serve", "--db", "c.db", "--tokens", "tokens.json", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            while "address" not in (event := json.loads(server.stderr.readline())):
                pass
            threading.Thread(target=server.stderr.read, daemon=True).start()
            largest, port = 0.0, int(event["address"].rsplit(":", 1)[1])
            for number in range(args.rounds):
                if args.deaf:
                    largest = max(largest, deaf_round(server.pid, port, keys, args.deaf, args.seconds))
                    continue
                start, peak = resident_mb(server.pid), 0.0
                load = Load(casefilter, folder, port, keys[0], args.readers)
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
