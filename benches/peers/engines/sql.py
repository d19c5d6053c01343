"""Shared by the SQL engines: a request as one SELECT."""

import requests

TYPED = {"totalAmountInDefaultCurrency": "number", "createdAt": "time", "updatedAt": "time"}
LISTS = {"tags", "sourceKeys"}
# An absent priority counts as medium. Each engine stores it so.
NAMES = {"totalAmountInDefaultCurrency": "amount"}
FIELDS = [
    "id", "applicantReference.applicantId", "createdByType", "groupByType", "createdAt", "updatedAt",
    "totalAmountInDefaultCurrency", "clientId", "applicantInfo.country", "blueprintReference.blueprintId",
    "caseReview.status", "caseReview.assignee", "priority", "tags", "sourceKeys",
]  # fmt: skip
# Columns with few values, for which a careful user chooses a dictionary type.
FEW = {
    "createdByType", "groupByType", "clientId", "country", "blueprintId", "status", "assignee", "priority",
}  # fmt: skip


def column(field):
    """Returns the last step of the path, quoted."""
    return f'"{name(field)}"'


def name(field):
    return NAMES.get(field) or field.rsplit(".", 1)[-1]


def sort_key(key):
    """Returns the sort key of a field with its direction, as SQL."""
    field = key.lstrip("-")
    direction = "DESC" if key.startswith("-") else "ASC"
    if field == "priority":
        # Known values sort by their rank, and an absent priority is medium.
        return f"CASE {column(field)} WHEN 'low' THEN 0 WHEN 'high' THEN 2 ELSE 1 END {direction}"
    # createdAt is never absent, so an index or a sort key can serve it.
    nulls = "" if key == "-createdAt" else " NULLS LAST"
    return f"{column(field)} {direction}{nulls}"


def text(value):
    return "'" + value.replace("'", "''") + "'"


class Dialect:
    """The syntax of one engine for lists and instants. The default is DuckDB's."""

    has_all = "list_has_all({column}, {values})"
    has_any = "list_has_any({column}, {values})"
    array = "[{}]"
    instant = "TIMESTAMP '{}'"
    starts_with = "starts_with({column}, {value})"
    has_part = "contains({column}, {value})"
    matches = "{column} ILIKE {value}"
    month = "date_trunc('month', {column})"
    # A case without values has one row, whose value is null.
    unnest = "unnest(CASE WHEN cardinality({column}) > 0 THEN {column} ELSE [NULL] END)"

    def literal(self, field, value):
        kind = TYPED.get(field)
        if kind == "number":
            return value
        return self.instant.format(value) if kind == "time" else text(value)

    def where(self, node):
        if "children" in node:
            if node["op"] == "$not":
                # A comparison of an absent value is null, and its negation would be null too.
                return f"NOT coalesce({self.where(node['children'][0])}, FALSE)"
            joint = " AND " if node["op"] == "$and" else " OR "
            return "(" + joint.join(self.where(child) for child in node["children"]) + ")"
        field, op = node["field"], node["op"]
        if op == "$exists":
            return f"{column(field)} IS {'NOT ' if node['values'] == ['true'] else ''}NULL"
        if op == "$match":
            return self.matches.format(column=column(field), value=text(f"%{node['values'][0]}%"))
        values = [self.literal(field, value) for value in node["values"]]
        if op in ("$startsWith", "$substring"):
            shape = self.starts_with if op == "$startsWith" else self.has_part
            return "(" + " OR ".join(shape.format(column=column(field), value=value) for value in values) + ")"
        if field in LISTS:
            shape = {"$all": self.has_all, "$contains": self.has_any, "=": self.has_any}[op]
            return shape.format(column=column(field), values=self.array.format(", ".join(values)))
        if op == "$contains":
            return f"{column(field)} IN ({', '.join(values)})"
        if op == "<>":
            return f"({column(field)} IS NULL OR {column(field)} <> {values[0]})"
        return f"{column(field)} {op} {values[0]}"

    def select(self, request):
        where = self.where(requests.tree(request))
        if requests.is_count(request):
            return f"SELECT count(*) FROM cases WHERE {where}"
        order = request.get("order")
        by = ""
        if order:
            by = f' ORDER BY {", ".join(sort_key(key) for key in order.split(","))}, "id"'
        return f'SELECT "id" FROM cases WHERE {where}{by} LIMIT {request["limit"]} OFFSET {request["offset"]}'

    def facets(self, request):
        """Returns a SELECT for each facet. The rows are pairs of a value and a count, or one row of statistics."""
        where = self.where(requests.tree(request))
        return [self.facet(facet, where) for facet in request["facets"]["facets"]]

    def facet(self, facet, where):
        field = facet["field"]
        if "stats" in facet:
            amount = column(field)
            return f"SELECT count({amount}), min({amount}), max({amount}), sum({amount}) FROM cases WHERE {where}"
        if "interval" in facet:
            return f"SELECT {self.month.format(column=column(field))} AS v, count(*) FROM cases WHERE {where} GROUP BY v"
        if field in LISTS:
            values = f"SELECT {self.unnest.format(column=column(field))} AS v FROM cases WHERE {where}"
            # No case repeats a tag.
            return f"SELECT v, count(*) FROM ({values}) AS x GROUP BY v"
        top = ""
        if facet["limit"] < 100:
            where = f"{where} AND {column(field)} IS NOT NULL"
            top = f" ORDER BY 2 DESC, 1 LIMIT {facet['limit']}"
        return f"SELECT {column(field)}, count(*) FROM cases WHERE {where} GROUP BY {column(field)}{top}"

    def counted(self, request, answers):
        """Returns the rows of each facet in the form of `requests.counted`."""
        return [self.counts(facet, rows) for facet, rows in zip(request["facets"]["facets"], answers, strict=True)]

    @staticmethod
    def counts(facet, rows):
        if "stats" in facet:
            return list(rows[0])
        return {"" if value is None else str(value)[:10] if "interval" in facet else value: count for value, count in rows}
