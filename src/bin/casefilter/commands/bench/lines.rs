//! The output of `bench`: a line for each request, a line for each field, and a last line for all cases.

use casefilter::MemoryUsage;
use serde::Serialize;

use crate::output::figures::{counted, microseconds, thousands};
use crate::output::table::Column;

#[derive(Serialize)]
pub(super) struct Timed {
    pub(super) request: u64,
    pub(super) matched: u64,
    pub(super) median_us: f64,
    pub(super) min_us: f64,
    pub(super) p99_us: f64,
    pub(super) runs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cold_us: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Faulty {
    pub(super) request: u64,
    pub(super) error: String,
}

#[derive(Serialize)]
pub(super) struct FieldBytes<'m> {
    pub(super) field: &'m str,
    pub(super) column_bytes: u64,
    pub(super) index_bytes: u64,
    pub(super) bytes_per_case: f64,
}

#[derive(Serialize)]
pub(super) struct Summary {
    pub(super) cases: u64,
    pub(super) load_s: f64,
    pub(super) bytes_per_case: f64,
    pub(super) threads: u16,
}

impl Timed {
    pub(super) const COLUMNS: [Column<'static>; 6] = [
        Column::number("request"),
        Column::number("matched"),
        Column::number("median"),
        Column::number("fastest"),
        Column::number("p99"),
        Column::number("runs"),
    ];
    pub(super) const COLD: Column<'static> = Column::number("cold");

    pub(super) fn row(&self) -> Vec<String> {
        let mut row = vec![
            self.request.to_string(),
            thousands(self.matched),
            microseconds(self.median_us),
            microseconds(self.min_us),
            microseconds(self.p99_us),
            self.runs.to_string(),
        ];
        row.extend(self.cold_us.map(microseconds));
        row
    }
}

/// Returns the memory of each field, sorted from largest to smallest. The memory of the insertion order is not included.
pub(super) fn field_bytes(memory: &MemoryUsage) -> Vec<FieldBytes<'_>> {
    let mut fields: Vec<FieldBytes<'_>> = memory
        .fields
        .iter()
        .map(|field| FieldBytes::new(&field.name, field.column_bytes, field.index_bytes, memory.documents))
        .collect();
    fields.sort_by_key(|field| std::cmp::Reverse(field.column_bytes.saturating_add(field.index_bytes)));
    fields
}

impl<'m> FieldBytes<'m> {
    pub(super) const COLUMNS: [Column<'static>; 4] = [
        Column::whole("field"),
        Column::number("column bytes"),
        Column::number("index bytes"),
        Column::number("a case"),
    ];

    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn new(field: &'m str, column_bytes: u64, index_bytes: u64, cases: u64) -> Self {
        let bytes = column_bytes.saturating_add(index_bytes) as f64;
        let bytes_per_case = rounded(bytes / cases.max(1) as f64, 100.0);
        Self { field, column_bytes, index_bytes, bytes_per_case }
    }

    pub(super) fn row(&self) -> Vec<String> {
        vec![
            self.field.to_owned(),
            thousands(self.column_bytes),
            thousands(self.index_bytes),
            format!("{:.2}", self.bytes_per_case),
        ]
    }
}

impl Summary {
    pub(super) fn text(&self) -> String {
        format!(
            "{} · loaded in {:.2} s · {:.1} bytes a case without the documents · {}",
            counted(self.cases, "case"),
            self.load_s,
            self.bytes_per_case,
            counted(u64::from(self.threads), "thread")
        )
    }
}

pub(super) fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}
