//! The mark of Parquet files that this library has written: a scan of such a file need not check its ids and values again.
//!
//! The mark is a member of the metadata in the footer. Its value is a hash of the fields of the catalogue and of the position and
//! size of every column of every row group. Another program that rewrites the file, or adds rows to it, may copy the member. But
//! the columns of the new file have other positions or sizes. So the mark does not match them, and the file is checked as if it had
//! no mark. The mark protects against accidents, not against forgery: with a forged mark, a scan may count a repeated id several
//! times.

use std::fmt::Write as _;

use parquet::file::metadata::{KeyValue, ParquetMetaData, RowGroupMetaData};
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::Catalog;

/// The key of the mark in the metadata of a file.
const KEY: &str = "casefilter.cases";

/// Returns the mark of a file with these row groups. In such a file, no id is repeated, every value fits its field, and an import
/// makes no note on a value.
pub(super) fn mark(catalog: &Catalog, groups: &[RowGroupMetaData]) -> KeyValue {
    KeyValue::new(KEY.to_owned(), fingerprint(catalog, groups))
}

/// Returns true if the file has a mark that matches its row groups and the catalogue.
pub(super) fn has_mark(catalog: &Catalog, file: &ParquetMetaData) -> bool {
    let mut members = file.file_metadata().key_value_metadata().into_iter().flatten();
    let mark = members.find(|member| member.key == KEY).and_then(|member| member.value.as_deref());
    mark.is_some_and(|mark| mark == fingerprint(catalog, file.row_groups()))
}

fn fingerprint(catalog: &Catalog, groups: &[RowGroupMetaData]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for (_, field) in catalog.visible_fields() {
        let kind = (field.field_type(), field.form(), field.id_type());
        let _ = writeln!(text, "{} {kind:?}", field.path());
    }
    for group in groups {
        let _ = writeln!(text, "{} rows", group.num_rows());
        for column in group.columns() {
            let (start, size) = (column.data_page_offset(), column.compressed_size());
            let _ = writeln!(text, "{start} {size} {} {}", column.uncompressed_size(), column.num_values());
        }
    }
    format!("{:016x}", xxh3_64(text.as_bytes()))
}
