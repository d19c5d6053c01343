//! Tests that a scan of Parquet files gives the answer and the report of an engine that has imported the same files.

#[expect(dead_code, reason = "of the worlds, what is checked in them is checked elsewhere")]
mod world;

#[path = "parquet/careless.rs"]
mod careless;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, TimestampMillisecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field as ArrowField};
use bytes::Bytes;
use casefilter::arrow::{DocumentEncoder, ParquetWriter};
use casefilter::{
    CancelToken, Catalog, Engine, ErrorKind, Facet, FacetsRequest, Filter, FilterBuilder, ImportError,
    ImportMode, ImportReport, Limits, Order, Scan, ScanAnswer, ScanError, ScanOutcome, SearchAnswer,
    SearchParams, SearchRequest,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use world::choices::Choices;
use world::generate::{Size, World};

const MODES: [ImportMode; 2] = [ImportMode::Strict, ImportMode::Lenient];

/// Gives each file its own name.
fn named(files: &[Bytes]) -> impl Iterator<Item = (String, Bytes)> {
    files.iter().enumerate().map(|(number, file)| (format!("file {number}"), file.clone()))
}

fn is_parquet(file: &Bytes) -> bool {
    file.starts_with(b"PAR1")
}

/// Scans Parquet files and NDJSON files. Returns `None` if a file needs an import.
fn by_scan(mut scan: Scan, files: &[Bytes]) -> Result<Option<ScanAnswer>, ScanError> {
    loop {
        let read = named(files).try_for_each(|(name, file)| {
            if is_parquet(&file) {
                return scan.parquet(&name, file);
            }
            scan.begin_source(&name)?;
            file.chunks(1000).try_for_each(|chunk| scan.push(chunk))
        });
        match read.and_then(|()| scan.finish()) {
            Ok(ScanOutcome::Answer(answer)) => return Ok(Some(answer)),
            Ok(ScanOutcome::ReadAgain(again)) => scan = again,
            Err(ScanError::ImportNeeded(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

fn by_engine(
    catalog: &Catalog,
    mode: ImportMode,
    files: &[Bytes],
) -> Result<(Engine, ImportReport), ImportError> {
    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(mode);
    for (name, file) in named(files) {
        if is_parquet(&file) {
            import.parquet(&name, file)?;
        } else {
            import.begin_source(&name)?;
            import.push(&file)?;
        }
    }
    let report = import.commit()?;
    Ok((engine, report))
}

/// Returns all parts of an answer but the number of examined rows.
fn parts(answer: &SearchAnswer) -> (Vec<&str>, Vec<&str>, Option<u64>, Option<String>, String) {
    let next = answer.next().map(ToString::to_string);
    (answer.ids().collect(), answer.documents().collect(), answer.total(), next, answer.to_json())
}

/// Checks a scan against an engine. Returns the answer of the scan, if there is one.
#[track_caller]
fn check(
    catalog: &Catalog,
    mode: ImportMode,
    files: &[Bytes],
    request: &SearchRequest,
    counts: Option<&FacetsRequest>,
) -> Option<ScanAnswer> {
    let scan = || {
        let scan = Scan::new(catalog, &Limits::default(), mode, request).unwrap();
        match counts {
            Some(counts) => scan.with_facets(counts).unwrap(),
            None => scan,
        }
    };
    let scanned = by_scan(scan(), files);
    if files.len() > 1 {
        let several = by_scan(scan().with_several_sources(), files);
        let parts_of = |scanned: &Result<Option<ScanAnswer>, ScanError>| match scanned {
            Ok(Some(found)) => format!("{:?}", (parts(&found.answer), &found.report, &found.facets)),
            other => format!("{other:?}"),
        };
        assert_eq!(parts_of(&several), parts_of(&scanned));
    }
    let (engine, report) = match by_engine(catalog, mode, files) {
        Ok(loaded) => loaded,
        Err(refusal) => {
            match scanned {
                Ok(None) => {}
                Err(ScanError::Refused(own)) => assert_eq!(own.to_string(), refusal.to_string()),
                scanned => panic!("{scanned:?}, but an import fails: {refusal}"),
            }
            return None;
        }
    };
    let expected = match counts {
        None => engine.search(request).map(|answer| (answer, None)),
        Some(counts) => {
            engine.search_with_facets(request, counts).map(|(answer, counts)| (answer, Some(counts)))
        }
    };
    let is_accepted = report.skipped == 0 && report.errors.iter().all(|error| error.line == 0);
    match (scanned, expected) {
        (Ok(Some(own)), Ok((answer, counts))) => {
            assert_eq!(parts(&own.answer), parts(&answer), "{request:?}");
            assert_eq!(own.facets, counts);
            assert_eq!(own.report, report);
            assert_eq!(own.documents, engine.len() as u64);
            assert_eq!(own.selected, engine.count(&request.filter).unwrap());
            Some(own)
        }
        (Ok(None), _) => {
            assert!(!is_accepted, "an import has no error of a case to report");
            None
        }
        (Err(ScanError::Search(own)), Err(expected)) => {
            assert_eq!(own, expected);
            None
        }
        (own, expected) => panic!("{own:?}, expected {expected:?}"),
    }
}

/// The properties of the files of a test.
#[derive(Clone, Copy)]
struct Form {
    group_rows: usize,
    is_flat: bool,
    has_statistics: bool,
    has_dictionaries: bool,
    /// True if the file has the mark of this library, unless an id is repeated. Such a file has its own properties.
    is_marked: bool,
    /// True if timestamps have no time zone.
    is_local: bool,
    /// True if the file has columns that are no fields, but look like fields.
    has_strays: bool,
}

impl Form {
    fn any(choices: &mut Choices<'_>, documents: usize) -> Self {
        Self {
            group_rows: [1, 2, 3, 7, 50, 100_000][choices.below(6)].max(documents / 20),
            is_flat: choices.chance(1, 3),
            has_statistics: choices.chance(2, 3),
            has_dictionaries: choices.chance(1, 2),
            is_marked: choices.chance(1, 2),
            is_local: choices.chance(1, 3),
            has_strays: choices.chance(1, 3),
        }
    }

    fn write(self, batches: &[RecordBatch]) -> Bytes {
        let statistics = if self.has_statistics { EnabledStatistics::Page } else { EnabledStatistics::None };
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(self.group_rows))
            .set_data_page_row_count_limit(self.group_rows.div_ceil(3))
            .set_write_batch_size(2)
            .set_statistics_enabled(statistics)
            .set_offset_index_disabled(!self.has_statistics)
            .set_dictionary_enabled(self.has_dictionaries)
            .build();
        let schema = batches[0].schema();
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        Bytes::from(writer.into_inner().unwrap())
    }

    /// Writes documents. Documents that are no JSON objects are left out.
    fn file(self, catalog: &Catalog, documents: &[String]) -> Bytes {
        if self.is_marked {
            let plain = Self { is_marked: false, is_local: false, has_strays: false, ..self };
            if has_repeated_ids(catalog, &plain.file(catalog, documents)) {
                return Self { is_marked: false, ..self }.file(catalog, documents);
            }
            let writer = ParquetWriter::new(Vec::new(), catalog, None).unwrap();
            let mut writer = writer.with_unique_ids(catalog).with_group_rows(self.group_rows);
            for document in documents {
                let _ = writer.push(document);
            }
            return writer.finish().unwrap().into();
        }
        let mut encoder = DocumentEncoder::new(catalog);
        let mut batches = Vec::new();
        for document in documents {
            let _ = encoder.push(document);
            if encoder.len() >= 1000 {
                batches.push(encoder.finish());
            }
        }
        batches.push(encoder.finish());
        if self.is_flat {
            batches = batches.iter().map(flat).collect();
        }
        if self.is_local {
            batches = batches.iter().map(without_zones).collect();
        }
        if self.has_strays {
            batches = batches.iter().map(with_strays).collect();
        }
        self.write(&batches)
    }
}

fn has_repeated_ids(catalog: &Catalog, file: &Bytes) -> bool {
    let (_, report) = by_engine(catalog, ImportMode::Lenient, std::slice::from_ref(file)).unwrap();
    report.replaced > 0
}

/// Returns true if a scan of a file that read this number of bytes read more than the footer, which is read twice.
fn has_read_columns(file: &Bytes, bytes: u64) -> bool {
    let (_, tail) = file.split_last_chunk::<8>().unwrap();
    let footer = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    bytes > 2 * (u64::from(footer) + 8)
}

/// Returns the same cases with timestamps that have no time zone.
fn without_zones(batch: &RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    RecordBatch::try_from_iter_with_nullable(
        columns.map(|(field, column)| (field.name(), without_zone(column), true)),
    )
    .unwrap()
}

fn without_zone(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Timestamp(..) => {
            let local =
                column.as_primitive::<TimestampMillisecondType>().clone().with_timezone_opt(None::<&str>);
            Arc::new(local)
        }
        DataType::Struct(members) => {
            let columns: Vec<ArrayRef> = column.as_struct().columns().iter().map(without_zone).collect();
            let members = members.iter().zip(&columns);
            let members =
                members.map(|(member, own)| ArrowField::new(member.name(), own.data_type().clone(), true));
            Arc::new(StructArray::new(members.collect(), columns.clone(), column.nulls().cloned()))
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let values = without_zone(list.values());
            let element = Arc::new(ArrowField::new_list_field(values.data_type().clone(), true));
            Arc::new(ListArray::new(element, list.offsets().clone(), values, list.nulls().cloned()))
        }
        _ => Arc::clone(column),
    }
}

/// Adds columns whose names are those of fields in other case. They have values in some rows.
fn with_strays(batch: &RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    let known: Vec<String> = schema.fields().iter().map(|field| field.name().to_lowercase()).collect();
    let mut columns: Vec<(String, ArrayRef)> = schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .zip(batch.columns().iter().cloned())
        .collect();
    for (number, name) in
        known.iter().enumerate().filter(|(number, name)| number % 3 == 1 && !name.contains('.'))
    {
        let values = (0..batch.num_rows()).map(|row| ((row * 7 + number) % 3 == 0).then_some("x"));
        columns.push((name.to_uppercase(), Arc::new(values.collect::<StringArray>())));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Returns the same cases with one column for each leaf.
fn flat(batch: &RecordBatch) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    let schema = batch.schema();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        flatten(field.name().clone(), column, &mut columns);
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn flatten(name: String, column: &ArrayRef, columns: &mut Vec<(String, ArrayRef)>) {
    match column.data_type() {
        DataType::Struct(members) => {
            for (member, child) in members.iter().zip(column.as_struct().columns()) {
                flatten(format!("{name}.{}", member.name()), child, columns);
            }
        }
        DataType::List(element) => match element.data_type() {
            DataType::Struct(members) => {
                let list = column.as_list::<i32>();
                let children = list.values().as_struct().columns().iter();
                // A list of structs with lists stays as it is: each lane has one level.
                if members.iter().any(|member| member.data_type().is_nested()) {
                    columns.push((name, Arc::clone(column)));
                    return;
                }
                for (member, child) in members.iter().zip(children) {
                    let element = Arc::new(ArrowField::new_list_field(member.data_type().clone(), true));
                    let lane = ListArray::new(
                        element,
                        list.offsets().clone(),
                        Arc::clone(child),
                        list.nulls().cloned(),
                    );
                    columns.push((format!("{name}.{}", member.name()), Arc::new(lane)));
                }
            }
            _ => columns.push((name, Arc::clone(column))),
        },
        _ => columns.push((name, Arc::clone(column))),
    }
}

fn facets(catalog: &Catalog, choices: &mut Choices<'_>) -> Vec<Facet> {
    const FORMS: [&str; 8] =
        ["", ":limit=1", ":stats", ":month", ":width=10", ":edges=0", ":edges=-1,0,9", ":hour"];
    let mut facets = Vec::new();
    for field in catalog.fields() {
        let form = FORMS[choices.below(FORMS.len())];
        if let Ok(facet) = Facet::parse(catalog, &format!("{}{form}", field.name()))
            && choices.chance(1, 3)
        {
            facets.push(facet.with_own_criteria_apart(choices.chance(1, 2)));
        }
    }
    facets.truncate(Limits::default().facets);
    facets
}

/// Returns the documents on whose rows an import has nothing to report.
fn plain_documents(world: &World) -> Vec<String> {
    let engine = Engine::new(world.catalog.clone());
    let is_plain = |document: &&String| {
        let mut import = engine.import(ImportMode::Strict);
        let report = import.push(document.as_bytes()).and_then(|()| import.commit());
        report.is_ok_and(|report| report.stored == 1)
    };
    world.documents.iter().filter(is_plain).cloned().collect()
}

/// Returns the number of answers of scans, and the number of those with notes.
fn check_world(world: &World, choices: &mut Choices<'_>) -> (usize, usize) {
    let plain = if choices.chance(3, 4) { Some(plain_documents(world)) } else { None };
    let documents = plain.as_ref().unwrap_or(&world.documents);
    let (first, second) = documents.split_at(choices.below(documents.len() + 1));
    let parts = if choices.chance(1, 2) { vec![first, second] } else { vec![documents.as_slice()] };
    let mut file = |part: &&[String]| {
        let is_text = choices.chance(1, 4);
        if is_text {
            part.join("\n").into()
        } else {
            Form::any(choices, part.len()).file(&world.catalog, part)
        }
    };
    let files: Vec<Bytes> = parts.iter().map(&mut file).collect();
    let (mut answers, mut noted) = (0, 0);
    for query in &world.requests {
        let params = SearchParams::new()
            .order(query.params.order.as_deref())
            .offset(query.params.offset.as_deref())
            .limit(query.params.limit.as_deref())
            .count(query.params.count.as_deref());
        let Ok(request) =
            FilterBuilder::new(&query.catalog).request(query.body.to_string().as_bytes(), &params)
        else {
            continue;
        };
        let counts = FacetsRequest::new(request.filter.clone()).with_facets(facets(&query.catalog, choices));
        let mode = MODES[choices.below(2)];
        check(&world.catalog, mode, &files, &request, Some(&counts));
        let mut request = request.with_cursor(choices.chance(1, 2));
        if choices.chance(1, 3) {
            request = request.with_limit(1).with_offset(0).with_cursor(true);
        }
        for _ in 0..4 {
            let Some(found) = check(&world.catalog, mode, &files, &request, None) else { break };
            answers += 1;
            noted += usize::from(!found.report.notes.is_empty());
            let Some(next) = found.answer.next() else { break };
            request = request.with_after(next.clone()).with_offset(0);
        }
    }
    (answers, noted)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scans_and_engines_agree_in_small_worlds(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut choices = Choices::new(&bytes);
        let world = World::small(&mut choices);
        check_world(&world, &mut choices);
    }

    #[test]
    fn scans_and_engines_agree_in_full_worlds(seed in any::<u64>()) {
        let mut choices = Choices::seeded(seed);
        let world = World::small(&mut choices);
        check_world(&world, &mut choices);
    }
}

#[test]
fn scans_and_engines_agree_on_many_documents() {
    let (mut answers, mut noted) = (0, 0);
    let mut add = |(own, own_noted)| {
        answers += own;
        noted += own_noted;
    };
    for seed in 0..4 {
        let mut choices = Choices::seeded(seed);
        let size = Size { documents: 2000, requests: 5, repeats: false, faults: false };
        let world = World::new(&mut choices, size);
        add(check_world(&world, &mut choices));
    }
    for seed in 0..20 {
        let mut choices = Choices::seeded(seed);
        let world = World::small(&mut choices);
        add(check_world(&world, &mut choices));
    }
    assert!(answers > 50 && noted > 10, "{answers} answers, {noted} with notes");
}

fn line(id: impl std::fmt::Display, amount: i64) -> String {
    format!("{{\"id\":\"{id}\",\"totalAmountInDefaultCurrency\":{amount},\"tags\":[\"t{}\"]}}", amount % 3)
}

const FORM: Form = Form {
    group_rows: 100,
    is_flat: false,
    has_statistics: true,
    has_dictionaries: true,
    is_marked: false,
    is_local: false,
    has_strays: false,
};

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
        Form { group_rows: rows, ..FORM }.write(&[self::columns(columns)])
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

fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

fn texts<const N: usize>(texts: [Option<&str>; N]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

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

/// A lenient scan reports columns that are left out, and notes members.
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
        // A struct is present if it is not null, and an array if it is not null.
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
