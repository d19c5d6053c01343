"""DataFusion: record batches in memory, dictionaries for columns of few values."""

import datafusion
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import requests
from engines import sql


class Dialect(sql.Dialect):
    has_all = "array_has_all({column}, {values})"
    has_any = "array_has_any({column}, {values})"
    array = "make_array({})"
    instant = "arrow_cast('{}', 'Timestamp(Millisecond, None)')"


class Engine:
    note = "record batches of 8,192 rows in memory, dictionaries for columns of few values; target_partitions=1"

    def __init__(self, parquet):
        self.version = datafusion.__version__
        batches = []
        for batch in pq.ParquetFile(parquet).iter_batches(8192):
            batches.extend(pa.table(self.columns(batch)).to_batches())
        config = datafusion.SessionConfig().with_target_partitions(1)
        self.context = datafusion.SessionContext(config)
        self.context.register_record_batches("cases", [batches])

    @staticmethod
    def columns(batch):
        columns = {}
        for field in sql.FIELDS:
            values = batch.column(batch.schema.get_field_index(field))
            if sql.TYPED.get(field) == "time":
                values = values.cast(pa.timestamp("ms"))
            if field == "priority":
                values = pc.fill_null(values, "medium")
            if sql.name(field) in sql.FEW:
                values = pc.dictionary_encode(values)
            columns[sql.name(field)] = values
        return columns

    def rows(self, statement):
        batches = self.context.sql(statement).collect()
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def prepare(self, request):
        if requests.is_facets(request):
            statements = Dialect().facets(request)
            return lambda: Dialect().counted(request, [self.rows(statement) for statement in statements])
        statement = Dialect().select(request)
        if requests.is_count(request):
            return lambda: self.context.sql(statement).collect()[0].column(0)[0].as_py()
        return lambda: [
            value for batch in self.context.sql(statement).collect() for value in batch.column(0).to_pylist()
        ]


def load(parquet, work):
    return Engine(parquet)
