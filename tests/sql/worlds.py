"""Worlds: cases and requests, from the vectors and generated."""

import datetime
import json
from decimal import Decimal

# Strings that quoting often gets wrong.
STRINGS = [
    "", " ", "a", "A", "b", "é", "e\u0301", "É", "z", "Z", "ß", "ﬀ", "😀", "\uffff", "\U0010ffff", "a'b", "''", "'", "\"", "a\"b",
    "\\", "\\\\", "a\\", "\\'", "'; DROP TABLE cases; --", "--", "/*", "*/", ";", "%", "_", "a%b", "\\%", "$1", "$2::text", "?",
    "{p1:String}", ":p1", "%s", "%(a)s", "${spark.app.name}", "$$", "$a$", "`", "\\x41", "\\u0041", "\\101", "\\0", "\\N", "NULL",
    "null", "\t", "\n", "\r\n", "a\nb", "\\.", "\n\\.\n", "\b", "a\r\nb", "a\rb", "\r", "a\n-- b\nc", "x\n--", "a;\nb", "\n.quit\n", "\x01", "\x7f", "\u00a0", "\u2028", "\u202e", "{}", "{a,b}", "[1]", "(", "true",
    "t", "0", "low", "medium", "high", "open", "opened", "byApi", "x" * 3000, "\\" * 500, "'" * 500, "ORDER BY", "N'x'", "E'x'", "x'00'",
]
# Strings that differ from others in case, accents and forms, or only seem to.
FOLDED = [
    "GARCÍA López", "garcia lopez", "Garci\u0301a-Lopez", "Straße", "STRASSE", "ﬁn", "FIN", "İstanbul", "ISTANBUL", "ısı", "ΣΊΣΥΦΟΣ", "σίσυφος",
    "Ａ １", "a\u00a01", "\u0301", "\u3000\t", "Йод", "иод", "ﷺ", "각", "\u1100\u1161\u11a8", "𝔊arcia", "Ꭰ", "ꭰ",
]
ZEROS = ["\0", "a\0", "\0b", "a\0b", "\0\0", "'\0'", "\\\0", "\0" + "1"]
NUMBERS = [
    "0", "-0", "-0.0", "1", "-1", "0.1", "0.30000000000000004", "0.3", "1e308", "-1e308", "1.7976931348623157e308", "5e-324", "-5e-324",
    "2.2250738585072014e-308", "9007199254740993", "9007199254740992", "1e22", "1e23", "123456789.125", "1000000000000000000000",
]
TIMES = [
    "0000-01-01 00:00:00", "0000-01-01 00:00:00+1800", "0000-02-29 12:00:00", "0001-01-01 00:00:00", "1582-10-10 00:00:00",
    "1899-12-31 23:59:59", "1900-01-01 00:00:00", "1969-12-31 23:59:59", "1970-01-01 00:00:00", "1970-01-01 00:00:00+00:00",
    "2024-02-29 23:59:59-0930", "2024-03-01 09:29:59", "2299-12-31 23:59:59", "2300-01-01 00:00:00", "9999-12-31 23:59:59", "9999-12-31 23:59:59-18:00",
]
INTEGERS = [
    "0", "1", "-1", "2", "255", "65536", "4294967296", "-2147483649", "9007199254740991", "9007199254740992", "9007199254740993",
    "9007199254740994", "-9007199254740993", "9223372036854775806", "9223372036854775807", "-9223372036854775807", "-9223372036854775808",
]
# The digits of decimals, without the point.
DECIMALS = ["0", "1", "-1", "10", "-250", "1000", "9223372036854775807", "-9223372036854775808", "9007199254740993", "123456"]
RFC3339 = [
    "0000-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "1970-01-01t01:00:00.001+01:00", "2024-02-29T23:59:59-09:30",
    "2024-02-29T23:59:59.5Z", "9999-12-31T23:59:59.999Z",
]
# Few strings, so that criteria on one element of an array often hold.
ELEMENT_STRINGS = ["a", "b", "'", "\\", "", "É", "e\u0301", "LÓPEZ garcia"]
ELEMENT_INTEGERS = ["0", "1", "-1", "9223372036854775807"]
DATES = ["0000-01-01", "1970-01-01", "2024-02-29", "2024-03-01", "9999-12-31"]
SECONDS = ["0", "-1", "1", "1709251199", "-62167219200", "253402300799"]
MILLIS = ["0", "-1", "1", "999", "1000", "-62167219200000", "-62167219200001", "253402300799000", "9223372036854775807", "-9223372036854775808"]


class World:
    def __init__(self, name, documents, requests, vectors=(), extended=False, catalog=None):
        self.name = name
        self.catalog = ["--catalog", catalog] if catalog else []
        self.documents = documents
        self.requests = requests
        self.vectors = vectors
        # Requests with extended operators need a table with folded columns and element columns. The others must not need them.
        self.extended = ["--extended"] if extended else []
        self.columns = ["--folded", "--elements"] if extended else []
        # Some requests of the vectors are wrong on purpose.
        self.may_fail = bool(vectors)
        self.has_zeros = any("\\u0000" in document for document in documents)


def hard(chance, fields, cases, requests, zeros=False, catalog=None):
    """Generates cases and requests full of hard values."""
    fields = [typed(field) for field in fields]
    strings = STRINGS + FOLDED * 2 + (ZEROS * 3 if zeros else [])
    documents = [case(chance, fields, f"{chance.choice(strings)[:40]}{number}", strings) for number in range(cases)]
    # Some cases are repeated with changes, and keep their place.
    for document in chance.sample(documents, cases // 10):
        documents.append(case(chance, fields, json.loads(document)["id"], strings))
    wanted = [request(chance, fields, STRINGS + FOLDED + ZEROS) for _ in range(requests)]
    name = "own" if catalog else "zeros" if zeros else "hard"
    world = World(name, documents, wanted, extended=True, catalog=catalog)
    ids = [json.loads(document)["id"] for document in documents]
    for one in wanted[::7]:
        one["body"]["ids"] = chance.sample(ids, chance.randrange(4)) + ["none such"]
    return world


def typed(field):
    """Splits the type `decimal(2)` into type and scale."""
    kind, _, scale = field["type"].rstrip(")").partition("(")
    return {**field, "type": kind, "scale": int(scale or 0)}


def case(chance, fields, name, strings):
    """Generates a case with some of the fields, in the form of documents."""
    document = {"id": name}
    for field in fields:
        if field["name"] == "id" or chance.random() < 0.5:
            continue
        keys = field["name"].split(".")
        if keys[0] in ("legs", "grid"):
            if keys[0] not in document:
                document[keys[0]] = elements(chance, fields, keys[0])
        elif keys[-2:-1] == ["checklist"]:
            rows = [{"name": chance.choice(strings), "checked": chance.random() < 0.5} for _ in range(chance.randrange(3))]
            put(document, keys[:-1], [{key: row[key] for key in chance.sample(sorted(row), chance.randrange(3))} for row in rows])
        elif keys[0] == "amlCases":
            ids = [chance.choice(strings) for _ in range(chance.randrange(3))]
            document["amlCases"] = [{"amlCaseId": one, "other": 1} for one in ids]
        elif field["many"]:
            values = [value(chance, field, strings) for _ in range(3)]
            some = [chance.choice([None, *values]) for _ in range(chance.randrange(5))]
            put(document, keys, chance.choice([some, some + some, None]))
        else:
            put(document, keys, value(chance, field, strings))
    return json.dumps(document, ensure_ascii=chance.random() < 0.5)


def elements(chance, fields, array):
    """Generates the value of an array of objects of own.toml. Some elements are null or have no value."""
    if array == "grid":
        return [chance.choice([None, [element(chance, fields, array) for _ in range(chance.randrange(3))]]) for _ in range(chance.randrange(3))]
    return chance.choice([None, *([[element(chance, fields, array) for _ in range(chance.randrange(4))]] * 9)])


def element(chance, fields, array):
    if chance.random() < 0.1:
        return None
    one = {}
    for field in fields:
        keys = field["name"].split(".")
        if ".".join(keys[:-1]) != array or chance.random() < 0.3:
            continue
        value_of = lambda: value(chance, field, ELEMENT_STRINGS)
        one[keys[-1]] = [value_of() for _ in range(chance.randrange(4))] if keys[-1] == "marks" else value_of()
    if array == "legs" and chance.random() < 0.8:
        one["fees"] = elements(chance, fields, "legs.fees")
    return one


def value(chance, field, strings):
    if chance.random() < 0.05:
        return None
    if field["type"] == "string":
        return chance.choice(list(field["known"]) * 4 + strings) if field["known"] else chance.choice(strings)
    if field["type"] == "number":
        return float(chance.choice(NUMBERS))
    if field["type"] == "integer":
        return int(chance.choice(ELEMENT_INTEGERS if strings is ELEMENT_STRINGS else INTEGERS))
    if field["type"] == "decimal":
        # A number of JSON only if Python writes its digits exactly.
        digits = decimal(chance, field, strings)
        return chance.choice([digits, int(digits)]) if digits.lstrip("-").isdigit() else digits
    if field["type"] == "boolean":
        return chance.random() < 0.5
    form = field.get("form")
    if form in ("unix_millis", "unix_seconds"):
        number = chance.choice(MILLIS if form == "unix_millis" else SECONDS)
        return chance.choice([number, int(number)])
    forms = {"rfc3339": RFC3339, "interface_or_rfc3339": TIMES + RFC3339, "date": DATES}
    return chance.choice(forms.get(form, TIMES))


def decimal(chance, field, strings):
    """Returns the text of a decimal, with or without zeros at the end."""
    digits = chance.choice(DECIMALS[:5] if strings is ELEMENT_STRINGS else DECIMALS)
    exact = format(Decimal(digits).scaleb(-field["scale"]), "f")
    return chance.choice([exact, exact.rstrip("0").rstrip(".") if "." in exact else exact])


def put(document, keys, leaf):
    for key in keys[:-1]:
        document = document.setdefault(key, {})
    document[keys[-1]] = leaf


def request(chance, fields, strings):
    single = [field["name"] for field in fields if not field["many"]]
    ranked = [field["name"] for field in fields if field["known"]] + [alias for field in fields for alias in field["aliases"]]
    one = {"body": {"criteria": [criterion(chance, fields, strings, 1) for _ in range(chance.randint(1, 3))]}}
    if chance.random() < 0.8:
        # No field occurs twice, not even by its alias.
        own = {alias: field["name"] for field in fields for alias in field["aliases"]}
        names = [chance.choice(single + ranked) for _ in range(chance.choice([1, 1, 2, 3]))]
        keys = {own.get(name, name): chance.choice(["", "-"]) + name for name in names}
        one["order"] = ",".join(keys.values())
    if chance.random() < 0.5:
        one["offset"] = chance.choice([0, 1, 3, 50, 10**6, 2**31, 2**63, 2**64 - 1])
    one["limit"] = chance.choice([0, 1, 2, 10, 100, 1000, 10000])
    one["countTotalItems"] = chance.random() < 0.5
    return one


# The arrays of objects of the catalogues, and the arrays around them.
ARRAYS = {"amlCases": "", "caseReview.checklistState.checklist": "", "legs": "", "legs.fees": "legs", "grid": ""}


def criterion(chance, fields, strings, depth, array=""):
    """Generates a criterion. Below an array, all fields are those of its elements."""
    below = [field for field in fields if field["name"].startswith(array + ".")] if array else fields
    arrays = [name for name in ARRAYS if name.startswith(array + ".") or not array]
    arrays = [name for name in arrays if any(field["name"].startswith(name + ".") for field in below)]
    if arrays and chance.random() < (0.25 if any(name.startswith("legs") for name in arrays) else 0.04):
        inner = chance.choice(arrays)
        children = [criterion(chance, fields, ELEMENT_STRINGS, max(depth, 3), inner) for _ in range(chance.choice([1, 2, 2, 3]))]
        return {"field": inner, "op": "$elem", "children": children}
    fields = below if array else fields
    if depth < 5 and chance.random() < 0.45:
        operator = chance.choice(["$and", "$or", "$not"])
        count = 1 if operator == "$not" else chance.randint(1, 4)
        return {"op": operator, "children": [criterion(chance, fields, strings, depth + 1, array) for _ in range(count)]}
    field = chance.choice(fields)
    if field["name"].startswith(("legs.", "grid.")):
        strings = ELEMENT_STRINGS
    operators = ["=", "<>", "<>", "$contains", "$contains", "$all", "$exists"]
    if field["type"] in ("number", "integer", "decimal", "timestamp"):
        operators += [">", ">=", "<", "<="] * 2
    if field["type"] == "string":
        operators += ["$startsWith", "$substring", "$match"] * 2
    operator = chance.choice(operators)
    if operator in ("$startsWith", "$substring", "$match"):
        count = 1 if operator == "$match" else chance.choice([1, 1, 2, 3, 10, 70])
        values = [part(chance, text(chance, field, strings), operator) for _ in range(count)]
        if operator == "$match" and chance.random() < 0.4:
            values = [" ".join(values + [part(chance, chance.choice(strings), operator) for _ in range(chance.choice([1, 2, 12]))])]
    elif operator == "$exists":
        values = [chance.choice(["true", "false"])]
    else:
        count = 1
        if operator.startswith("$"):
            count = chance.choice([1, 2, 3, 10, 70]) if operator == "$contains" else chance.choice([1, 1, 2, 3])
        values = [text(chance, field, strings) for _ in range(count)]
    one = {"field": field["name"], "op": operator, "values": values}
    return {"op": "$not", "children": [one]} if chance.random() < 0.15 else one


def part(chance, string, operator):
    """Returns a part of a string, or all of it. It is not empty; for $match it has a word in it."""
    start, length = chance.randrange(len(string) + 1), chance.choice([1, 1, 2, 3, 5, 4000])
    found = string[:length] if operator == "$startsWith" and chance.random() < 0.8 else string[start : start + length]
    if operator == "$match":
        found = chance.choice([found, found.upper(), found.lower()])
        # A mark alone folds to nothing.
        if not any(c.isalnum() for c in found):
            found += chance.choice("aE1")
    return found or "a"


def text(chance, field, strings):
    if field["type"] == "string":
        return chance.choice(list(field["known"]) * 3 + strings) if field["known"] else chance.choice(strings)
    if field["type"] == "number":
        return chance.choice(NUMBERS)
    if field["type"] == "integer":
        return chance.choice(ELEMENT_INTEGERS if strings is ELEMENT_STRINGS else INTEGERS)
    if field["type"] == "decimal":
        return decimal(chance, field, strings)
    if field["type"] == "boolean":
        return chance.choice(["true", "false"])
    epoch = datetime.datetime(1970, 1, 1)
    near = (epoch + datetime.timedelta(seconds=chance.choice([-1, 0, 1, 253402300799]))).strftime("%Y-%m-%d %H:%M:%S")
    return chance.choice([*TIMES, near])


def limits(documents):
    """Generates requests of the largest allowed size."""
    ids = [json.loads(document)["id"] for document in documents]
    some = ids[::3]
    many = some + [f"none {number} '\\" for number in range(65536 - len(some))]
    fields = ["name", "clientId", "groupByType", "createdByOfficer", "review.reviewId"]
    contains = [{"field": field, "op": op, "values": many[number::16]} for number, (field, op) in enumerate(zip(fields * 3, ["$contains", "<>", "$all"] * 5))]
    for one in contains:
        if one["op"] == "<>":
            one["values"] = one["values"][:1]
    tags = [f"tag{number}" for number in range(30000)] + ["vip", "cash", "crypto"]
    wide = [{"field": fields[number % 5], "op": "<>", "values": [f"{number}"]} for number in range(2000)]
    pairs = [
        {"op": "$and", "children": [{"field": "name", "op": "=", "values": [f"n{number}"]}, {"field": "clientId", "op": "=", "values": [f"client0{number % 10}"]}]}
        for number in range(1300)
    ]
    deep = {"field": "status", "op": "=", "values": ["open"]}
    for level in range(31):
        other = {"field": fields[level % 5], "op": "=" if level % 2 else "<>", "values": [f"{level}"]}
        deep = {"op": "$and" if level % 2 else "$or", "children": [other, deep]}
    digits = [f"{number:05}" for number in range(65533)]
    words = [f"w{number:04}" for number in range(5000)]
    matches = [{"field": "name", "op": "$match", "values": [" ".join(words[start : start + 500])]} for start in range(0, 5000, 500)]
    checklist = "caseReview.checklistState.checklist"
    checked = {"field": f"{checklist}.checked", "op": "=", "values": ["true"]}
    names = lambda op, values: {"field": f"{checklist}.name", "op": op, "values": values}
    elements = [
        [{"op": "$or", "children": [{"op": "$and", "children": [names("=", [f"n{number}"]), checked]} for number in range(200)]}],
        [names("$all", digits[:20000]), checked],
        [{"op": "$not", "children": [names("$contains", digits[:60000])]}, checked],
        [names("$startsWith", digits[:30000] + ["I"]), {"op": "$not", "children": [checked]}],
    ]
    elements = [{"criteria": [{"op": "$elem", "field": checklist, "children": children}]} for children in elements]
    bodies = elements + [
        {"criteria": [{"field": "name", "op": "$startsWith", "values": digits + ["a", "c", "n"]}]},
        {"criteria": [{"op": "$not", "children": [{"field": "id", "op": "$startsWith", "values": some[:100] + many[-1000:]}]}]},
        {"criteria": [{"field": "tags", "op": "$startsWith", "values": digits + ["v"]}]},
        {"criteria": [{"field": "name", "op": "$substring", "values": digits[:20000] + ["a"]}]},
        {"criteria": [{"op": "$not", "children": [{"field": "tags", "op": "$substring", "values": digits[:3000] + ["ry"]}]}]},
        {"criteria": [{"op": "$or", "children": [{"op": "$and", "children": matches}, {"field": "tags", "op": "$match", "values": ["A S H"]}]}]},
        {"criteria": [{"op": "$not", "children": [{"op": "$and", "children": matches}]}]},
        {"ids": many},
        {"criteria": [{"field": "id", "op": "$contains", "values": many}]},
        {"criteria": [{"op": "$or", "children": [{"field": "id", "op": "$contains", "values": many[1:]}, {"field": "priority", "op": "=", "values": ["high"]}]}]},
        {"criteria": [{"op": "$or", "children": contains}]},
        {"criteria": [{"field": "tags", "op": "$contains", "values": tags}]},
        {"criteria": [{"op": "$or", "children": [{"field": "tags", "op": "$all", "values": tags}, {"field": "status", "op": "=", "values": ["open"]}]}]},
        {"criteria": wide},
        {"criteria": [{"op": "$or", "children": pairs}]},
        {"criteria": [deep]},
        {"criteria": [{"field": "totalAmountInDefaultCurrency", "op": "$contains", "values": [f"{number}.5" for number in range(60000)]}]},
    ]
    requests = [{"body": body, "limit": 10000, "order": "-createdAt", "countTotalItems": True} for body in bodies]
    return World("limits", documents, requests, extended=True)
