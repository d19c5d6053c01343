//! Tests Parquet files: they must give the same answers as the same cases in JSON, and no file may cause a panic.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, NullArray, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampSecondArray,
};
use arrow_json::ReaderBuilder;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use bytes::Bytes;
use casefilter::{
    Catalog, Engine, ErrorKind, FieldType, Filter, FilterBuilder, ImportError, ImportMode, ImportReport,
    Limits, SearchParams, SearchRequest,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::Value;

fn data(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

fn parquet(batch: &RecordBatch) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(300))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50);
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    Bytes::from(writer.into_inner().unwrap())
}

fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

fn strings<const N: usize>(texts: [&str; N]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

fn load(mode: ImportMode, file: Bytes) -> Result<(Engine, ImportReport), ImportError> {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(mode);
    import.parquet("a file", file)?;
    let report = import.commit()?;
    engine.validate().unwrap();
    Ok((engine, report))
}

fn documents(engine: &Engine) -> Vec<String> {
    let all = SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000);
    engine.search(&all).unwrap().documents().map(str::to_owned).collect()
}

fn field_of(path: &[&str], kind: &DataType) -> Field {
    let name = path[0].trim_end_matches("[]");
    let kind = match &path[1..] {
        [] => kind.clone(),
        rest => DataType::Struct([Arc::new(field_of(rest, kind))].into_iter().collect()),
    };
    match path[0].ends_with("[]") {
        true => Field::new_list(name, Field::new_list_field(kind, true), true),
        false => Field::new(name, kind, true),
    }
}

/// Merges two types: the result has the members of both.
fn joined(a: &DataType, b: &DataType) -> DataType {
    match (a, b) {
        (DataType::Struct(a), DataType::Struct(b)) => {
            let mut fields = a.to_vec();
            for new in b {
                match fields.iter_mut().find(|field| field.name() == new.name()) {
                    Some(field) => {
                        let kind = joined(field.data_type(), new.data_type());
                        *field = Arc::new(field.as_ref().clone().with_data_type(kind));
                    }
                    None => fields.push(new.clone()),
                }
            }
            DataType::Struct(fields.into())
        }
        (DataType::List(a), DataType::List(b)) => {
            DataType::List(Arc::new(Field::new_list_field(joined(a.data_type(), b.data_type()), true)))
        }
        _ => a.clone(),
    }
}

/// Converts cases to nested structs, with timestamps of this type.
fn nested(ndjson: &str, timestamps: &DataType) -> RecordBatch {
    let catalog = Catalog::cases();
    let mut whole = DataType::Struct(arrow_schema::Fields::empty());
    for field in catalog.fields() {
        let kind = match field.field_type() {
            FieldType::Timestamp if !field.is_unix_millis() => timestamps.clone(),
            FieldType::String | FieldType::Timestamp => DataType::Utf8,
            FieldType::Number => DataType::Float64,
            FieldType::Boolean => DataType::Boolean,
            other => panic!("no column of {other:?}"),
        };
        let path: Vec<&str> = field.path().split('.').collect();
        whole = joined(&whole, &DataType::Struct([Arc::new(field_of(&path, &kind))].into_iter().collect()));
    }
    let DataType::Struct(fields) = whole else { unreachable!() };
    let reader = ReaderBuilder::new(Arc::new(Schema::new(fields)))
        .with_batch_size(10_000)
        .with_coerce_primitive(true)
        .build(ndjson.as_bytes());
    reader.unwrap().next().unwrap().unwrap()
}

/// Converts the same cases to one column per field.
fn flat(batch: &RecordBatch) -> RecordBatch {
    fn add(
        name: &str,
        array: &ArrayRef,
        nulls: Option<&arrow_buffer::NullBuffer>,
        out: &mut Vec<(String, ArrayRef)>,
    ) {
        let nulls = arrow_buffer::NullBuffer::union(nulls, array.nulls());
        if let Some(object) = array.as_struct_opt() {
            for (field, member) in object.fields().iter().zip(object.columns()) {
                add(&format!("{name}.{}", field.name()), member, nulls.as_ref(), out);
            }
            return;
        }
        let list = array.as_list_opt::<i32>().filter(|list| list.values().as_struct_opt().is_some());
        if let Some(list) = list {
            let object = list.values().as_struct();
            for (field, member) in object.fields().iter().zip(object.columns()) {
                let item = Arc::new(Field::new_list_field(member.data_type().clone(), true));
                let column = ListArray::new(item, list.offsets().clone(), member.clone(), nulls.clone());
                out.push((format!("{name}.{}", field.name()), Arc::new(column)));
            }
            return;
        }
        let data = array.to_data().into_builder().nulls(nulls).build().unwrap();
        out.push((name.to_owned(), arrow_array::make_array(data)));
    }
    let mut out = Vec::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        add(field.name(), array, None, &mut out);
    }
    RecordBatch::try_from_iter_with_nullable(out.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn instants(zone: Option<&str>) -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, zone.map(Into::into))
}

fn check(engine: &Engine, requests: &str, about: &str) {
    let mut seen = 0;
    for line in requests.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (request, expect) = (&line["request"], &line["expect"]);
        let body = match &request["body"] {
            Value::String(raw) => raw.clone(),
            body => body.to_string(),
        };
        let [order, offset, limit, count] =
            ["order", "offset", "limit", "countTotalItems"].map(|name| match &request[name] {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            });
        let params = SearchParams::new()
            .order(order.as_deref())
            .offset(offset.as_deref())
            .limit(limit.as_deref())
            .count(count.as_deref());
        let Ok(request) = FilterBuilder::new(engine.catalog()).request(body.as_bytes(), &params) else {
            continue;
        };
        let answer = engine.search(&request).unwrap();
        assert_eq!(Value::from(answer.ids().collect::<Vec<_>>()), expect["ids"], "{about}: {line}");
        assert_eq!(answer.total(), expect["totalItems"].as_u64(), "{about}: {line}");
        seen += 1;
    }
    assert!(seen > 100);
}

#[test]
fn every_layout_gives_the_answers_of_json() {
    for name in ["plain", "weird"] {
        let cases = data(&format!("{name}.cases.ndjson"));
        let requests = data(&format!("{name}.requests.ndjson"));
        let texts = nested(&cases, &DataType::Utf8);
        let utc = nested(&cases, &instants(Some("+00:00")));
        let layouts = [
            ("flat, texts", flat(&texts)),
            ("flat, instants", flat(&utc)),
            ("nested, texts", texts),
            ("nested, instants", utc),
        ];
        for (layout, batch) in layouts {
            let about = format!("{name}, {layout}");
            let (engine, report) = load(ImportMode::Strict, parquet(&batch)).unwrap();
            assert_eq!(report.stored, cases.lines().count() as u64, "{about}");
            check(&engine, &requests, &about);
        }
    }
}

#[test]
fn documents_are_rebuilt() {
    let cases = data("plain.cases.ndjson");
    let (engine, _) = load(ImportMode::Strict, parquet(&nested(&cases, &instants(Some("+00:00"))))).unwrap();
    let rebuilt = documents(&engine);
    assert_eq!(rebuilt.len(), cases.lines().count());
    for (rebuilt, original) in rebuilt.iter().zip(cases.lines()) {
        let rebuilt: Value = serde_json::from_str(rebuilt).unwrap();
        let mut original: Value = serde_json::from_str(original).unwrap();
        // A rebuilt document has no nulls, and its numbers may be written as doubles.
        without_nulls(&mut original);
        assert_eq!(
            rebuilt.to_string().replace(".0", ""),
            as_doubles(&original).to_string().replace(".0", "")
        );
    }
    // The rebuilt documents are cases again.
    let again = Engine::new(Catalog::cases());
    let mut import = again.import(ImportMode::Strict);
    import.push(rebuilt.join("\n").as_bytes()).unwrap();
    import.commit().unwrap();
    check(&again, &data("plain.requests.ndjson"), "rebuilt");
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

fn as_doubles(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), as_doubles(member))).collect()
        }
        Value::Array(elements) => elements.iter().map(as_doubles).collect(),
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        other => other.clone(),
    }
}

#[test]
fn every_column_type_becomes_a_value_or_stays_in_the_document() {
    let words: DictionaryArray<Int32Type> = [Some("open"), None].into_iter().collect();
    let batch = columns([
        ("id", strings(["a", "b"])),
        ("caseReview.status", Arc::new(words)),
        ("totalAmountInDefaultCurrency", {
            Arc::new(Decimal128Array::from(vec![Some(1250), None]).with_precision_and_scale(10, 2).unwrap())
        }),
        ("createdByRule.revision", Arc::new(Int32Array::from(vec![Some(-3), None]))),
        ("createdAt", Arc::new(TimestampMicrosecondArray::from(vec![Some(1_704_067_200_500_999), None]))),
        ("updatedAt", Arc::new(Date32Array::from(vec![Some(19_723), None]))),
        (
            "review.createDate",
            Arc::new(TimestampSecondArray::from(vec![Some(-1), None]).with_timezone("+05:00")),
        ),
        ("applicantInfo.dob", Arc::new(Int64Array::from(vec![Some(-1500), None]))),
        ("tags", {
            let lists = [Some(vec![Some(1), None]), Some(vec![])];
            let numbers = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
            let (_, offsets, _, nulls) = numbers.into_parts();
            let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
            Arc::new(ListArray::new(
                item,
                offsets,
                Arc::new(StringArray::from(vec![Some("x\"\n"), None])),
                nulls,
            ))
        }),
        ("priority", Arc::new(NullArray::new(2))),
        ("extra.number", Arc::new(Float64Array::from(vec![Some(0.5), Some(f64::NAN)]))),
        ("extra.nothing", Arc::new(NullArray::new(2))),
    ]);
    let (engine, _) = load(ImportMode::Strict, parquet(&batch)).unwrap();
    assert_eq!(
        documents(&engine),
        [
            concat!(
                r#"{"id":"a","caseReview":{"status":"open"},"totalAmountInDefaultCurrency":12.50,"#,
                r#""createdByRule":{"revision":-3},"createdAt":"2024-01-01 00:00:00+0000","#,
                r#""updatedAt":"2024-01-01 00:00:00+0000","review":{"createDate":"1969-12-31 23:59:59+0000"},"#,
                r#""applicantInfo":{"dob":"-1500"},"tags":["x\"\n",null],"extra":{"number":0.5}}"#
            ),
            r#"{"id":"b","tags":[]}"#
        ]
    );
    let count = |text| engine.count(&Filter::compile_text(engine.catalog(), text).unwrap()).unwrap();
    assert_eq!(count("priority = medium"), 2);
    assert_eq!(count("totalAmountInDefaultCurrency = 12.5 and createdByRule.revision = -3"), 1);
    // Fractions of a second are cut off in the field too, since the document has no form for them.
    assert_eq!(count("createdAt > \"2024-01-01 00:00:00\""), 0);
    assert_eq!(count("createdAt = \"2024-01-01 00:00:00\""), 1);
    assert_eq!(count("review.createDate = \"1969-12-31 23:59:59\""), 1);
    assert_eq!(count("applicantInfo.dob < \"1970-01-01 00:00:00\" and tags = \"x\\\"\\n\""), 1);
}

#[test]
fn structs_and_flat_columns_of_one_path_become_one_object() {
    let cases = r#"{"id":"a","caseReview":{"status":"open"}}
{"id":"b"}
{"id":"c","caseReview":{}}"#;
    let batch = nested(cases, &DataType::Utf8);
    let mut parts: Vec<(String, ArrayRef, bool)> = vec![
        ("caseReview.note".to_owned(), Arc::new(StringArray::from(vec![None, Some("n"), None])), true),
        ("id".to_owned(), batch["id"].clone(), true),
    ];
    let review = batch["caseReview"].as_struct();
    let only_status = arrow_array::StructArray::new(
        vec![review.fields()[0].clone()].into(),
        vec![review.column(0).clone()],
        review.nulls().cloned(),
    );
    parts.push(("caseReview".to_owned(), Arc::new(only_status), true));
    let joined = RecordBatch::try_from_iter_with_nullable(parts.clone()).unwrap();
    let (engine, _) = load(ImportMode::Strict, parquet(&joined)).unwrap();
    assert_eq!(
        documents(&engine),
        [
            r#"{"caseReview":{"status":"open"},"id":"a"}"#,
            r#"{"caseReview":{"note":"n"},"id":"b"}"#,
            r#"{"caseReview":{},"id":"c"}"#
        ]
    );
    parts.push(("caseReview.status".to_owned(), strings(["x", "y", "z"]), true));
    let twice = RecordBatch::try_from_iter_with_nullable(parts).unwrap();
    assert_eq!(load(ImportMode::Lenient, parquet(&twice)).unwrap_err().error.kind, ErrorKind::DuplicateKey);
}

#[test]
fn an_error_names_a_column_of_a_wrong_type() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let id = || ("id", strings(["a"]));
    for (batch, path, expected) in [
        (columns([id(), ("caseReview.status", numbers.clone())]), "caseReview.status", "strings"),
        (columns([id(), ("tags", strings(["x"]))]), "tags", "lists"),
        (columns([id(), ("caseReview", strings(["x"]))]), "caseReview", "a struct"),
        (columns([id(), ("createdAt", numbers.clone())]), "createdAt", "timestamps, dates or strings"),
        (columns([id(), ("totalAmountInDefaultCurrency", strings(["1"]))]), "totalAmount", "decimals"),
        (columns([id(), ("amlCases.amlCaseId", strings(["x"]))]), "amlCases.amlCaseId", "list"),
        (columns([id(), ("clientId.x", strings(["x"]))]), "clientId.x", "a value"),
        (columns([("id", numbers)]), "id", "strings"),
        (columns([("ID", strings(["x"]))]), "", "a column `id`"),
    ] {
        let refusal = load(ImportMode::Lenient, parquet(&batch)).unwrap_err();
        assert_eq!(refusal.line, 0);
        assert!(refusal.error.path.starts_with(path), "{refusal}");
        assert!(refusal.error.expected.contains(expected), "{refusal}");
    }
}

#[test]
fn an_error_names_a_column_without_a_form_in_json() {
    let bytes = || Arc::new(arrow_array::BinaryArray::from_vec(vec![b"x"])) as ArrayRef;
    let scan = Fields::from(vec![Field::new("raw", DataType::Binary, true)]);
    let structs = Arc::new(arrow_array::StructArray::new(scan, vec![bytes()], None));
    let batch = columns([("id", strings(["a"])), ("extra.bytes", bytes()), ("scan", structs)]);
    let refusal = load(ImportMode::Strict, parquet(&batch)).unwrap_err();
    assert_eq!((refusal.line, &*refusal.error.path), (0, "extra.bytes"));
    assert!(refusal.error.found.to_string().contains("Binary"), "{refusal}");
    let (engine, report) = load(ImportMode::Lenient, parquet(&batch)).unwrap();
    assert_eq!(documents(&engine), [r#"{"id":"a","scan":{}}"#]);
    assert_eq!((report.stored, report.incomplete, report.skipped), (1, 0, 0));
    let listed: Vec<_> = report.errors.iter().map(|one| (one.line, one.kept, &*one.error.path)).collect();
    assert_eq!(listed, [(0, true, "extra.bytes"), (0, true, "scan.raw")]);
    let text = report.errors[0].to_string();
    assert!(text.ends_with(" (kept, the column is not read)"), "{text}");
    // The filter reads neither column.
    let all = Filter::compile_text(engine.catalog(), "id = a").unwrap();
    assert_eq!(all.mask(&batch).unwrap().true_count(), 1);
}

#[test]
fn rows_obey_the_rules_of_documents() {
    let ids: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a"), None, Some(""), Some("b"), Some("c"), Some("a")]));
    let dates =
        strings(["2024-01-01 00:00:00", "x", "x", "yesterday", "2024-01-01 00:00:00", "2024-01-01 00:00:00"]);
    let amounts: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.0, 1.0, 1.0, f64::INFINITY, 2.0]));
    let batch = columns([("id", ids), ("createdAt", dates), ("totalAmountInDefaultCurrency", amounts)]);
    let refusal = load(ImportMode::Strict, parquet(&batch)).unwrap_err();
    assert_eq!((refusal.line, refusal.error.kind), (2, ErrorKind::BadId));
    let (engine, report) = load(ImportMode::Lenient, parquet(&batch)).unwrap();
    assert_eq!((report.stored, report.replaced, report.incomplete, report.skipped), (3, 1, 2, 2));
    let faults: Vec<(u64, &str, ErrorKind)> =
        report.errors.iter().map(|fault| (fault.line, &*fault.error.path, fault.error.kind)).collect();
    assert_eq!(
        faults,
        [
            (2, "id", ErrorKind::BadId),
            (3, "id", ErrorKind::BadId),
            (4, "createdAt", ErrorKind::BadTimestamp),
            (5, "totalAmountInDefaultCurrency", ErrorKind::BadNumber)
        ]
    );
    assert_eq!(
        documents(&engine),
        [
            r#"{"id":"a","createdAt":"2024-01-01 00:00:00","totalAmountInDefaultCurrency":2}"#,
            r#"{"id":"b","createdAt":"yesterday","totalAmountInDefaultCurrency":1}"#,
            r#"{"id":"c","createdAt":"2024-01-01 00:00:00"}"#
        ]
    );
}

#[test]
fn a_document_over_the_limit_is_rejected() {
    let batch = columns([("id", strings(["a", "b"])), ("name", strings(["short", &"long".repeat(100)]))]);
    let engine = Engine::builder(Catalog::cases()).limits(Limits::default().with_document_bytes(200)).build();
    let mut import = engine.import(ImportMode::Lenient);
    import.parquet("", parquet(&batch)).unwrap();
    let report = import.commit().unwrap();
    assert_eq!((report.stored, report.errors[0].error.kind), (1, ErrorKind::DocumentTooLarge));
}

#[test]
fn a_failed_file_fails_the_import() {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Lenient);
    import.push(b"{\"id\":\"a\"}\n").unwrap();
    let refusal = import.parquet("no file", Bytes::from_static(b"PAR1 this is not one PAR1")).unwrap_err();
    assert_eq!((refusal.source.as_str(), refusal.error.kind), ("no file", ErrorKind::BadFile));
    assert_eq!(import.push(b"{\"id\":\"b\"}\n").unwrap_err(), refusal);
    assert_eq!(import.commit().unwrap_err(), refusal);
    assert!(engine.is_empty());
}

#[test]
fn a_file_that_expands_a_thousandfold_is_rejected() {
    // One long name, stored once in the file, is repeated in each of 40,000 documents.
    let repeated =
        |text: &str| Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, 40_000))) as ArrayRef;
    let batch = columns([("id", repeated("a")), ("name", repeated(&"n".repeat(2000)))]);
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let file = Bytes::from(writer.into_inner().unwrap());
    assert!(file.len() < 64_000, "{}", file.len());
    let refusal = load(ImportMode::Lenient, file).err().unwrap();
    assert_eq!(refusal.error.kind, ErrorKind::BadFile);
    assert!(refusal.to_string().contains("1000 times the size of their file"), "{refusal}");
}

/// Returns a random number by SplitMix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[test]
fn damaged_files_are_errors_or_cases_and_never_a_panic() {
    let cases: String = data("plain.cases.ndjson").split_inclusive('\n').take(40).collect();
    let batch = nested(&cases, &instants(None));
    for batch in [flat(&batch), batch] {
        let sound = parquet(&batch);
        for length in (0..sound.len()).step_by(sound.len() / 100) {
            assert!(load(ImportMode::Lenient, sound.slice(..length)).is_err());
        }
        let mut state = 7;
        // With this number of files, a few make the Parquet library panic.
        for _ in 0..2_000 {
            let mut damaged = sound.to_vec();
            let at = usize::try_from(draw(&mut state)).unwrap() % damaged.len();
            damaged[at] ^= 1 << (draw(&mut state) % 8);
            if let Ok((engine, _)) = load(ImportMode::Lenient, damaged.into()) {
                assert!(engine.len() <= 40, "byte {at}");
            }
        }
    }
}

/// An import on several threads has the result of one thread.
#[cfg(feature = "parallel")]
mod threads {
    use super::*;

    const ROWS: usize = 20_000;

    fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    /// The result of an import: documents, counts and report.
    type Imported = (Vec<String>, Vec<u64>, ImportReport);

    /// Imports a file between a few documents, into batches that are much smaller than a decoded group, or larger.
    fn imported(mode: ImportMode, batch_rows: usize, file: &Bytes) -> Result<Imported, ImportError> {
        let limits = Limits::default().with_page(u64::MAX);
        let engine = Engine::builder(Catalog::cases()).limits(limits).batch_rows(batch_rows).build();
        engine.upsert(br#"{"id":"7","name":"before"}"#).unwrap();
        let mut import = engine.import(mode);
        (0..3000).step_by(3).try_for_each(|id| import.push(format!("{{\"id\":\"{id}\"}}\n").as_bytes()))?;
        import.parquet("a file", file.clone())?;
        import.push(br#"{"id":"8","name":"behind"}"#)?;
        let report = import.commit()?;
        engine.validate().unwrap();
        let all = SearchRequest::new(Filter::all(engine.catalog())).with_limit(u64::MAX);
        let count = |text| engine.count(&Filter::compile_text(engine.catalog(), text).unwrap()).unwrap();
        let counts =
            ["name = behind", "createdAt < \"2024-01-10 00:00:00\"", "totalAmountInDefaultCurrency > 5000"];
        let documents = engine.search(&all).unwrap().documents().map(str::to_owned).collect();
        Ok((documents, counts.map(count).to_vec(), report))
    }

    fn equal(mode: ImportMode, file: &Bytes, about: &str) -> Result<(), ImportError> {
        let mut result = Ok(());
        for batch_rows in [100, 6000] {
            let one = on(1, || imported(mode, batch_rows, file));
            let four = on(4, || imported(mode, batch_rows, file));
            assert!(one == four, "{about}: {:?}, {:?}", one.err(), four.err());
            // On a pool without a free thread.
            let (first, second) = on(2, || {
                rayon::join(|| imported(mode, batch_rows, file), || imported(mode, batch_rows, file))
            });
            assert!(one == first && one == second, "{about}");
            // Outside rayon's pool.
            assert!(one == imported(mode, batch_rows, file), "{about}");
            result = one.map(drop);
        }
        result
    }

    /// Returns cases with repeated ids, in the same group and in different ones.
    fn rows(fault: Option<usize>) -> RecordBatch {
        let ids = (0..ROWS).map(|row| (fault != Some(row)).then(|| (row % 15_000 / 2).to_string()));
        let dates = (0..ROWS).map(|row| match row % 700 {
            0 if fault.is_some() => "yesterday".to_owned(),
            day => format!("2024-01-{:02} 00:00:00", day % 31 + 1),
        });
        columns([
            ("id", Arc::new(ids.collect::<StringArray>())),
            ("createdAt", Arc::new(StringArray::from_iter_values(dates))),
            (
                "totalAmountInDefaultCurrency",
                Arc::new(Float64Array::from_iter_values((0..ROWS).map(|row| row as f64))),
            ),
        ])
    }

    #[test]
    fn cases_keep_their_order_and_faults_their_lines() {
        equal(ImportMode::Strict, &parquet(&rows(None)), "sound").unwrap();
        let faulty = parquet(&rows(Some(12_345)));
        equal(ImportMode::Lenient, &faulty, "lenient").unwrap();
        let refusal = equal(ImportMode::Strict, &faulty, "strict").unwrap_err();
        assert_eq!((refusal.line, &*refusal.error.path), (1, "createdAt"));
        let late = columns([(
            "id",
            Arc::new(
                (0..ROWS)
                    .map(|row| (row != 12_345 && row != 17_000).then(|| row.to_string()))
                    .collect::<StringArray>(),
            ) as ArrayRef,
        )]);
        let refusal = equal(ImportMode::Strict, &parquet(&late), "an id is missing").unwrap_err();
        assert_eq!((refusal.line, refusal.error.kind), (12_346, ErrorKind::BadId));
    }

    #[test]
    fn a_file_over_the_bound_fails_in_the_same_line() {
        let long = "long".repeat(1000);
        let batch = columns([
            (
                "id",
                Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| (row / 1000).to_string())))
                    as ArrayRef,
            ),
            ("name", Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&long, ROWS)))),
        ]);
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let file = Bytes::from(writer.into_inner().unwrap());
        assert!(file.len() < 64_000, "{}", file.len());
        let refusal = equal(ImportMode::Lenient, &file, "too much").unwrap_err();
        assert_eq!(refusal.error.kind, ErrorKind::BadFile);
        assert!(refusal.line > 8192, "{refusal}");
    }

    #[test]
    fn damage_is_found_in_the_same_line() {
        let sound = parquet(&rows(None));
        let (mut state, mut refused) = (11, 0);
        for _ in 0..12 {
            let mut damaged = sound.to_vec();
            let at = usize::try_from(draw(&mut state)).unwrap() % damaged.len();
            damaged[at] ^= 1 << (draw(&mut state) % 8);
            refused += u32::from(equal(ImportMode::Lenient, &damaged.into(), "damaged").is_err());
        }
        assert!(refused > 2, "{refused}");
    }

    #[test]
    #[cfg(feature = "store")]
    fn a_store_keeps_the_documents() {
        use casefilter::{Store, StoreOptions};

        let work = || {
            let folder = tempfile::tempdir().unwrap();
            let options = StoreOptions::default().batch_rows(6000);
            let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), options).unwrap();
            let mut import = store.import(ImportMode::Lenient).unwrap();
            import.import_mut().parquet("a file", parquet(&rows(Some(12_345)))).unwrap();
            let report = import.commit().unwrap();
            store.validate().unwrap();
            let all = SearchRequest::new(Filter::all(store.catalog())).with_limit(u64::MAX);
            let documents: Vec<String> = store.documents(&all).unwrap().map(Result::unwrap).collect();
            (documents, report)
        };
        let one = on(1, work);
        assert_eq!(one.0.len(), 7500);
        assert!(one == on(4, work));
    }
}

#[test]
fn columns_may_use_the_common_compressions() {
    let batch = columns([("id", strings(["a", "b"])), ("caseReview.status", strings(["open", "open"]))]);
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ] {
        let properties = WriterProperties::builder().set_compression(codec).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let (engine, _) = load(ImportMode::Strict, Bytes::from(writer.into_inner().unwrap())).unwrap();
        let open = Filter::compile_text(engine.catalog(), "status = open").unwrap();
        assert_eq!(engine.count(&open).unwrap(), 2, "{codec}");
    }
    // pyarrow wrote these files.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/brotli.parquet");
    let refusal = load(ImportMode::Lenient, fs::read(path).unwrap().into()).unwrap_err();
    assert_eq!((refusal.error.kind, &*refusal.error.path), (ErrorKind::BadFile, "id"));
    assert_eq!(refusal.error.found.to_string(), "a column compressed with brotli");
}

#[test]
fn a_column_named_by_an_alias_is_not_the_field() {
    let flat = columns([("id", strings(["a"])), ("status", strings(["open"]))]);
    let refusal = load(ImportMode::Strict, parquet(&flat)).unwrap_err();
    assert_eq!((refusal.error.kind, &*refusal.error.path), (ErrorKind::UnknownField, "status"));
    assert!(refusal.error.to_string().contains("caseReview.status"), "{refusal}");
    let (engine, report) = load(ImportMode::Lenient, parquet(&flat)).unwrap();
    assert_eq!(report.errors.len(), 1);
    let text = report.errors[0].to_string();
    assert!(text.ends_with(" (kept, searches do not find the values of the column)"), "{text}");
    assert_eq!(documents(&engine), [r#"{"id":"a","status":"open"}"#]);
    // A column of that name is a member like any other.
    let both = columns([
        ("id", strings(["a"])),
        ("status", strings(["other"])),
        ("caseReview.status", strings(["open"])),
    ]);
    let (engine, _) = load(ImportMode::Strict, parquet(&both)).unwrap();
    let open = Filter::compile_text(engine.catalog(), "status = open").unwrap();
    assert_eq!(engine.count(&open).unwrap(), 1);
    // It is a field if the catalogue has a field of that name.
    let catalog = Catalog::new([casefilter::Field::new("status", casefilter::FieldType::String)]).unwrap();
    let engine = Engine::new(catalog);
    let mut import = engine.import(ImportMode::Strict);
    import.parquet("a file", parquet(&flat)).unwrap();
    assert_eq!(import.commit().unwrap().stored, 1);
}

#[test]
fn possible_mistakes_get_the_notes_of_json() {
    let decimals = Decimal128Array::from(vec![Some(900_719_925_474_099_301), Some(150), None]);
    let batch = columns([
        ("id", strings(["a", "b", "c"])),
        ("caseReview_status", Arc::new(StringArray::from(vec![Some("open"), None, Some("open")]))),
        ("createdAt", strings(["2024-01-01 00:00:00", "2024-01-01 00:00:00+0000", "2024-01-01 00:00:00"])),
        ("updatedAt", Arc::new(TimestampSecondArray::from(vec![0, 1, 2]))),
        ("review.createDate", Arc::new(TimestampSecondArray::from(vec![0, 1, 2]).with_timezone("UTC"))),
        ("applicantInfo.dob", Arc::new(Int64Array::from(vec![1980, 320_630_400_000, 320_630_400]))),
        ("createdByRule.revision", Arc::new(Int64Array::from(vec![1, i64::MAX, (1 << 53) + 1]))),
        ("totalAmountInDefaultCurrency", Arc::new(decimals.with_precision_and_scale(20, 2).unwrap())),
        ("notes", strings(["x", "y", "z"])),
    ]);
    let expected = [
        "caseReview_status: 2 documents have this member, which is not a field and is not searched; did you mean `caseReview.status`? \
         (first in a file:1)",
        "createdAt: 2 documents have a timestamp without a time zone, which counts as UTC (such as `2024-01-01 00:00:00` in a file:1)",
        "updatedAt: 3 documents have a timestamp without a time zone, which counts as UTC (such as `1970-01-01 00:00:00` in a file:1)",
        "applicantInfo.dob: 2 documents have Unix milliseconds that look like a year, a date or seconds (such as `1980` in a file:1)",
        "totalAmountInDefaultCurrency: 1 document has a number that a double cannot hold, which is rounded (`9007199254740993.01` in a \
         file:1)",
        "createdByRule.revision: 2 documents have a number that a double cannot hold, which is rounded (such as `9223372036854775807` \
         in a file:2)",
    ];
    for mode in [ImportMode::Strict, ImportMode::Lenient] {
        let (_, report) = load(mode, parquet(&batch)).unwrap();
        let mut notes: Vec<String> = report.notes.iter().map(ToString::to_string).collect();
        notes.sort();
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(notes, expected);
    }
}

#[test]
fn notes_do_not_depend_on_row_groups() {
    let count = 200_000;
    let ids = StringArray::from_iter_values((0..count).map(|n| n.to_string()));
    let times = StringArray::from_iter_values(
        (0..count).map(|n| if n % 2 == 0 { "2024-01-01 00:00:00" } else { "2024-01-01 00:00:00+0000" }),
    );
    let batch = columns([("id", Arc::new(ids) as ArrayRef), ("createdAt", Arc::new(times))]);
    let (_, report) = load(ImportMode::Strict, parquet(&batch)).unwrap();
    let notes: Vec<(&str, u64, u64)> =
        report.notes.iter().map(|note| (note.path.as_str(), note.count, note.line)).collect();
    assert_eq!(notes, [("createdAt", count / 2, 1)]);
}
