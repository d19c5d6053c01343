"""Compares the answers of databases with those of casefilter. tests/sql/run calls it."""

import argparse
import concurrent.futures
import functools
import json
import pathlib
import random
import subprocess
import sys
import time

import engines
import worlds

OWN = pathlib.Path(__file__).parent / "own.toml"
DATA = pathlib.Path(__file__).parent.parent / "data"


class Casefilter:
    def __init__(self, binary, scratch):
        self.binary = binary
        self.scratch = scratch

    def run(self, *arguments, status=0):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != status:
            sys.exit(f"casefilter {arguments}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def lines(self, *arguments):
        # splitlines() would also split at characters that a string may contain.
        return [json.loads(line) for line in self.run(*arguments).split("\n") if line]


def expected(answer):
    """Returns ids, documents and count of an answer of casefilter, or None for an error."""
    if "list" not in answer:
        assert answer["code"] == 400, answer
        return None
    found = answer["list"]
    return [item["id"] for item in found["items"]], found["items"], found.get("totalItems")


def behind_cursors(casefilter, cases, world):
    """Returns requests for the pages behind the first cases of other requests."""
    firsts = [{**request, "offset": 0, "limit": limit, "pageCursor": True} for request in world.requests for limit in (1, 4)]
    requests = casefilter.scratch / f"{world.name}.firsts.ndjson"
    requests.write_text("".join(json.dumps(request) + "\n" for request in firsts))
    behind = []
    for request, answer in zip(firsts, casefilter.lines("search", cases, "--requests", requests, *world.extended, *world.catalog)):
        cursor = answer.get("list", {"pageInfo": {}})["pageInfo"].get("next")
        if cursor:
            kept = {name: value for name, value in request.items() if name not in ("offset", "pageCursor")}
            behind.append({**kept, "limit": 20, "after": cursor})
    return behind


def check_world(casefilter, running, world, wrong):
    """Loads a world into every database, and compares the answers to every request."""
    cases = casefilter.scratch / f"{world.name}.cases.ndjson"
    cases.write_text("".join(document + "\n" for document in world.documents))
    if world.extended:
        world.requests += behind_cursors(casefilter, cases, world)
    requests = casefilter.scratch / f"{world.name}.requests.ndjson"
    requests.write_text("".join(json.dumps(request) + "\n" for request in world.requests))
    answers = [expected(answer) for answer in casefilter.lines("search", cases, "--requests", requests, *world.extended, *world.catalog)]
    assert len(answers) == len(world.requests)
    for answer, vector in zip(answers, world.vectors):
        known = vector.get("ids"), vector.get("totalItems")
        assert (answer[::2] if answer else (None, None)) == known, vector

    assert world.may_fail or None not in answers, answers
    table = f"cases_{world.name}"
    exports = {"postgres": casefilter.scratch / f"{world.name}.tsv"}
    for engine in running:
        file = exports.get(engine.name, casefilter.scratch / f"{world.name}.flat.parquet")
        flat = world.columns + world.catalog + ([] if engine.name == "postgres" else ["--flat"])
        if engine.name == "postgres" and world.has_zeros:
            # If the database cannot hold a value, the export must fail with a message.
            said = casefilter.run("export", cases, *flat, "-o", file, status=3)
            assert "zero character" in said and not file.exists(), said
            continue
        if not file.exists():
            casefilter.run("export", cases, *flat, "-o", file)
        start = time.time()
        engine.load(casefilter.run("ddl", "--dialect", engine.name, "--table", table, "--file", file, *world.columns, *world.catalog))
        loaded = time.time() - start
        compared, took = 0, []
        for form in [], ["--literal"]:
            arguments = ["sql", "--dialect", engine.name, "--table", table, "--requests", requests, *form, *world.extended, *world.columns, *world.catalog]
            if hasattr(engine, "literal"):
                engine.literal(bool(form))
            statements = casefilter.lines(*arguments)
            start = time.time()
            assert len(statements) == len(answers)
            faults = each(getattr(engine, "at_once", 1), functools.partial(compare, engine), statements, answers)
            took.append(f"{time.time() - start:5.1f}")
            for number, (statement, answer, fault) in enumerate(zip(statements, answers, faults)):
                compared += answer is not None
                if fault:
                    wrong.append(fault)
                    request = json.dumps(world.requests[number])
                    print(f"WRONG {engine.name} {world.name} {number}: {fault}\n  {request[:2000]}\n  {statement.get('sql', '')[:3000]}")
                    if len(wrong) >= 10:
                        sys.exit("ten wrong answers are enough")
        print(f"{engine.name:10} {world.name:8} {len(world.documents):6} cases loaded in {loaded:5.1f} s, "
              f"{compared:5} requests compared in {' and '.join(took)} s", flush=True)


def each(at_once, work, *items):
    """Maps the items by `work`, with `at_once` threads."""
    if at_once == 1:
        return list(map(work, *items))
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(work, *items))


def compare(engine, statement, answer):
    """Returns the difference between two answers, or None."""
    if answer is None:
        return None if statement.get("code") == 400 else "no error"
    ids, documents, total = answer
    try:
        rows = engine.query(statement["sql"], statement["params"])
        if [row[0] for row in rows] != ids:
            return f"ids {[row[0] for row in rows]}, expected {ids}"
        if [json.loads(row[1]) for row in rows] != documents:
            return "the documents differ"
        if ("count" in statement) != (total is not None):
            return "a count is missing, or not wanted"
        if total is not None:
            [[count]] = engine.query(statement["count"]["sql"], statement["count"]["params"])
            if int(count) != total:
                return f"count {count}, expected {total}"
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"[:2000]
    return None


def vectors(name):
    """Returns the conformance vectors with this name."""
    documents = [line for line in (DATA / f"{name}.cases.ndjson").read_text().split("\n") if line]
    lines = [json.loads(line) for line in (DATA / f"{name}.requests.ndjson").read_text().split("\n") if line]
    return worlds.World(name, documents, [line["request"] for line in lines], [line["expect"] for line in lines])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--casefilter", required=True)
    parser.add_argument("--engines", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--random", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--socket")
    parser.add_argument("--psql")
    arguments = parser.parse_args()
    casefilter = Casefilter(arguments.casefilter, arguments.scratch)
    fields = json.loads(casefilter.run("fields", "--format", "json"))
    chance = random.Random(arguments.seed)
    plain, weird = vectors("plain"), vectors("weird")
    hard = worlds.hard(chance, fields, 400, arguments.random)
    zeros = worlds.hard(chance, fields, 100, arguments.random // 3, zeros=True)
    own_fields = json.loads(casefilter.run("fields", "--catalog", OWN, "--format", "json"))
    own = worlds.hard(chance, own_fields, 400, arguments.random, catalog=OWN)
    all_worlds = [plain, weird, hard, zeros, own, worlds.limits(plain.documents)]

    running = []
    for name in arguments.engines.split(","):
        start = time.time()
        engine = engines.start(name, arguments)
        print(f"{name:10} {engine.version()} started in {time.time() - start:.1f} s", flush=True)
        running.append(engine)
    wrong = []
    for world in all_worlds:
        check_world(casefilter, running, world, wrong)
    if wrong:
        sys.exit(f"{len(wrong)} wrong answers")
    print("every answer is that of casefilter")


if __name__ == "__main__":
    main()
