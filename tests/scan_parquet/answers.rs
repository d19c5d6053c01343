//! Tests pages, repeated ids, and parts of row groups.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, ListArray, StringArray, TimestampMillisecondArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field as ArrowField};
use bytes::Bytes;
use casefilter::arrow::ParquetWriter;
use casefilter::{
    CancelToken, Catalog, ErrorKind, Facet, FacetsRequest, Filter, ImportMode, Limits, Order, Scan,
    ScanError, SearchRequest,
};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::compare::check;
use crate::form::{FORM, Form, line};

#[test]
fn pages_of_all_orders_are_those_of_an_engine() {
    let catalog = Catalog::cases();
    let lines: Vec<String> = (0..1000).map(|at| line(at, at * 7 % 100)).collect();
    let files = [FORM.file(&catalog, &lines[..433]), FORM.file(&catalog, &lines[433..])];
    for filter in ["true", "tags = t1", "totalAmountInDefaultCurrency > 90", "false", "id = 7"] {
        let filter = Filter::compile_text(&catalog, filter).unwrap();
        for order in ["", "totalAmountInDefaultCurrency", "-totalAmountInDefaultCurrency", "-id", "name,-id"]
        {
            let order = Order::parse_list(&catalog, order).unwrap();
            for (offset, limit) in [(0, 3), (2, 2), (0, 0), (0, 100), (100, 3), (990, 20)] {
                let request = SearchRequest::new(filter.clone()).with_order(order.clone());
                let mut request = request
                    .with_offset(offset)
                    .with_limit(limit)
                    .with_count(limit != 2)
                    .with_cursor(limit == 2);
                for _ in 0..4 {
                    let found = check(&catalog, ImportMode::Strict, &files, &request, None).unwrap();
                    let Some(next) = found.answer.next() else { break };
                    request = request.with_after(next.clone()).with_offset(0);
                }
            }
        }
    }
}

#[test]
fn the_last_case_of_a_repeated_id_replaces_the_earlier_ones() {
    let catalog = Catalog::cases();
    let amounts = |ids: &mut dyn Iterator<Item = i64>, amount: fn(i64) -> i64| -> Vec<String> {
        ids.map(|id| line(id, amount(id))).collect()
    };
    let first = FORM.file(&catalog, &amounts(&mut (0..200), |id| id));
    // The same ids, some with other amounts and tags. Some row groups are skipped by their statistics.
    let second =
        FORM.file(&catalog, &amounts(&mut (0..200).rev(), |id| if id % 7 == 0 { 1000 - id } else { id }));
    let third = FORM.file(&catalog, &amounts(&mut (0..300).step_by(3), |id| id + 1));
    let twice = FORM.file(&catalog, &[amounts(&mut (0..150), |id| id), vec![line(7, 3)]].concat());
    let amount = "totalAmountInDefaultCurrency";
    for files in [
        vec![first.clone(), second.clone()],
        vec![second, first.clone()],
        vec![first.clone(), third.clone(), first.clone()],
        vec![twice.clone()],
        vec![third, twice, first],
    ] {
        for filter in
            ["true".to_owned(), "tags = t1".to_owned(), format!("{amount} > 180"), format!("{amount} < 20")]
        {
            let filter = Filter::compile_text(&catalog, &filter).unwrap();
            let counts = FacetsRequest::new(filter.clone()).with_facets(
                ["tags", &format!("{amount}:stats")].map(|facet| Facet::parse(&catalog, facet).unwrap()),
            );
            for order in ["", amount, "-totalAmountInDefaultCurrency", "-id"] {
                let order = Order::parse_list(&catalog, order).unwrap();
                let mut request = SearchRequest::new(filter.clone())
                    .with_order(order)
                    .with_count(true)
                    .with_limit(7)
                    .with_cursor(true);
                for counts in [None, Some(&counts), None] {
                    let found = check(&catalog, ImportMode::Strict, &files, &request, counts).unwrap();
                    assert!(found.report.replaced > 0);
                    let Some(next) = found.answer.next() else { break };
                    request = request.with_after(next.clone());
                }
            }
        }
    }
}

/// Threads read parts of a large row group at the same time.
#[test]
fn large_row_groups_are_read_in_parts() {
    let catalog = Catalog::cases();
    let rows = 70_000;
    let ids = |repeated: Option<usize>| -> ArrayRef {
        let id = |at: usize| if Some(at) == repeated { "7".to_owned() } else { at.to_string() };
        Arc::new((0..rows).map(|at| Some(id(at))).collect::<StringArray>())
    };
    let amounts: ArrayRef =
        Arc::new((0..rows).map(|at| Some((at * 7919 % rows) as f64)).collect::<Float64Array>());
    // The first value is in the last part.
    let created: ArrayRef = Arc::new(
        (0..rows).map(|at| (at > 60_000).then_some(at as i64)).collect::<TimestampMillisecondArray>(),
    );
    let offsets = OffsetBuffer::<i32>::from_lengths((0..rows).map(|at| at % 3));
    let tags = StringArray::from_iter_values((0..offsets.last()).map(|at| format!("t{}", at % 5)));
    let element = Arc::new(ArrowField::new_list_field(DataType::Utf8, true));
    let tags: ArrayRef = Arc::new(ListArray::new(element, offsets, Arc::new(tags), None));
    let file = |repeated: Option<usize>| {
        let amount = "totalAmountInDefaultCurrency";
        let columns = [
            ("id", ids(repeated)),
            (amount, amounts.clone()),
            ("createdAt", created.clone()),
            ("tags", tags.clone()),
        ];
        Form { group_rows: rows, ..FORM }.write(&[crate::form::columns(columns)])
    };
    let (unique, twice) = (file(None), file(Some(65_000)));
    for (file, documents) in [(&unique, rows), (&twice, rows - 1)] {
        for (filter, order, limit) in [
            ("tags = t1 and totalAmountInDefaultCurrency < 5000", "-totalAmountInDefaultCurrency", 5),
            ("createdAt is present", "", 3),
            ("true", "-createdAt", 9),
        ] {
            let filter = Filter::compile_text(&catalog, filter).unwrap();
            let counts =
                FacetsRequest::new(filter.clone()).with_facet(Facet::parse(&catalog, "tags").unwrap());
            let request = SearchRequest::new(filter)
                .with_order(Order::parse_list(&catalog, order).unwrap())
                .with_limit(limit)
                .with_count(true)
                .with_cursor(true);
            let found =
                check(&catalog, ImportMode::Strict, std::slice::from_ref(file), &request, Some(&counts))
                    .unwrap();
            assert_eq!(found.documents, documents as u64);
            let notes: Vec<(u64, u64)> =
                found.report.notes.iter().map(|note| (note.count, note.line)).collect();
            assert_eq!(notes, [(rows as u64 - 60_001, 60_002)]);
        }
    }
}

/// Other writers add a row group for an empty batch.
#[test]
fn empty_row_groups_have_no_cases() {
    let catalog = Catalog::cases();
    let schema = Arc::new(parse_message_type("message cases { optional binary id (UTF8); }").unwrap());
    let request = SearchRequest::new(Filter::all(&catalog)).with_count(true);
    for groups in [&["a", ""][..], &["", "a"], &["", ""], &["a", "", "b"]] {
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::clone(&schema), Arc::default()).unwrap();
        for id in groups {
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let values: Vec<ByteArray> =
                Some(*id).filter(|id| !id.is_empty()).map(ByteArray::from).into_iter().collect();
            let levels = vec![1; values.len()];
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        let file = Bytes::from(writer.into_inner().unwrap());
        let found = check(&catalog, ImportMode::Strict, &[file], &request, None).unwrap();
        assert_eq!(found.documents, groups.iter().filter(|id| !id.is_empty()).count() as u64);
    }
}

#[test]
fn scans_stop_and_find_unknown_ids() {
    let catalog = Catalog::cases();
    let mut writer = ParquetWriter::new(Vec::new(), &catalog, None).unwrap();
    (0..20_000).for_each(|at| writer.push(&line(at, at)).unwrap());
    let file = Bytes::from(writer.finish().unwrap());
    let token = CancelToken::new();
    let request = SearchRequest::new(Filter::all(&catalog)).with_cancel(token.clone());
    let scan = || Scan::new(&catalog, &Limits::default(), ImportMode::Strict, &request).unwrap();
    let found = scan().seek_ids(["7", "x", "19999"]).read_parquet(file.clone()).unwrap();
    assert_eq!((found.documents, found.unknown_ids), (20_000, vec!["x".to_owned()]));
    assert!(found.bytes > 0);
    token.cancel();
    match scan().read_parquet(file) {
        Err(ScanError::Search(error)) => assert_eq!(error.kind, ErrorKind::SearchCancelled),
        other => panic!("{other:?}"),
    }
}
