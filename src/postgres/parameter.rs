//! Encodes the parameters of statements in PostgreSQL's binary format.

use std::error::Error;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::sql::Datum;

/// A parameter of a statement.
///
/// In the SQL text, every parameter has a cast. So the server expects exactly the type of the value.
#[derive(Debug)]
pub(super) struct Parameter<'d>(pub(super) &'d Datum<'static>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Datum::Null => Ok(IsNull::Yes),
            Datum::Text(text) => text.to_sql(kind, out),
            Datum::Number(number) => number.to_sql(kind, out),
            Datum::Integer(integer) => integer.to_sql(kind, out),
            Datum::Decimal(decimal) => decimal.to_string().to_sql(kind, out),
            Datum::Decimals(decimals) => {
                let texts: Vec<String> = decimals.iter().map(ToString::to_string).collect();
                texts.to_sql(kind, out)
            }
            Datum::Boolean(boolean) => boolean.to_sql(kind, out),
            Datum::Texts(texts) => texts.to_sql(kind, out),
            Datum::Numbers(numbers) => numbers.to_sql(kind, out),
            Datum::Integers(integers) => integers.to_sql(kind, out),
            Datum::Booleans(booleans) => booleans.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [
            Type::TEXT,
            Type::TEXT_ARRAY,
            Type::FLOAT8,
            Type::FLOAT8_ARRAY,
            Type::INT8,
            Type::INT8_ARRAY,
            Type::BOOL,
            Type::BOOL_ARRAY,
        ]
        .contains(kind)
    }

    to_sql_checked!();
}
