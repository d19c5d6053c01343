//! Tests notes, columns that are no fields, malformed values, and damaged files.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Float64Array, Int64Array, ListArray, StructArray,
    TimestampMillisecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field as ArrowField};
use bytes::Bytes;
use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, ScanError, SearchRequest};

use crate::compare::{MODES, check};
use crate::form::{FORM, Form, columns, line, texts};

/// Values of columns that the request does not need are checked as well.
#[test]
fn malformed_values_need_an_import_and_notes_do_not() {
    let catalog = Catalog::cases();
    let request = SearchRequest::new(Filter::compile_text(&catalog, "name = x").unwrap());
    let ids = || texts([Some("a"), Some("b")]);
    let utc = |ticks: [i64; 2]| -> ArrayRef {
        Arc::new(TimestampMillisecondArray::from(ticks.to_vec()).with_timezone("+00:00"))
    };
    let amount = "totalAmountInDefaultCurrency";
    let floats = |floats: [f64; 2]| Arc::new(Float64Array::from(floats.to_vec())) as ArrayRef;
    let integers = |integers: [i64; 2]| Arc::new(Int64Array::from(integers.to_vec())) as ArrayRef;
    let local = Arc::new(TimestampMillisecondArray::from(vec![0, 1])) as ArrayRef;
    // Each file, the number of its notes, and true if it can be scanned.
    let cases = [
        (columns([("id", ids())]), 0, true),
        (columns([("id", texts([Some("a"), None]))]), 0, false),
        (columns([("id", texts([Some("a"), Some("")]))]), 0, false),
        (columns([("id", texts([Some("a"), Some("a")]))]), 0, true),
        (columns([("id", ids()), (amount, floats([1.0, 2.0]))]), 0, true),
        (columns([("id", ids()), (amount, floats([1.0, f64::NAN]))]), 0, false),
        (columns([("id", ids()), (amount, floats([1.0, f64::INFINITY]))]), 0, false),
        (columns([("id", ids()), (amount, integers([1, 2]))]), 0, true),
        (columns([("id", ids()), (amount, integers([1, (1 << 53) + 1]))]), 1, true),
        (columns([("id", ids()), ("createdAt", utc([0, 1]))]), 0, true),
        (columns([("id", ids()), ("createdAt", utc([0, i64::MAX]))]), 0, false),
        (columns([("id", ids()), ("createdAt", utc([i64::MIN, 0]))]), 0, false),
        (columns([("id", ids()), ("createdAt", local)]), 1, true),
        (columns([("id", ids()), ("createdAt", texts([None, Some("2026-01-31 00:00:00+0000")]))]), 0, true),
        (columns([("id", ids()), ("createdAt", texts([None, Some("2026-01-31 00:00:00")]))]), 1, true),
        (columns([("id", ids()), ("createdAt", texts([None, Some("yesterday")]))]), 0, false),
        (columns([("id", ids()), ("name", integers([1, 2]))]), 0, false),
        (columns([("id", ids()), ("other", integers([1, 2]))]), 0, true),
        (columns([("id", ids()), ("Name", texts([None, Some("open")]))]), 1, true),
        (columns([("name", ids())]), 0, false),
    ];
    for (number, (batch, notes, is_scanned)) in cases.iter().enumerate() {
        for has_statistics in [false, true] {
            for group_rows in [1, 2] {
                let file = Form { has_statistics, group_rows, ..FORM }.write(std::slice::from_ref(batch));
                for mode in MODES {
                    let found = check(&catalog, mode, std::slice::from_ref(&file), &request, None);
                    assert_eq!(
                        found.as_ref().map(|found| found.report.notes.len()),
                        is_scanned.then_some(*notes),
                        "{number}"
                    );
                }
            }
        }
    }
}

/// A lenient scan reports columns that are left out, and has notes about members.
#[test]
fn columns_that_are_no_fields_are_reported() {
    let catalog = Catalog::cases();
    let ids = || texts([Some("a"), Some("b"), Some("c")]);
    let status = || texts([None, Some("open"), Some("open")]);
    let binary = Arc::new(BinaryArray::from(vec![Some(&b"x"[..]), None, None])) as ArrayRef;
    let created = Arc::new(Date32Array::from(vec![None, Some(1), None])) as ArrayRef;
    let struct_of = |member: &str, values: ArrayRef, nulls: [bool; 3]| -> ArrayRef {
        let field = ArrowField::new(member, values.data_type().clone(), true);
        Arc::new(StructArray::new(vec![field].into(), vec![values], Some(nulls.to_vec().into())))
    };
    let tags = || -> ArrayRef {
        let offsets = OffsetBuffer::new(vec![0, 0, 1, 1].into());
        let element = Arc::new(ArrowField::new_list_field(DataType::Utf8, true));
        Arc::new(ListArray::new(element, offsets, texts([None]), Some(vec![true, true, false].into())))
    };
    // Each file, and its notes: the path, the number of rows, and the first row.
    let cases = [
        // The name of a column is an alias. A row with a value of the field has no note.
        (columns([("id", ids()), ("status", status())]), 1, vec![("status", 2, 2)]),
        (
            columns([
                ("id", ids()),
                ("status", status()),
                ("caseReview.status", texts([None, None, Some("x")])),
            ]),
            0,
            vec![("status", 1, 2)],
        ),
        (
            columns([("id", ids()), ("blob", Arc::clone(&binary)), ("Name", status())]),
            1,
            vec![("Name", 2, 2)],
        ),
        (
            columns([("createdAt", Arc::clone(&created)), ("id", ids()), ("Name", ids())]),
            0,
            vec![("Name", 3, 1), ("createdAt", 1, 2)],
        ),
        // A struct or an array is present if it is not null.
        (
            columns([("id", ids()), ("Name", struct_of("x", status(), [true, false, true]))]),
            0,
            vec![("Name", 2, 1)],
        ),
        (columns([("id", ids()), ("Tags", tags())]), 0, vec![("Tags", 2, 1)]),
        (
            columns([("id", ids()), ("tags", tags()), ("Tags", ids())]),
            0,
            // A null in an array is no value.
            vec![("Tags", 3, 1)],
        ),
        (columns([("id", ids()), ("Name.first", status()), ("Name.x", created)]), 0, vec![("Name", 2, 2)]),
        // No case is without an id.
        (columns([("id", ids()), ("ID", ids())]), 0, vec![]),
    ];
    for (number, (batch, errors, notes)) in cases.iter().enumerate() {
        for filter in ["true", "id = c", "name = x"] {
            let request = SearchRequest::new(Filter::compile_text(&catalog, filter).unwrap());
            for (has_statistics, group_rows) in [(true, 1), (true, 3), (false, 2)] {
                let file = Form { has_statistics, group_rows, ..FORM }.write(std::slice::from_ref(batch));
                let files = [file.clone(), file];
                let strict = check(&catalog, ImportMode::Strict, &files[..1], &request, None);
                assert_eq!(strict.is_some(), *errors == 0, "{number}");
                for files in [&files[..1], &files[..]] {
                    let found = check(&catalog, ImportMode::Lenient, files, &request, None).unwrap();
                    assert_eq!(found.report.errors.len(), errors * files.len(), "{number}");
                    let found: Vec<(&str, u64, u64)> = found
                        .report
                        .notes
                        .iter()
                        .map(|note| (note.path.as_str(), note.count, note.line))
                        .collect();
                    let expected: Vec<(&str, u64, u64)> = notes
                        .iter()
                        .map(|(path, count, line)| (*path, count * files.len() as u64, *line))
                        .collect();
                    assert_eq!(found, expected, "{number}");
                }
            }
        }
    }
}

#[test]
fn damaged_files_need_an_import() {
    let catalog = Catalog::cases();
    let request = SearchRequest::new(Filter::all(&catalog));
    let lines: Vec<String> = (0..100).map(|at| line(at, at)).collect();
    let whole = FORM.file(&catalog, &lines);
    for length in [0, 1, 8, 100, whole.len() / 2, whole.len() - 1] {
        check(&catalog, ImportMode::Strict, &[whole.slice(..length)], &request, None);
    }
    let scan = |file: Bytes| {
        let scan = Scan::new(&catalog, &Limits::default(), ImportMode::Strict, &request).unwrap();
        match scan.read_parquet(file) {
            Err(ScanError::ImportNeeded(_)) => Ok(None),
            found => found.map(Some),
        }
    };
    for at in (0..whole.len()).step_by(13) {
        let mut bytes = whole.to_vec();
        bytes[at] ^= 0x55;
        // No panic, and no error.
        assert!(scan(bytes.into()).is_ok());
    }
}
