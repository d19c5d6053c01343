//! One case of a bound batch: its values into a row, its document as JSON.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::types::{Decimal128Type, DecimalType};

use super::bind::{Bound, Object, Part};
use super::json::push_json;
use super::value::{remark_on, value_of};
use super::values::{self, Values, range};
use crate::batch::{Remark, Row};
use crate::catalog::{Catalog, Field, FieldId};
use crate::error::{Error, ErrorKind};
use crate::value::{Number, Timestamp};

/// Reads cases one after the other; what one left behind, the next has room in.
pub(super) struct Rows<'b, 'c> {
    pub(super) row: Row<'b>,
    /// The document of the case last read.
    pub(super) text: String,
    /// Fields of which a value was refused.
    pub(super) refused: Vec<FieldId>,
    catalog: &'c Catalog,
    /// Documents are not written much further than this, in bytes.
    limit: usize,
    is_too_large: bool,
}

impl<'b, 'c> Rows<'b, 'c> {
    pub(super) fn new(catalog: &'c Catalog, limit: usize) -> Self {
        let (row, text, refused) = (Row::default(), String::new(), Vec::new());
        Self { row, text, refused, catalog, limit, is_too_large: false }
    }

    /// Reads the case at a place of the batch.
    ///
    /// # Errors
    /// A document larger than the limit.
    pub(super) fn read(&mut self, case: &'b Object<'b>, at: usize) -> Result<(), Error> {
        self.row.clear();
        self.text.clear();
        self.refused.clear();
        self.is_too_large = false;
        self.object(case, at, true);
        if self.is_full() {
            let expected = format!("at most {} bytes", self.limit);
            return Err(Error::new(ErrorKind::CaseTooLarge, 0, "a larger case", expected));
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_too_large || self.text.len() > self.limit
    }

    /// Writes an object; false, and nothing is written, when it is made of members that are all absent.
    fn object(&mut self, object: &'b Object<'b>, at: usize, is_there: bool) -> bool {
        let start = self.text.len();
        let mut mark = '{';
        for entry in &object.members {
            if entry.of_struct && !is_there {
                continue;
            }
            let before = self.text.len();
            self.text.push(mark);
            self.text.push_str(entry.label);
            if self.part(&entry.part, at) {
                mark = ',';
                if let Some(stray) = entry.stray {
                    self.row.remark(Remark::Stray(Arc::clone(stray)));
                }
            } else {
                self.text.truncate(before);
            }
        }
        match mark {
            ',' => self.text.push('}'),
            _ if is_there => self.text.push_str("{}"),
            _ => self.text.truncate(start),
        }
        mark == ',' || is_there
    }

    /// Writes a part of a case; false, and nothing is written, when it is absent.
    fn part(&mut self, part: &'b Part<'b>, at: usize) -> bool {
        let is_null = part.nulls.is_some_and(|nulls| nulls.is_null(at));
        match &part.shape {
            Bound::Object(object) => self.object(object, at, object.is_struct && !is_null),
            Bound::Zip(lanes) => self.zip(lanes, at),
            _ if is_null => false,
            Bound::List(offsets, element) => {
                let (start, end) = range(offsets, at);
                self.list(start..end, |rows, at| rows.part(element, at));
                true
            }
            Bound::Value(field, values) => self.value(*field, values, at),
        }
    }

    /// Writes an array of what `element` writes for each place; an absent element is `null`.
    fn list(&mut self, places: std::ops::Range<usize>, mut element: impl FnMut(&mut Self, usize) -> bool) {
        let mut mark = '[';
        for at in places {
            if self.is_full() {
                return;
            }
            self.text.push(mark);
            mark = ',';
            if !element(self, at) {
                self.text.push_str("null");
            }
        }
        self.text.push_str(if mark == '[' { "[]" } else { "]" });
    }

    fn zip(&mut self, lanes: &'b [(&'b str, Part<'b>)], at: usize) -> bool {
        let places = |lane: &'b Part<'b>| match &lane.shape {
            Bound::List(offsets, element) if !lane.nulls.is_some_and(|nulls| nulls.is_null(at)) => {
                Some((range(offsets, at), &**element))
            }
            _ => None,
        };
        let longest = lanes.iter().filter_map(|(_, lane)| places(lane));
        let Some(length) = longest.map(|((start, end), _)| end.saturating_sub(start)).max() else {
            return false;
        };
        self.list(0..length, |rows, element| {
            let mut mark = '{';
            for (label, lane) in lanes {
                let Some(((start, end), values)) = places(lane) else { continue };
                let at = start.saturating_add(element);
                if at >= end {
                    continue;
                }
                let before = rows.text.len();
                rows.text.push(mark);
                rows.text.push_str(label);
                if rows.part(values, at) {
                    mark = ',';
                } else {
                    rows.text.truncate(before);
                }
            }
            rows.text.push_str(if mark == '{' { "{}" } else { "}" });
            true
        });
        true
    }

    /// Writes a value and adds it to the row; false when JSON has no way to write it.
    fn value(&mut self, field: Option<FieldId>, values: &'b Values<'b>, at: usize) -> bool {
        let known = field.map(|id| (id, self.catalog.field(id)));
        let is_written = self.write_value(known.map(|(_, field)| field), values, at);
        if let Some((id, field)) = known {
            match value_of(field, values, at) {
                Ok(value) => {
                    if let Some(remark) = remark_on(id, field, values, at, &value) {
                        self.row.remark(remark);
                    }
                    self.row.push(id, value);
                }
                Err(error) => self.refuse(id, error),
            }
        }
        is_written
    }

    fn write_value(&mut self, field: Option<&Field>, values: &Values<'_>, at: usize) -> bool {
        // Integers fit timestamps in Unix milliseconds alone, which documents have in a string.
        let is_quoted = field.is_some_and(Field::is_unix_millis);
        match values {
            Values::Text(texts) => {
                let is_in = at < texts.len();
                if is_in {
                    self.string(texts.value(at));
                }
                return is_in;
            }
            Values::Booleans(booleans) => {
                let boolean = at < booleans.len() && booleans.value(at);
                self.text.push_str(if boolean { "true" } else { "false" });
            }
            Values::Instants(instants) => {
                let millis = instants.millis(at);
                if let Some(millis) = millis.filter(|_| field.is_some_and(Field::is_unix_millis)) {
                    self.write(format_args!("\"{millis}\""));
                    return true;
                }
                let start = self.text.len();
                self.text.push('"');
                // An instant beyond 64 bits is beyond the years of the text form, and so is the last one.
                if !Timestamp::from_millis(millis.unwrap_or(i64::MAX)).push_text(&mut self.text) {
                    self.text.truncate(start);
                    return false;
                }
                self.text.push('"');
            }
            Values::Integers(integers) => {
                let integer = values::at(integers, at);
                let quote = if is_quoted { "\"" } else { "" };
                self.write(format_args!("{quote}{integer}{quote}"));
            }
            Values::Unsigned(integers) => {
                let integer = values::at(integers, at);
                let quote = if is_quoted && i64::try_from(integer).is_ok() { "\"" } else { "" };
                self.write(format_args!("{quote}{integer}{quote}"));
            }
            Values::Floats(floats) => match Number::new(values::at(floats, at)) {
                Some(number) => self.write(format_args!("{number}")),
                None => return false,
            },
            Values::Decimals(decimals, precision, scale) => {
                let decimal = values::at(decimals, at);
                self.text.push_str(&Decimal128Type::format_decimal(decimal, *precision, *scale));
            }
        }
        true
    }

    fn refuse(&mut self, field: FieldId, error: Error) {
        self.row.fault(error.at(self.catalog.field(field).name()));
        if !self.refused.contains(&field) {
            self.refused.push(field);
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// Writes a string as JSON; none that alone would be too large.
    fn string(&mut self, text: &str) {
        if self.text.len().saturating_add(text.len()) > self.limit {
            self.is_too_large = true;
            return;
        }
        push_json(&mut self.text, text);
    }
}
