"""The requests, as lines for `casefilter bench --requests`.

There are the thirteen of the interface, those of the extended criteria, and counts by value.
"""

import json

import data


def _field(field, op, *values):
    return {"field": field, "op": op, "values": list(values)}


def _all(*children):
    return {"op": "$and", "children": list(children)}


def _any(*children):
    return {"op": "$or", "children": list(children)}


def _count(*criteria, ids=None):
    body = {"criteria": list(criteria)}
    if ids is not None:
        body["ids"] = ids
    return {"body": body, "limit": 0, "countTotalItems": True}


def _page(*criteria, order=None, offset=0, limit=100):
    request = {"body": {"criteria": list(criteria)}, "offset": offset, "limit": limit}
    return request | ({"order": order} if order else {})


STATUS = "caseReview.status"
COUNTRY = "applicantInfo.country"
AMOUNT = "totalAmountInDefaultCurrency"
APPLICANT = "applicantReference.applicantId"
BLUEPRINT = "blueprintReference.blueprintId"
ASSIGNEE = "caseReview.assignee"

TITLES = {
    "c1": "count: status in 2 values",
    "c2": "count: status = open, one month of createdAt",
    "c3": "count: (status and priority) or (amount > x and createdByType)",
    "c4": "count: tags `$all` of 2",
    "c5": "count: tags `$contains` of 5, country in 20",
    "c6": "count: nested tree of 20 criteria",
    "c7": "count: one hour of updatedAt",
    "p1": "page: newest 100, status in 2, priority",
    "p2": "page: newest, offset 10,000, status = open",
    "p3": "page: top 100 by amount, status, createdByType",
    "p4": "point: one applicant id",
    "p5": "count: 1,000 applicant ids",
    "p6": "count: 100 ids or (status and updatedAt >)",
}


def thirteen(cases):
    """Returns the requests by name, for data with this number of cases."""
    pool = data.applicants(cases)
    # The tree has no lists: c4 and c5 test those, and lists would take most of the time in most peers.
    tree = _any(
        _all(
            _field(STATUS, "=", "open"),
            _field("priority", "=", "high"),
            _field(COUNTRY, "$contains", "DEU", "FRA", "ESP", "ITA", "NLD"),
            _field("clientId", "$contains", *data.CLIENTS[:12:3]),
            _field("createdAt", ">=", "2024-06-01 00:00:00"),
            _field("createdAt", "<", "2025-06-01 00:00:00"),
        ),
        _all(
            _field("createdByType", "=", "byRule"),
            _field(BLUEPRINT, "$contains", "blueprint03", "blueprint07", "blueprint21"),
            _field(AMOUNT, ">=", "1000"),
            _field(AMOUNT, "<", "5000"),
            _field("clientId", "<>", "client000"),
            _field(ASSIGNEE, "$contains", "officer001", "officer002", "officer040"),
        ),
        _all(
            _any(_field("groupByType", "=", "rule"), _field(BLUEPRINT, "=", "blueprint02")),
            _field(STATUS, "<>", "resolvedFalsePositive"),
            _field("createdByType", "$contains", "byWorkflow", "byOfficer"),
            _field("updatedAt", ">=", "2025-01-01 00:00:00"),
            _any(
                _field("priority", "=", "low"),
                _field(ASSIGNEE, "=", "officer003"),
                _field(COUNTRY, "=", "USA"),
            ),
        ),
    )
    spread = [number * pool // 1000 for number in range(1000)]
    return {
        "c1": _count(_field(STATUS, "$contains", "open", "awaitingUser")),
        "c2": _count(
            _field(STATUS, "=", "open"),
            _field("createdAt", ">=", "2025-03-01 00:00:00"),
            _field("createdAt", "<", "2025-04-01 00:00:00"),
        ),
        "c3": _count(
            _any(
                _all(_field(STATUS, "=", "blocked"), _field("priority", "=", "high")),
                _all(_field(AMOUNT, ">", "5000"), _field("createdByType", "=", "byRule")),
            )
        ),
        "c4": _count(_field("tags", "$all", data.tag(3), data.tag(7))),
        "c5": _count(
            _field("tags", "$contains", *(data.tag(i) for i in (2, 9, 14, 23, 41))),
            _field(COUNTRY, "$contains", *data.COUNTRIES[3:63:3]),
        ),
        "c6": _count(tree),
        "c7": _count(
            _field("updatedAt", ">=", "2025-03-12 10:00:00"), _field("updatedAt", "<", "2025-03-12 11:00:00")
        ),
        "p1": _page(
            _field(STATUS, "$contains", "open", "awaitingUser"), _field("priority", "=", "high"), order="-createdAt"
        ),
        "p2": _page(_field(STATUS, "=", "open"), order="-createdAt", offset=10_000),
        "p3": _page(_field(STATUS, "=", "open"), _field("createdByType", "=", "byRule"), order="-" + AMOUNT),
        "p4": _page(_field(APPLICANT, "=", data.applicant_id(data.known_applicant(cases)))),
        "p5": _count(_field(APPLICANT, "$contains", *sorted({data.applicant_id(i) for i in spread}))),
        "p6": _count(
            _field(STATUS, "=", "open"),
            _field("updatedAt", ">", "2025-12-28 00:00:00"),
            ids=[data.case_id(number * cases // 100) for number in range(100)],
        ),
    }


EXTENDED_TITLES = {
    "x1": "count: assignee `$match`, a part of 500 values in any case",
    "x2": "count: id `$substring`, among as many values as cases",
    "x3": "count: id `$startsWith`",
    "x4": "count: no amount, status = open",
    "x5": "count: `$not` status in 2 values",
    "x6": "page: first 100 by priority, then newest",
    "x7": "page: the same, status = open",
}


def extended(_cases):
    """Returns the requests with extended criteria by name."""
    return {
        "x1": _count(_field(ASSIGNEE, "$match", "ICER12")),
        "x2": _count(_field("id", "$substring", "beef1")),
        "x3": _count(_field("id", "$startsWith", "beef")),
        "x4": _count(_field(AMOUNT, "$exists", "false"), _field(STATUS, "=", "open")),
        "x5": _count({"op": "$not", "children": [_field(STATUS, "$contains", "open", "awaitingUser")]}),
        "x6": _page(_field("createdAt", "$exists", "true"), order="-priority,-createdAt"),
        "x7": _page(_field(STATUS, "=", "open"), order="-priority,-createdAt"),
    }


FACET_TITLES = {
    "f1": "status of all cases",
    "f2": "priority of the open ones of one month",
    "f3": "72 countries of the open ones",
    "f4": "the 10 most frequent of 500 assignees, priority = high",
    "f5": "histogram by month of createdAt, status in 2",
    "f6": "60 tags, priority = high",
    "f7": "count, minimum, maximum and sum of the amount, status = open",
    "f8": "five fields of the open ones at once",
}


def _facets(*facets, criteria=()):
    # A body without criteria selects no case.
    return {"facets": {"criteria": list(criteria), "facets": list(facets)}}


def facets(_cases):
    """Returns the requests for counts by value, by name."""
    month = [_field("createdAt", ">=", "2025-03-01 00:00:00"), _field("createdAt", "<", "2025-04-01 00:00:00")]
    is_open = _field(STATUS, "=", "open")
    of = lambda field, limit=1000: {"field": field, "limit": limit}
    return {
        "f1": _facets(of(STATUS), criteria=[_field("createdAt", ">=", "2000-01-01 00:00:00")]),
        "f2": _facets(of("priority"), criteria=[is_open, *month]),
        "f3": _facets(of(COUNTRY), criteria=[is_open]),
        "f4": _facets(of(ASSIGNEE, 10), criteria=[_field("priority", "=", "high")]),
        "f5": _facets(
            {"field": "createdAt", "interval": "month"}, criteria=[_field(STATUS, "$contains", "open", "awaitingUser")]
        ),
        "f6": _facets(of("tags"), criteria=[_field("priority", "=", "high")]),
        "f7": _facets({"field": AMOUNT, "stats": True}, criteria=[is_open]),
        "f8": _facets(
            *map(of, (COUNTRY, "priority", "createdByType", "clientId", BLUEPRINT)), criteria=[is_open]
        ),
    }


# The sets of requests by name: titles, and the function from the number of cases to the requests.
SETS = {
    "thirteen": (TITLES, thirteen),
    "extended": (EXTENDED_TITLES, extended),
    "facets": (FACET_TITLES, facets),
}


def of_set(name, cases):
    """Returns the requests of a set by name, for data with this number of cases."""
    return SETS[name][1](cases)


def titles(result):
    """Returns the titles of the requests that a result has."""
    return SETS[result.get("requests", "thirteen")][0]


def write(path, requests):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(request, separators=(",", ":")) + "\n" for request in requests.values())


def is_count(request):
    return request.get("limit") == 0


def is_facets(request):
    return "facets" in request


def counted(facet, answer):
    """Returns the part of an answer to a facet that is compared: the counts by value or bucket, or the statistics."""
    if "stats" in facet:
        return [answer["stats"][name] for name in ("count", "min", "max", "sum")]
    if "interval" in facet:
        return {bucket["from"][:10]: bucket["count"] for bucket in answer["buckets"] if bucket["count"]}
    counts = {value["value"]: value["count"] for value in answer["values"] if value["count"]}
    # The most frequent values alone do not tell how many cases have none.
    return counts if len(counts) == facet["limit"] else counts | ({"": answer["absent"]} if answer["absent"] else {})


def tree(request):
    """Returns the body as one criterion, with `ids` as a criterion on `id`."""
    body = request.get("body") or request["facets"]
    criteria = _all(*body["criteria"])
    ids = body.get("ids")
    return _any(_field("id", "$contains", *ids), criteria) if ids else criteria
