//! Tests that a scan skips the parts of a file that have no selected case.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use casefilter::{Catalog, Facet, FacetsRequest, Filter, ImportMode, Limits, Order, Scan, SearchRequest};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;

use crate::careless;
use crate::compare::{by_engine, by_scan, check};
use crate::form::{FORM, Form, line};

/// Returns true if a scan of `file` that has read `bytes` bytes has read more than the footer. The footer is read twice.
fn has_read_columns(file: &Bytes, bytes: u64) -> bool {
    let (_, tail) = file.split_last_chunk::<8>().unwrap();
    let footer = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    bytes > 2 * (u64::from(footer) + 8)
}

#[test]
fn row_groups_without_selected_cases_are_skipped() {
    let catalog = Catalog::cases();
    let lines: Vec<String> = (0..1000)
        .map(|at| {
            format!(
                "{{\"id\":\"{at:04}\",\"totalAmountInDefaultCurrency\":{at},\"createdAt\":\"2026-01-01 {:02}:{:02}:00+0000\",\"amlCases\":[{{\"amlCaseId\":\"c{at:04}\"}}]}}",
                at / 60,
                at % 60
            )
        })
        .collect();
    let file = FORM.file(&catalog, &lines);
    let bare = Form { has_statistics: false, has_dictionaries: false, ..FORM }.file(&catalog, &lines);
    let marked = Form { is_marked: true, ..FORM }.file(&catalog, &lines);
    for (filter, tested) in [
        ("true", 10),
        ("totalAmountInDefaultCurrency > 949", 1),
        ("totalAmountInDefaultCurrency in (1, 555)", 2),
        ("not totalAmountInDefaultCurrency > 949", 10),
        ("id = 0333", 1),
        ("id in (0333, 0777) and totalAmountInDefaultCurrency < 500", 1),
        ("id = 0333 or totalAmountInDefaultCurrency < 150", 3),
        ("id = 0333 and name = x", 0),
        ("id = 0333 and name is absent", 1),
        ("createdAt >= \"2026-01-01 15:00:00\"", 1),
        ("amlCases.amlCaseId = c0001", 1),
        // By the dictionaries of the ids.
        ("id starts with 03", 1),
    ] {
        let filter = Filter::compile_text(&catalog, filter).unwrap();
        let request = SearchRequest::new(filter.clone()).with_order(Order::parse(&catalog, "-id").unwrap());
        let found = check(&catalog, ImportMode::Strict, std::slice::from_ref(&file), &request, None).unwrap();
        let groups = found.row_groups.unwrap();
        assert_eq!((groups.tested, groups.skipped), (tested, 10 - tested), "{filter}");
        let found = check(&catalog, ImportMode::Strict, std::slice::from_ref(&bare), &request, None).unwrap();
        assert_eq!(found.row_groups.unwrap().skipped, 0);
        let found =
            check(&catalog, ImportMode::Strict, std::slice::from_ref(&marked), &request, None).unwrap();
        let groups = found.row_groups.unwrap();
        assert_eq!((groups.tested, groups.skipped), (tested, 10 - tested), "{filter}");
        assert_eq!(has_read_columns(&marked, found.bytes), tested > 0, "{filter}");
        let counts = FacetsRequest::new(filter).with_facet(Facet::values(&catalog, "id").unwrap());
        check(&catalog, ImportMode::Strict, std::slice::from_ref(&file), &request, Some(&counts)).unwrap();
    }
}

#[test]
fn row_groups_whose_dictionaries_have_no_selected_text_are_skipped() {
    let catalog = Catalog::cases();
    // In each row group, the least and the greatest texts are the same.
    let lines: Vec<String> = (0..1000)
        .map(|at| {
            let text = ["a".to_owned(), format!("m{}", at / 100), "z".to_owned()][at % 3].clone();
            format!("{{\"id\":\"{at:04}\",\"name\":\"{text}\",\"tags\":[\"{text}\",\"b\"]}}")
        })
        .collect();
    let file = FORM.file(&catalog, &lines);
    let bare = Form { has_statistics: false, ..FORM }.file(&catalog, &lines);
    let plain = Form { has_dictionaries: false, ..FORM }.file(&catalog, &lines);
    for (filter, tested) in [
        ("name = m3", 1),
        ("name in (m3, m5)", 2),
        ("name includes m7", 1),
        ("tags = m4", 1),
        ("tags = m4 or name = m6", 2),
        ("name = m4 and tags = m6", 0),
        ("name = q", 0),
        ("name = a", 10),
        ("name <> m3", 10),
        ("name is absent", 10),
    ] {
        let filter = Filter::compile_text(&catalog, filter).unwrap();
        let request = SearchRequest::new(filter.clone()).with_order(Order::parse(&catalog, "-id").unwrap());
        for file in [&file, &bare, &plain] {
            let found =
                check(&catalog, ImportMode::Strict, std::slice::from_ref(file), &request, None).unwrap();
            let groups = found.row_groups.unwrap();
            let tested = if std::ptr::eq(file, &plain) { 10 } else { tested };
            assert_eq!((groups.tested, groups.skipped), (tested, 10 - tested), "{filter}");
        }
    }
}

#[test]
fn pages_without_selected_cases_are_skipped() {
    let catalog = Catalog::cases();
    let lines: Vec<String> = (0..3000)
        .map(|at| {
            format!(
                "{{\"id\":\"{at:04}\",\"totalAmountInDefaultCurrency\":{at},\"tags\":[\"t{}\"]}}",
                at / 100
            )
        })
        .collect();
    // Each row group has three pages of 500 rows, for all columns.
    let form = Form { group_rows: 1500, ..FORM };
    let file = form.file(&catalog, &lines);
    let bare = Form { has_statistics: false, ..form }.file(&catalog, &lines);
    for (filter, excluded) in [
        ("true", 0),
        ("totalAmountInDefaultCurrency > 2700", 1000),
        ("totalAmountInDefaultCurrency in (1, 2700)", 2000),
        ("totalAmountInDefaultCurrency < 600 and tags in (t0, t2)", 500),
        ("totalAmountInDefaultCurrency = 1 or tags = t29", 0),
        ("not totalAmountInDefaultCurrency > 2700", 0),
        ("id = 0333", 1000),
        ("tags is absent", 0),
        ("tags is present and id in (0333, 0700)", 500),
    ] {
        let filter = Filter::compile_text(&catalog, filter).unwrap();
        for order in ["-id", "tags", ""] {
            let Ok(order) = Order::parse(&catalog, order) else { continue };
            let request = SearchRequest::new(filter.clone()).with_order(order).with_count(true);
            for (file, excluded) in [(&file, excluded), (&bare, 0)] {
                let scan = check(&catalog, ImportMode::Strict, std::slice::from_ref(file), &request, None);
                assert_eq!(scan.unwrap().row_groups.unwrap().excluded_rows, excluded, "{filter:?}");
            }
        }
    }
    // Ids are looked for in all pages.
    let filter = Filter::compile_text(&catalog, "totalAmountInDefaultCurrency > 2700").unwrap();
    let scan =
        Scan::new(&catalog, &Limits::default(), ImportMode::Strict, &SearchRequest::new(filter)).unwrap();
    let found = scan.seek_ids(["0001", "2100", "x"]).read_parquet(file).unwrap();
    assert_eq!((found.documents, found.unknown_ids), (3000, vec!["x".to_owned()]));
}

/// With positions of such pages, a reader takes the end of a list for the list of the next row.
#[test]
fn lists_whose_pages_begin_within_a_row_are_read_from_their_start() {
    let catalog = Catalog::cases();
    let file = careless::file("parquet-go version 18.0.0");
    let (engine, _) = by_engine(&catalog, ImportMode::Strict, std::slice::from_ref(&file)).unwrap();
    let count = |filter: &str| engine.count(&Filter::compile_text(&catalog, filter).unwrap()).unwrap();
    // Row 500 has the list 500 and the list 501, which begins the second page.
    assert_eq!(count("id = 0500 and tags = t000 and tags = t010 and tags = t011"), 1);
    assert_eq!(count("id = 0501 and tags = t020 and not tags = t010"), 1);
    for filter in [
        "totalAmountInDefaultCurrency > 2700",
        "totalAmountInDefaultCurrency > 2700 and tags = t101",
        "totalAmountInDefaultCurrency in (700, 1600) and tags in (t000, t101, t220)",
        "totalAmountInDefaultCurrency < 600 and not tags = t111",
    ] {
        let filter = Filter::compile_text(&catalog, filter).unwrap();
        let facet = FacetsRequest::new(filter.clone()).with_facet(Facet::parse(&catalog, "tags").unwrap());
        for counts in [None, Some(&facet)] {
            let request = SearchRequest::new(filter.clone()).with_limit(1000).with_count(true);
            let scan = check(&catalog, ImportMode::Strict, std::slice::from_ref(&file), &request, counts);
            assert!(
                scan.unwrap().row_groups.unwrap().excluded_rows >= 1000 || counts.is_some(),
                "{filter:?}"
            );
        }
    }
}

#[test]
fn files_with_a_mark_are_checked_again_if_another_program_has_rewritten_them() {
    let catalog = Catalog::cases();
    let lines: Vec<String> = (0..500).map(|at| line(at, at)).collect();
    let marked = Form { is_marked: true, ..FORM }.file(&catalog, &lines);
    let of = |files: &[Bytes], catalog: &Catalog| {
        let all = SearchRequest::new(Filter::all(catalog)).with_limit(0).with_count(true);
        let scan = Scan::new(catalog, &Limits::default(), ImportMode::Strict, &all).unwrap();
        let found = by_scan(scan, files).unwrap();
        found.map(|found| (found.selected, has_read_columns(&files[0], found.bytes)))
    };
    assert_eq!(of(std::slice::from_ref(&marked), &catalog), Some((500, false)));
    // Two files may have the same ids.
    assert_eq!(of(&[marked.clone(), marked.clone()], &catalog).map(|(selected, _)| selected), Some(500));
    // Another catalogue has other rules for values.
    let other = catalog.allow(["name", "tags"]).unwrap();
    assert_eq!(of(std::slice::from_ref(&marked), &other), Some((500, true)));
    // A program that appends rows and copies the metadata.
    let reader = ParquetRecordBatchReaderBuilder::try_new(marked).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().cloned();
    assert!(
        metadata
            .as_ref()
            .is_some_and(|members| members.iter().any(|member| member.key == "casefilter.cases"))
    );
    let schema = Arc::clone(reader.schema());
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let rewritten = |times: usize| {
        let properties = WriterProperties::builder().set_key_value_metadata(metadata.clone()).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties)).unwrap();
        (0..times).flat_map(|_| &batches).for_each(|batch| writer.write(batch).unwrap());
        Bytes::from(writer.into_inner().unwrap())
    };
    assert_eq!(of(&[rewritten(1)], &catalog), Some((500, true)));
    assert_eq!(of(&[rewritten(2)], &catalog).map(|(selected, _)| selected), Some(500));
}

/// The ids of a file with a mark are not read to count values.
#[test]
fn values_of_marked_files_are_counted_without_ids() {
    let catalog = Catalog::cases();
    let lines: Vec<String> = (0..300).map(|at| line(at, at)).collect();
    let file = Form { is_marked: true, ..FORM }.file(&catalog, &lines);
    let filter = Filter::compile_text(&catalog, "totalAmountInDefaultCurrency > 100").unwrap();
    let request = SearchRequest::new(filter.clone()).with_limit(0).with_count(true);
    let counts = FacetsRequest::new(filter).with_facets([Facet::parse(&catalog, "tags").unwrap()]);
    let scan = check(&catalog, ImportMode::Strict, std::slice::from_ref(&file), &request, Some(&counts));
    assert_eq!(scan.unwrap().facets.unwrap().total, 199);
}
