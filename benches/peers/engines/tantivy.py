"""Tantivy: one segment in memory, raw terms, fast fields for order and ranges."""

import datetime

import pyarrow.parquet as pq
import tantivy
from tantivy import FieldType, Occur, Query

import requests
from engines import sql

BATCH = 50_000
# One indexing thread writes one segment, as long as this holds everything.
HEAP_BYTES = 3_500_000_000


def literal(field, value):
    kind = sql.TYPED.get(field)
    if kind == "number":
        return float(value)
    if kind == "time":
        return datetime.datetime.fromisoformat(value).replace(tzinfo=datetime.UTC)
    return value


class Engine:
    note = (
        "one segment in memory, raw terms, dates and amount indexed and fast; ranges by the fast field or by "
        "the inverted index, whichever is faster for the request; queries built before they are timed"
    )

    def __init__(self, parquet):
        self.version = tantivy.__version__
        builder = tantivy.SchemaBuilder()
        for field in sql.FIELDS:
            name, kind = sql.name(field), sql.TYPED.get(field)
            if kind == "time":
                builder.add_date_field(name, indexed=True, fast=True)
            elif kind == "number":
                builder.add_float_field(name, indexed=True, fast=True)
            else:
                builder.add_text_field(
                    name, stored=name == "id", fast=name == "id", tokenizer_name="raw", index_option="basic"
                )
        self.schema = builder.build()
        self.index = tantivy.Index(self.schema)
        writer = self.index.writer(heap_size=HEAP_BYTES, num_threads=1)
        # Documents in the order of their ids, since Tantivy breaks ties by document order.
        table = pq.read_table(parquet).sort_by("id")
        names = [sql.name(field) for field in table.column_names]
        for batch in table.to_batches(BATCH):
            columns = [
                (column.fill_null("medium") if name == "priority" else column).to_pylist()
                for name, column in zip(names, batch.columns, strict=True)
            ]
            for row in zip(*columns, strict=True):
                document = {name: value for name, value in zip(names, row, strict=True) if value is not None}
                writer.add_document(tantivy.Document.from_dict(document, self.schema))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()
        if self.searcher.num_segments != 1:
            print(f"tantivy: {self.searcher.num_segments} segments, ties may differ", flush=True)

    def query(self, node, inverted):
        if "children" in node:
            children = node["children"]
            if len(children) == 1:
                return self.query(children[0], inverted)
            if node["op"] == "$or":
                return Query.boolean_query([(Occur.Should, self.query(child, inverted)) for child in children])
            ranges, others = {}, []
            for child in children:
                if child.get("op") in (">", ">=", "<", "<="):
                    ranges.setdefault(child["field"], []).append(child)
                else:
                    others.append(child)
            parts = [(Occur.Must, self.range(bounds, inverted)) for bounds in ranges.values()]
            for child in others:
                if child["op"] == "<>":
                    parts.append((Occur.MustNot, self.term(child)))
                else:
                    parts.append((Occur.Must, self.query(child, inverted)))
            return Query.boolean_query(parts)
        if node["op"] in (">", ">=", "<", "<="):
            return self.range([node], inverted)
        return self.term(node)

    def term(self, node):
        name, values = sql.name(node["field"]), node["values"]
        if node["op"] == "$all":
            return Query.boolean_query([(Occur.Must, self.one(name, value)) for value in values])
        return self.one(name, values[0]) if len(values) == 1 else Query.term_set_query(self.schema, name, values)

    def one(self, name, value):
        return Query.term_query(self.schema, name, value, "basic")

    def range(self, bounds, inverted):
        """Returns the bounds of one field, joined by `and`."""
        field = bounds[0]["field"]
        kind = FieldType.Date if sql.TYPED[field] == "time" else FieldType.Float
        low = next((node for node in bounds if node["op"][0] == ">"), None)
        high = next((node for node in bounds if node["op"][0] == "<"), None)
        return Query.range_query(
            self.schema,
            sql.name(field),
            kind,
            lower_bound=low and literal(field, low["values"][0]),
            upper_bound=high and literal(field, high["values"][0]),
            include_lower=low is None or low["op"] == ">=",
            include_upper=high is None or high["op"] == "<=",
            use_inverted_index=inverted,
        )

    def prepare(self, request):
        """Returns one function per way to evaluate ranges. The runner takes the fastest."""
        return [self.one_way(request, inverted) for inverted in (False, True)]

    def one_way(self, request, inverted):
        query = self.query(requests.tree(request), inverted)
        if requests.is_count(request):
            query = Query.const_score_query(query, 1.0)
            return lambda: self.searcher.search(query, limit=1, count=True).count
        order = request.get("order")
        more = {}
        if order:
            more["order_by_field"] = sql.name(order.lstrip("-"))
            more["order"] = tantivy.Order.Desc if order.startswith("-") else tantivy.Order.Asc

        def page():
            found = self.searcher.search(
                query, limit=request["limit"], offset=request["offset"], count=False, **more
            )
            return [self.searcher.doc(address)["id"][0] for _, address in found.hits]

        return page


def load(parquet, work):
    return Engine(parquet)
