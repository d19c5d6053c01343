"""Polars: a DataFrame in memory, categoricals for columns of few values."""

import datetime
import functools
import operator
import os

os.environ["POLARS_MAX_THREADS"] = "1"

import polars as pl

import requests
from engines import sql

COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}


def literal(field, value):
    kind = sql.TYPED.get(field)
    if kind == "number":
        return float(value)
    return datetime.datetime.fromisoformat(value) if kind == "time" else value


def expression(node):
    if "children" in node:
        joint = operator.and_ if node["op"] == "$and" else operator.or_
        return functools.reduce(joint, [expression(child) for child in node["children"]])
    field, op = node["field"], node["op"]
    column = pl.col(sql.name(field))
    values = [literal(field, value) for value in node["values"]]
    if field in sql.LISTS:
        joint = operator.and_ if op == "$all" else operator.or_
        return functools.reduce(joint, [column.list.contains(value) for value in values])
    if op == "$contains":
        return column.is_in(values)
    if op == "<>":
        return column.is_null() | (column != values[0])
    return COMPARE[op](column, values[0])


class Engine:
    note = "DataFrame of one chunk, Categorical for columns of few values; POLARS_MAX_THREADS=1"

    def __init__(self, parquet):
        self.version = pl.__version__
        columns = []
        for field in sql.FIELDS:
            column = pl.col(field)
            if sql.TYPED.get(field) == "time":
                column = column.dt.replace_time_zone(None)
            if field == "priority":
                column = column.fill_null("medium")
            if sql.name(field) in sql.FEW:
                column = column.cast(pl.Categorical)
            columns.append(column.alias(sql.name(field)))
        self.frame = pl.scan_parquet(parquet).select(columns).collect().rechunk()

    def prepare(self, request):
        chosen = self.frame.lazy().filter(expression(requests.tree(request)))
        if requests.is_count(request):
            query = chosen.select(pl.len())
            return lambda: query.collect().item()
        order = request.get("order")
        if order:
            by = sql.name(order.lstrip("-"))
            chosen = chosen.select("id", by).sort(
                [by, "id"], descending=[order.startswith("-"), False], nulls_last=True
            )
        query = chosen.select("id").slice(request["offset"], request["limit"])
        return lambda: query.collect()["id"].to_list()


def load(parquet, work):
    return Engine(parquet)
