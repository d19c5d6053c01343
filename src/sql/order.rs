//! Writes the order of a request as an `ORDER BY` list, and the position of a cursor as a condition.
//!
//! The condition is expanded, because nulls come last in both directions, and no dialect can express this in a comparison of rows.
//! For the order a, -b and a position with the values v, w and the id i, the condition is:
//!
//! ```sql
//! (a > v OR a IS NULL) OR a = v AND (b < w OR b IS NULL) OR a = v AND b = w AND id > i
//! ```

use super::column::Column;
use super::datum::Datum;
use super::dialect::Syntax;
use super::statement::Statement;
use super::table::{PLACE, Table};
use crate::catalog::{Field, FieldId, FieldType};
use crate::filter::order::{Position, SortKey, SortValue};
use crate::value::ValueClass;

impl Table {
    /// Returns the `ORDER BY` list. Without keys, this is the insertion order. In ascending order, known values come before other
    /// strings. Absent values come last in both directions. Cases with equal values are sorted by `id`.
    pub(super) fn order_by(&self, syntax: &dyn Syntax, keys: &[SortKey]) -> String {
        if keys.is_empty() {
            return quote(syntax, PLACE);
        }
        let mut terms: Vec<String> = Vec::new();
        for key in keys {
            let Some(column) = self.column_of(key.field) else { continue };
            let field = self.catalog().field(key.field);
            let direction = match (key.descending, column.is_nullable()) {
                (false, false) => "",
                (false, true) => " NULLS LAST",
                (true, false) => " DESC",
                (true, true) => " DESC NULLS LAST",
            };
            if has_ranks(field) {
                terms.push(format!("{}{direction}", rank(syntax, column, field)));
            }
            terms.push(format!("{}{direction}", compared(syntax, column, field)));
        }
        // No two cases have the same id, so keys after the id have no effect.
        if !keys.iter().any(|key| key.field == FieldId::ID) {
            terms.push(format!("{}{}", quote(syntax, self.id_column()), syntax.collation()));
        }
        terms.join(", ")
    }

    /// Writes the condition that is true for the cases after a position in the order of the keys.
    pub(super) fn write_behind(&self, keys: &[SortKey], position: &Position, statement: &mut Statement) {
        let syntax = statement.syntax();
        let (values, id) = match position {
            Position::Inserted(place) => {
                statement.push(&format!("{} > ", quote(syntax, PLACE)));
                // The column contains no place above `i64::MAX`.
                return statement.push_value(Datum::Integer(i64::try_from(*place).unwrap_or(i64::MAX)));
            }
            Position::Sorted { values, id } => (values, id),
        };
        // No two cases have the same id, so keys after the id have no effect.
        let of_id = keys.iter().position(|key| key.field == FieldId::ID);
        let decisive = of_id.map_or(keys.len(), |at| at.saturating_add(1));
        let mut is_first = true;
        for (at, (key, value)) in keys.iter().zip(values).enumerate().take(decisive) {
            // Cases without the field come last, so this key has no value after an absent value.
            if *value == SortValue::Absent {
                continue;
            }
            self.write_branch(keys.iter().zip(values).take(at), &mut is_first, statement);
            let Some(column) = self.column_of(key.field) else { continue };
            write_after(column, (self.catalog().field(key.field), *key), value, statement);
        }
        if of_id.is_some() {
            return;
        }
        self.write_branch(keys.iter().zip(values), &mut is_first, statement);
        let id_key = SortKey { field: FieldId::ID, descending: false };
        let id = SortValue::Text(id.clone());
        if let Some(column) = self.column_of(FieldId::ID) {
            write_after(column, (self.catalog().field(FieldId::ID), id_key), &id, statement);
        }
    }

    /// Starts a branch of the condition. Writes tests that the field of each key in `equal` has the value of its pair.
    fn write_branch<'k>(
        &self,
        equal: impl Iterator<Item = (&'k SortKey, &'k SortValue)>,
        is_first: &mut bool,
        statement: &mut Statement,
    ) {
        if !std::mem::take(is_first) {
            statement.push(" OR ");
        }
        for (key, value) in equal {
            let Some(column) = self.column_of(key.field) else { continue };
            let name = quote(statement.syntax(), column.name());
            match datum(self.catalog().field(key.field), value) {
                Some(Datum::Text(text)) if !statement.syntax().can_hold(&text) => statement.push("FALSE"),
                Some(datum) => {
                    statement.push(&format!("{name} = "));
                    statement.push_value(datum);
                }
                None if column.is_nullable() => statement.push(&format!("{name} IS NULL")),
                None => statement.push("FALSE"),
            }
            statement.push(" AND ");
        }
    }
}

/// Writes the condition that is true for values after `value`, and for absent values.
fn write_after(
    column: &Column,
    (field, key): (&Field, SortKey),
    value: &SortValue,
    statement: &mut Statement,
) {
    let syntax = statement.syntax();
    let Some(datum) = datum(field, value) else { return statement.push("FALSE") };
    let (mut operator, mut datum) = (if key.descending { "<" } else { ">" }, datum);
    let known = field.known_values().len();
    let own = match &datum {
        Datum::Text(text) => field.known_rank(text).unwrap_or(known),
        _ => known,
    };
    if let Datum::Text(text) = &datum
        && !syntax.can_hold(text)
    {
        // The column can hold no text with U+0000, so its texts are compared with the part before U+0000. The result is the same,
        // except for a text that equals this part: it comes before the complete text.
        operator = if key.descending { "<=" } else { ">" };
        datum = Datum::Text(text.split('\0').next().unwrap_or_default().to_owned().into());
    }
    let name = compared(syntax, column, field);
    statement.push("(");
    match &datum {
        Datum::Text(_) if has_ranks(field) => {
            let rank = rank(syntax, column, field);
            let side = if key.descending { "<" } else { ">" };
            statement.push(&format!("{rank} {side} {own}"));
            if own == known {
                statement.push(&format!(" OR {rank} = {own} AND {name} {operator} "));
                statement.push_value(datum);
            }
        }
        _ => {
            statement.push(&format!("{name} {operator} "));
            statement.push_value(datum);
        }
    }
    if column.is_nullable() {
        statement.push(&format!(" OR {} IS NULL", quote(syntax, column.name())));
    }
    statement.push(")");
}

/// Returns a value as a parameter. Returns `None` for an absent value.
fn datum(field: &Field, value: &SortValue) -> Option<Datum<'static>> {
    match value {
        SortValue::Absent => None,
        SortValue::Boolean(boolean) => Some(Datum::Boolean(*boolean)),
        SortValue::Text(text) => Some(Datum::Text(text.to_string().into())),
        SortValue::Ordinal(ordinal) => match ValueClass::of_field(field.field_type()) {
            ValueClass::Ordered(kind) => Some(Datum::of(&kind.value(*ordinal))),
            _ => None,
        },
    }
}

/// Returns true if the field is sorted by the rank of its values.
fn has_ranks(field: &Field) -> bool {
    field.field_type() == FieldType::String && field.known_values().len() > 0
}

/// Returns the expression for the rank of a value. The rank of a known value is its index among the known values of the field. The
/// rank of any other value is the count of the known values. The rank of an absent value is null, so that the case comes last in
/// both directions.
fn rank(syntax: &dyn Syntax, column: &Column, field: &Field) -> String {
    let name = quote(syntax, column.name());
    let mut out = String::from("CASE");
    if column.is_nullable() {
        out.push_str(&format!(" WHEN {name} IS NULL THEN NULL"));
    }
    for (rank, known) in field.known_values().enumerate() {
        out.push_str(&format!(" WHEN {name} = "));
        syntax.literal(&Datum::Text(known.into()), &mut out);
        out.push_str(&format!(" THEN {rank}"));
    }
    out.push_str(&format!(" ELSE {} END", field.known_values().len()));
    out
}

/// Returns the name of a column, with the collation that sorts texts by code point.
fn compared(syntax: &dyn Syntax, column: &Column, field: &Field) -> String {
    let collation = if field.field_type() == FieldType::String { syntax.collation() } else { "" };
    format!("{}{collation}", quote(syntax, column.name()))
}

fn quote(syntax: &dyn Syntax, name: &str) -> String {
    let mut out = String::new();
    syntax.identifier(name, &mut out);
    out
}
