"""Synthetic compliance cases. The same number, shape and seed give the same cases."""

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 20_260_101
CHUNK = 1_000_000
ROW_GROUP = 131_072
# The number of cases of one known applicant, so that a point request finds something.
PLANTED = 3
START_S = int(datetime.datetime(2023, 1, 1, tzinfo=datetime.UTC).timestamp())
END_S = int(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp())
SHAPES = ("arrival", "shuffled", "uniform", "tags1000", "prompt")

STATUS = ["resolvedFalsePositive", "open", "resolvedPotentialThreat", "awaitingUser", "blocked"]
CREATED_BY = ["byRule", "byWorkflow", "byOfficer", "byOngoingAmlHit", "byApi"]
GROUP_BY = ["applicant", "rule", "transaction", "none"]
PRIORITY = ["medium", "low", "high"]
COUNTRIES = ["USA", "DEU", "GBR", "FRA", "ESP", "ITA", "NLD", "POL", "TUR", "BRA", "IND", "NGA", "KEN", "ZAF", "ARE", "UKR", "CAN", "MEX", "ARG", "IDN", "VNM", "PHL", "THA", "JPN", "KOR", "CHN", "SGP", "MYS", "AUS", "NZL", "PRT", "IRL", "BEL", "CHE", "AUT", "CZE", "SVK", "HUN", "ROU", "BGR", "GRC", "CYP", "MLT", "EST", "LVA", "LTU", "FIN", "SWE", "NOR", "DNK", "ISL", "GEO", "ARM", "AZE", "KAZ", "UZB", "KGZ", "MDA", "SRB", "HRV", "SVN", "ALB", "MKD", "BIH", "MNE", "ISR", "EGY", "MAR", "TUN", "GHA", "COL", "PER"]
CLIENTS = [f"client{i:03d}" for i in range(200)]
BLUEPRINTS = [f"blueprint{i:02d}" for i in range(40)]
ASSIGNEES = [f"officer{i:03d}" for i in range(500)]
SOURCE_KEYS = ["default", "onboarding", "payments", "travelRule", "ongoing", "manual", "partner", "legacy"]


def tag(number):
    return f"tag{number:04d}"


def applicants(cases):
    """Returns the number of applicants of this number of cases."""
    return max(1, cases // 3)


def hex_ids(numbers, salt):
    """Returns 24 hexadecimal digits for each number, distinct and in no order."""

    def mixed(x):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    seeded = (np.asarray(numbers, dtype=np.uint64) + np.uint64(salt << 40)) * np.uint64(0x9E3779B97F4A7C15)
    first = mixed(seeded)
    raw = np.empty((len(first), 12), dtype=np.uint8)
    raw[:, :8] = first.astype(">u8").view(np.uint8).reshape(-1, 8)
    raw[:, 8:] = mixed(first).astype(">u8").view(np.uint8).reshape(-1, 8)[:, :4]
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    text = np.empty((len(first), 24), dtype=np.uint8)
    text[:, 0::2] = digits[raw >> 4]
    text[:, 1::2] = digits[raw & 15]
    return text


def case_id(number):
    return hex_ids([number], 1)[0].tobytes().decode()


def known_applicant(cases):
    """Returns the number of the known applicant, whose cases start at the middle row."""
    return applicants(cases) // 2


def applicant_id(number):
    return hex_ids([number], 2)[0].tobytes().decode()


def _id_column(numbers, salt, absent=None):
    text = hex_ids(numbers, salt)
    offsets = np.arange(len(text) + 1, dtype=np.int32) * 24
    column = pa.StringArray.from_buffers(len(text), pa.py_buffer(offsets), pa.py_buffer(text))
    if absent is None:
        return column
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), column)


def _codes(rng, rows, values, shape, exponent=1.1):
    if shape == "uniform":
        return rng.integers(0, values, rows)
    weights = 1.0 / np.arange(1, values + 1) ** exponent
    return np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(rows)).clip(0, values - 1)


def _text(codes, names, absent=None):
    codes = pa.array(codes.astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(codes, pa.array(names)).cast(pa.string())


def _lists(rng, rows, names, most, absent_share, shape):
    """Generates up to `most` distinct values per row, and null in a share of the rows."""
    nothing = len(names)
    codes = _codes(rng, rows * most, nothing, shape, 0.9).reshape(rows, most)
    length = rng.integers(1, most + 1, rows)
    codes[np.arange(most) >= length[:, None]] = nothing
    codes.sort(axis=1)
    keep = codes != nothing
    keep[:, 1:] &= codes[:, 1:] != codes[:, :-1]
    absent = rng.random(rows) < absent_share
    keep[absent] = False
    offsets = np.concatenate([[0], np.cumsum(keep.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), _text(codes[keep], names), mask=pa.array(absent))


def _seconds(values, absent=None):
    # Cast through int64 milliseconds to whole seconds, the precision of documents.
    return pa.array(values.astype(np.int64) * 1000, mask=absent).cast(pa.timestamp("ms", tz="UTC"))


def chunk(first, rows, cases, shape, seed=SEED):
    """Generates rows `first .. first + rows` out of `cases`, as flat columns named by field path."""
    rng = np.random.Generator(np.random.PCG64([seed, first, cases, SHAPES.index(shape)]))
    tags = 1000 if shape == "tags1000" else 60
    span = END_S - START_S
    if shape == "shuffled":
        created = START_S + rng.integers(0, span, rows)
    else:
        low, high = span * first // cases, max(span * (first + rows) // cases, span * first // cases + 1)
        created = START_S + np.sort(rng.integers(low, high, rows))
    # Hours or weeks after the case was created.
    updated = created + rng.exponential(6 * 3_600 if shape == "prompt" else 20 * 86_400, rows).astype(np.int64)
    if shape == "uniform":
        amount = rng.random(rows) * 20_000
    else:
        amount = rng.lognormal(6.5, 1.6, rows)
    pool = applicants(cases)
    share = rng.random(rows) if shape == "uniform" else rng.random(rows) ** 1.3
    applicant = (share * pool).astype(np.uint64)
    nobody = rng.random(rows) < 0.02
    planted = slice(max(cases // 2 - first, 0), max(cases // 2 + PLANTED - first, 0))
    applicant[planted], nobody[planted] = known_applicant(cases), False
    columns = {
        "id": _id_column(np.arange(first, first + rows), 1),
        "applicantReference.applicantId": _id_column(applicant, 2, nobody),
        "createdByType": _text(_codes(rng, rows, 5, shape), CREATED_BY),
        "groupByType": _text(_codes(rng, rows, 4, shape), GROUP_BY, rng.random(rows) < 0.3),
        "createdAt": _seconds(created),
        "updatedAt": _seconds(updated, rng.random(rows) < 0.05),
        "totalAmountInDefaultCurrency": pa.array(np.round(amount, 2), mask=rng.random(rows) < 0.2),
        "clientId": _text(_codes(rng, rows, len(CLIENTS), shape), CLIENTS),
        "applicantInfo.country": _text(_codes(rng, rows, len(COUNTRIES), shape), COUNTRIES, rng.random(rows) < 0.05),
        "blueprintReference.blueprintId": _text(_codes(rng, rows, 40, shape), BLUEPRINTS, rng.random(rows) < 0.1),
        "caseReview.status": _text(_codes(rng, rows, 5, shape), STATUS),
        "caseReview.assignee": _text(_codes(rng, rows, 500, shape, 0.7), ASSIGNEES, rng.random(rows) < 0.4),
        "priority": _text(_codes(rng, rows, 3, shape, 0.6), PRIORITY, rng.random(rows) < 0.35),
        "tags": _lists(rng, rows, [tag(i) for i in range(tags)], 5, 0.2, shape),
        "sourceKeys": _lists(rng, rows, SOURCE_KEYS, 2, 0.3, shape),
    }
    return pa.table(columns)


def parquet(work, cases, shape):
    """Returns the Parquet file of these cases. Writes it if it does not exist."""
    path = Path(work) / f"cases-{shape}-{cases}.parquet"
    if not path.exists():
        part = path.with_name(path.name + ".part")
        writer = None
        for first in range(0, cases, CHUNK):
            table = chunk(first, min(CHUNK, cases - first), cases, shape)
            writer = writer or pq.ParquetWriter(part, table.schema, compression="zstd")
            writer.write_table(table, row_group_size=ROW_GROUP)
        writer.close()
        part.rename(path)
    return path


def ndjson(work, cases, shape):
    """Writes the same cases as nested documents, one per line."""
    path = Path(work) / f"cases-{shape}-{cases}.ndjson"
    if not path.exists():
        part = path.with_name(path.name + ".part")
        with part.open("w", encoding="utf-8") as out:
            for batch in pq.ParquetFile(parquet(work, cases, shape)).iter_batches(ROW_GROUP):
                names = [name.split(".") for name in batch.schema.names]
                columns = [_plain(column) for column in batch.columns]
                for row in zip(*columns, strict=True):
                    out.write(json.dumps(_document(names, row), separators=(",", ":")))
                    out.write("\n")
        part.rename(path)
    return path


def _plain(column):
    if pa.types.is_timestamp(column.type):
        column = pc.strftime(column.cast(pa.timestamp("s", tz="UTC")), "%Y-%m-%d %H:%M:%S")
    return column.to_pylist()


def _document(names, row):
    document = {}
    for path, value in zip(names, row, strict=True):
        if value is not None:
            parent = document
            for step in path[:-1]:
                parent = parent.setdefault(step, {})
            parent[path[-1]] = value
    return document
