//! Reads one case from a record batch: its values as a row, and its document as JSON.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::types::{Decimal128Type, DecimalType};

use super::bind::{BoundKind, BoundNode, Object};
use super::json::push_json_string;
use super::value::{remark_on, value_of};
use super::values::{self, Values, list_range};
use crate::batch::{Remark, Row};
use crate::catalog::{ArrayId, Catalog, Field, FieldId, TimestampForm};
use crate::error::{Error, ErrorKind};
use crate::value::{Number, Timestamp};

/// A reader of cases. It reuses its buffers for each case.
pub(super) struct RowReader<'b, 'c> {
    pub(super) row: Row<'b>,
    /// The document of the case that was read last.
    pub(super) text: String,
    /// The fields that have an invalid value.
    pub(super) rejected: Vec<FieldId>,
    catalog: &'c Catalog,
    /// The maximum size of a document in bytes. Soon after the document exceeds it, writing stops.
    limit: usize,
    is_too_large: bool,
}

impl<'b, 'c> RowReader<'b, 'c> {
    pub(super) fn new(catalog: &'c Catalog, limit: usize) -> Self {
        let (row, text, rejected) = (Row::default(), String::new(), Vec::new());
        Self { row, text, rejected, catalog, limit, is_too_large: false }
    }

    /// Reads the case in row `at` of the batch.
    ///
    /// # Errors
    /// Returns an error if the document exceeds the limit.
    pub(super) fn read(&mut self, case: &'b Object<'b>, at: usize) -> Result<(), Error> {
        self.row.clear();
        self.text.clear();
        self.rejected.clear();
        self.is_too_large = false;
        self.object(case, at, true);
        if self.is_full() {
            let expected = format!("at most {} bytes", self.limit);
            return Err(Error::new(ErrorKind::DocumentTooLarge, 0, "a larger document", expected));
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_too_large || self.text.len() > self.limit
    }

    /// Writes an object. If the object and all its members are absent, returns false and writes nothing.
    fn object(&mut self, object: &'b Object<'b>, at: usize, is_present: bool) -> bool {
        let start = self.text.len();
        let mut mark = '{';
        for entry in &object.members {
            if entry.is_struct_child && !is_present {
                continue;
            }
            let before = self.text.len();
            self.text.push(mark);
            self.text.push_str(entry.label);
            if self.part(&entry.node, at) {
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
            _ if is_present => self.text.push_str("{}"),
            _ => self.text.truncate(start),
        }
        mark == ',' || is_present
    }

    /// Writes a node of a case. If the node is absent, returns false and writes nothing.
    fn part(&mut self, part: &'b BoundNode<'b>, at: usize) -> bool {
        let is_null = part.nulls.is_some_and(|nulls| nulls.is_null(at));
        match &part.kind {
            BoundKind::Object(object) => self.object(object, at, object.is_struct && !is_null),
            BoundKind::Zip(lanes, array) => self.zip(lanes, *array, at),
            _ if is_null => false,
            BoundKind::List(offsets, element, array) => {
                let (start, end) = list_range(offsets, at);
                self.list(start..end, *array, |rows, at| rows.part(element, at));
                true
            }
            BoundKind::Value(field, values) => self.value(*field, values, at),
        }
    }

    /// Writes an array. Calls `element` for each index. If an element is absent, writes `null`. `array` is the id of the array, or
    /// `None` if its elements are not objects of the catalogue.
    fn list(
        &mut self,
        range: std::ops::Range<usize>,
        array: Option<ArrayId>,
        mut element: impl FnMut(&mut Self, usize) -> bool,
    ) {
        let mut mark = '[';
        for at in range {
            if self.is_full() {
                return;
            }
            self.text.push(mark);
            mark = ',';
            if let Some(array) = array {
                self.row.begin_element(array);
            }
            if !element(self, at) {
                self.text.push_str("null");
            }
        }
        self.text.push_str(if mark == '[' { "[]" } else { "]" });
    }

    fn zip(&mut self, lanes: &'b [(&'b str, BoundNode<'b>)], array: Option<ArrayId>, at: usize) -> bool {
        let places = |lane: &'b BoundNode<'b>| match &lane.kind {
            BoundKind::List(offsets, element, _) if !lane.nulls.is_some_and(|nulls| nulls.is_null(at)) => {
                Some((list_range(offsets, at), &**element))
            }
            _ => None,
        };
        let longest = lanes.iter().filter_map(|(_, lane)| places(lane));
        let Some(length) = longest.map(|((start, end), _)| end.saturating_sub(start)).max() else {
            return false;
        };
        self.list(0..length, array, |rows, element| {
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

    /// Writes a value to the document and adds it to the row. Returns false if JSON cannot represent the value.
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
        // Unix milliseconds from integer columns are written as strings.
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
                let Some(millis) = instants.millis(at) else { return false };
                let form = field.map(Field::form).unwrap_or_default();
                return self.write_instant(form, Timestamp::from_millis(millis));
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

    /// Appends an instant in the form that documents use. If the instant cannot be written in this form, returns false and appends
    /// nothing.
    fn write_instant(&mut self, form: TimestampForm, instant: Timestamp) -> bool {
        let text = match form {
            TimestampForm::Interface => {
                let mut text = String::new();
                instant.push_text(&mut text).then_some(text)
            }
            TimestampForm::Rfc3339 | TimestampForm::InterfaceOrRfc3339 => instant.to_rfc3339(),
            TimestampForm::Date => instant.to_date(),
            TimestampForm::UnixSeconds => Some(instant.as_millis().div_euclid(1000).to_string()),
            TimestampForm::UnixMillis => Some(instant.as_millis().to_string()),
        };
        let Some(text) = text else { return false };
        self.write(format_args!("\"{text}\""));
        true
    }

    fn refuse(&mut self, field: FieldId, error: Error) {
        self.row.fault(error.at(self.catalog.field(field).name()));
        if !self.rejected.contains(&field) {
            self.rejected.push(field);
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// Appends a string as JSON. If the document would then exceed the limit, appends nothing and sets `is_too_large`.
    fn string(&mut self, text: &str) {
        if self.text.len().saturating_add(text.len()) > self.limit {
            self.is_too_large = true;
            return;
        }
        push_json_string(&mut self.text, text);
    }
}
