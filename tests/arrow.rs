//! Tests record batches: importing, exporting or filtering them must give the same results as the same cases in JSON.

#[expect(dead_code, reason = "of the worlds, what is checked in them is checked elsewhere")]
mod world;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, ListArray, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use casefilter::arrow::{DocumentEncoder, ParquetWriter};
use casefilter::{
    Catalog, Engine, ErrorKind, FieldType, Filter, FilterBuilder, ImportMode, Order, SearchAnswer,
    SearchParams, SearchRequest,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use world::choices::Choices;
use world::generate::World;

fn lenient(catalog: &Catalog, documents: &[String]) -> Engine {
    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(ImportMode::Lenient);
    for document in documents {
        import.push(document.as_bytes()).unwrap();
        import.push(b"\n").unwrap();
    }
    import.commit().unwrap();
    engine
}

fn all(engine: &Engine) -> SearchAnswer {
    engine.search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000)).unwrap()
}

fn encode<'d>(catalog: &Catalog, documents: impl Iterator<Item = &'d str>) -> RecordBatch {
    let mut encoder = DocumentEncoder::new(catalog);
    documents.for_each(|document| encoder.push(document).unwrap());
    encoder.finish()
}

fn load(catalog: &Catalog, batches: &[RecordBatch]) -> Engine {
    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(ImportMode::Strict);
    let reader = RecordBatchIterator::new(batches.iter().cloned().map(Ok), batches[0].schema());
    import.record_batches("batches", reader).unwrap();
    import.commit().unwrap();
    engine.validate().unwrap();
    engine
}

fn parquet(engine: &Engine, order: Option<Order>) -> Bytes {
    let mut writer = ParquetWriter::new(Vec::new(), engine.catalog(), order.as_ref()).unwrap();
    let request = SearchRequest::new(Filter::all(engine.catalog())).with_order(order).with_limit(10_000);
    engine.search(&request).unwrap().documents().for_each(|document| writer.push(document).unwrap());
    writer.finish().unwrap().into()
}

/// Returns the same rows with other types (dictionaries, large strings, large lists), as a slice of a longer batch.
fn retyped(batch: &RecordBatch) -> RecordBatch {
    fn other(kind: &DataType) -> DataType {
        match kind {
            DataType::Utf8 => DataType::LargeUtf8,
            DataType::List(field) => {
                DataType::LargeList(Arc::new(field.as_ref().clone().with_data_type(other(field.data_type()))))
            }
            DataType::Struct(fields) => DataType::Struct(
                fields
                    .iter()
                    .map(|field| field.as_ref().clone().with_data_type(other(field.data_type())))
                    .collect(),
            ),
            kind => kind.clone(),
        }
    }
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).enumerate().map(|(at, (field, column))| {
        let kind = match field.data_type() {
            DataType::Utf8 if at % 2 == 0 => {
                DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into())
            }
            kind => other(kind),
        };
        (field.name().clone(), arrow_cast::cast(column, &kind).unwrap(), true)
    });
    let once = RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap();
    let twice = arrow_select::concat::concat_batches(&once.schema(), [&once, &once]).unwrap();
    twice.slice(once.num_rows(), once.num_rows())
}

/// Checks that an engine loaded from record batches, and masks, give the same results as an engine loaded from documents.
fn check(world: &World) {
    let engine = lenient(&world.catalog, &world.documents);
    if engine.is_empty() {
        return;
    }
    let stored = all(&engine);
    let whole = encode(&world.catalog, stored.documents());
    let middle = whole.num_rows() / 2;
    let parts = [whole.slice(0, middle), whole.slice(middle, whole.num_rows() - middle)];
    let other = retyped(&whole);
    let loaded = [load(&world.catalog, &parts), load(&world.catalog, std::slice::from_ref(&other))];
    let ids: Vec<&str> = stored.ids().collect();
    for sample in &world.requests {
        let body = sample.body.to_string();
        let Ok(filter) = Filter::compile(&sample.catalog, body.as_bytes()) else { continue };
        let request = SearchRequest::new(filter.clone()).with_limit(10_000);
        let answer = engine.search(&request).unwrap();
        let expected: Vec<&str> = answer.ids().collect();
        for loaded in &loaded {
            assert_eq!(loaded.search(&request).unwrap().ids().collect::<Vec<_>>(), expected, "{body}");
        }
        for batch in [&whole, &other] {
            assert_eq!(selected(&filter.mask(batch).unwrap(), &ids), expected, "{body}");
            let unoptimized = filter.unoptimized().mask(batch).unwrap();
            assert_eq!(selected(&unoptimized, &ids), expected, "{body}");
            let others: Vec<&str> = ids.iter().copied().filter(|id| !expected.contains(id)).collect();
            assert_eq!(selected(&filter.negated().mask(batch).unwrap(), &ids), others, "{body}");
        }
    }
}

fn selected<'i>(mask: &BooleanArray, ids: &[&'i str]) -> Vec<&'i str> {
    assert_eq!((mask.len(), mask.null_count()), (ids.len(), 0));
    ids.iter().zip(mask.values()).filter(|(_, selected)| *selected).map(|(id, _)| *id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_give_the_same_results_as_documents(seed in any::<u64>()) {
        check(&World::small(&mut Choices::seeded(seed)));
    }
}

/// An array with an invalid element is null, even if its field has a default.
#[test]
fn an_invalid_array_of_a_field_with_a_default_is_null() {
    let amounts = casefilter::Field::new("amounts[]", FieldType::Number).with_default("0.5");
    let catalog = Catalog::new([amounts]).unwrap();
    let documents = [r#"{"id":"a","amounts":[3,[1]]}"#, r#"{"id":"b","amounts":[3,1]}"#, r#"{"id":"c"}"#];
    let batch = encode(&catalog, documents.into_iter());
    let amounts = batch.column_by_name("amounts").unwrap();
    assert_eq!((0..3).map(|row| amounts.is_null(row)).collect::<Vec<_>>(), [true, false, true]);
    let filter = Filter::compile_text(&catalog, "amounts < 1").unwrap();
    assert_eq!(selected(&filter.mask(&batch).unwrap(), &["a", "b", "c"]), ["a", "c"]);
    let request = SearchRequest::new(filter);
    let engine = lenient(&catalog, &documents.map(str::to_owned));
    for engine in [engine, load(&catalog, &[batch])] {
        assert_eq!(engine.search(&request).unwrap().ids().collect::<Vec<_>>(), ["a", "c"]);
    }
}

#[test]
fn a_sorted_file_records_its_order_and_has_every_case() {
    let catalog = Catalog::cases();
    let data = include_str!("data/plain.cases.ndjson");
    let documents: Vec<String> = data.lines().map(str::to_owned).collect();
    let engine = lenient(&catalog, &documents);
    let order = Order::parse(&catalog, "-createdAt").unwrap();
    let file = parquet(&engine, order.clone());
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let group = reader.metadata().row_group(0);
    let sorting = group.sorting_columns().unwrap();
    assert_eq!(sorting.len(), 1);
    let sorted = usize::try_from(sorting[0].column_idx).unwrap();
    assert_eq!(group.column(sorted).column_path().string(), "createdAt");
    assert!(sorting[0].descending && !sorting[0].nulls_first);
    assert!(group.column(sorted).statistics().unwrap().min_bytes_opt().is_some());
    // No Arrow schema in the metadata: other engines use Parquet's own types and their own name for UTC.
    assert_eq!(reader.metadata().file_metadata().key_value_metadata(), None);
    // The order of `status` is not Parquet's order, so it is not recorded.
    let by_status = parquet(&engine, Order::parse(&catalog, "status").unwrap());
    let reader = SerializedFileReader::new(by_status).unwrap();
    assert_eq!(reader.metadata().row_group(0).sorting_columns(), None);

    let again = Engine::new(catalog.clone());
    let mut import = again.import(ImportMode::Strict);
    import.parquet("", file).unwrap();
    import.commit().unwrap();
    let newest = SearchRequest::new(Filter::all(&catalog)).with_order(order).with_limit(10_000);
    let ids = |engine: &Engine| engine.search(&newest).unwrap().ids().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&engine));
    assert_eq!(all(&again).ids().map(str::to_owned).collect::<Vec<_>>(), ids(&engine));
}

#[test]
fn invalid_values_are_null_and_arrays_keep_their_order() {
    let catalog = Catalog::cases();
    let batch = encode(
        &catalog,
        [
            r#"{"id":"a","tags":["z",null,"a","z"],"applicantInfo":{"dob":-5},"createdAt":"2024-01-01 05:30:00+05:30"}"#,
            r#"{"id":"b","tags":["a",1],"applicantInfo":{"dob":"12"},"priority":3,"name":{"x":1}}"#,
            r#"{"id":"c","tags":[],"applicantInfo":null,"caseReview":{"checklistState":{"checklist":[{"name":"n"},null,{}]}}}"#,
            r#"{"id":"d","caseReview":{"status":5,"checklistState":{"checklist":[{"name":"n","checked":"yes"}]}}}"#,
        ]
        .into_iter(),
    );
    let lines = arrow_json_lines(&batch);
    assert_eq!(
        lines,
        [
            r#"{"id":"a","createdAt":"2024-01-01T00:00:00Z","applicantInfo":{"dob":"-5"},"tags":["z",null,"a","z"]}"#,
            r#"{"id":"b","applicantInfo":{"dob":"12"}}"#,
            r#"{"id":"c","caseReview":{"checklistState":{"checklist":[{"name":"n"},null,{}]}},"tags":[]}"#,
            r#"{"id":"d","caseReview":{"checklistState":{"checklist":[{"name":"n"}]}}}"#,
        ]
    );
}

fn arrow_json_lines(batch: &RecordBatch) -> Vec<String> {
    let mut writer = arrow_json::LineDelimitedWriter::new(Vec::new());
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    String::from_utf8(writer.into_inner()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn an_encoder_rejects_invalid_cases_and_accepts_further_ones() {
    let mut encoder = DocumentEncoder::new(&Catalog::cases());
    encoder.push(r#"{"id":"a"}"#).unwrap();
    for (document, kind) in [
        ("{}", ErrorKind::BadId),
        (r#"{"id":"b","id":"c"}"#, ErrorKind::DuplicateKey),
        ("[]", ErrorKind::WrongType),
    ] {
        assert_eq!(encoder.push(document).unwrap_err().kind, kind);
    }
    encoder.push(r#"{"id":"b"}"#).unwrap();
    assert_eq!(encoder.finish()["id"].as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a", "b"]);
    assert!(encoder.is_empty());
    assert_eq!(encoder.finish().num_rows(), 0);
}

#[test]
fn a_mask_reads_only_the_columns_of_its_fields() {
    let catalog = Catalog::cases();
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let name: ArrayRef = Arc::new(StringArray::from(vec![Some("n"), None]));
    let batch = RecordBatch::try_from_iter([("clientId", number), ("name", name)]).unwrap();
    let mask = |text: &str| Filter::compile_text(&catalog, text).unwrap().mask(&batch);
    let truths = |text: &str| mask(text).unwrap().values().iter().collect::<Vec<_>>();
    assert_eq!(truths("name = n"), [true, false]);
    assert_eq!(truths("name <> n"), [false, true]);
    assert_eq!(truths("priority = medium and tags <> x"), [true, true]);
    assert_eq!(truths("priority <> medium"), [false, false]);
    let error = mask("clientId = x").unwrap_err();
    assert_eq!((error.path.as_str(), error.kind), ("clientId", ErrorKind::WrongType));
    let none = Filter::compile(&catalog, br#"{"ids":[]}"#).unwrap().mask(&batch).unwrap();
    assert_eq!(none.true_count(), 0);
}

#[test]
fn an_invalid_value_is_an_error_unless_it_is_null() {
    let catalog = Catalog::cases();
    let filter = Filter::compile_text(&catalog, "updatedAt > \"2024-01-01 00:00:00\"").unwrap();
    let dates = |texts: Vec<Option<&str>>| {
        RecordBatch::try_from_iter_with_nullable([(
            "updatedAt",
            Arc::new(StringArray::from(texts)) as ArrayRef,
            true,
        )])
        .unwrap()
    };
    let error = filter.mask(&dates(vec![Some("2024-01-02 00:00:00"), Some("soon")])).unwrap_err();
    assert_eq!((error.path.as_str(), error.kind), ("updatedAt", ErrorKind::BadTimestamp));
    assert_eq!(filter.mask(&dates(vec![Some("2024-01-02 00:00:00"), None])).unwrap().true_count(), 1);
    // Values of null rows and elements of null lists are ignored.
    let words = StringArray::from(vec![Some("a"), Some("x"), Some("b")]);
    let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 1, 2, 3].into());
    let lists = ListArray::new(item, offsets, Arc::new(words), Some(vec![true, false, true].into()));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("tags", Arc::new(lists) as ArrayRef, true)]).unwrap();
    let tags = |text: &str| Filter::compile_text(&catalog, text).unwrap().mask(&batch).unwrap();
    assert_eq!(tags("tags = x").true_count(), 0);
    assert_eq!(tags("tags in (a, b)").true_count(), 2);
    assert_eq!(tags("tags <> a").values().iter().collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn a_stream_whose_schema_changes_fails_the_import() {
    let batch = |name: &str| {
        let ids: ArrayRef = Arc::new(StringArray::from(vec![name]));
        RecordBatch::try_from_iter([("id", ids.clone()), (name, ids)]).unwrap()
    };
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Lenient);
    let reader = RecordBatchIterator::new([Ok(batch("name")), Ok(batch("clientId"))], batch("name").schema());
    let refusal = import.record_batches("stream", reader).unwrap_err();
    assert_eq!((refusal.source.as_str(), refusal.line), ("stream", 2));
    assert!(import.commit().is_err());
    assert!(engine.is_empty());
}

#[test]
fn the_conformance_cases_give_the_same_results() {
    for (cases, requests) in [
        (include_str!("data/plain.cases.ndjson"), include_str!("data/plain.requests.ndjson")),
        (include_str!("data/weird.cases.ndjson"), include_str!("data/weird.requests.ndjson")),
    ] {
        let catalog = Catalog::cases();
        let documents: Vec<String> = cases.lines().map(str::to_owned).collect();
        let engine = lenient(&catalog, &documents);
        let stored = all(&engine);
        let batch = encode(&catalog, stored.documents());
        let ids: Vec<&str> = stored.ids().collect();
        let mut seen = 0;
        for line in requests.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let body = match &line["request"]["body"] {
                serde_json::Value::String(raw) => raw.clone(),
                body => body.to_string(),
            };
            let request = FilterBuilder::new(&catalog).request(body.as_bytes(), &SearchParams::new());
            let Ok(request) = request else { continue };
            let answer = engine.search(&request.with_limit(10_000)).unwrap();
            let filter = Filter::compile(&catalog, body.as_bytes()).unwrap();
            assert_eq!(
                selected(&filter.mask(&batch).unwrap(), &ids),
                answer.ids().collect::<Vec<_>>(),
                "{line}"
            );
            seen += 1;
        }
        assert!(seen > 100);
    }
}

#[test]
fn nested_dictionaries_are_decoded() {
    let words: arrow_array::DictionaryArray<Int32Type> =
        [Some("open"), None, Some("open")].into_iter().collect();
    let batch =
        RecordBatch::try_from_iter_with_nullable([("caseReview.status", Arc::new(words) as ArrayRef, true)]);
    let filter = Filter::compile_text(&Catalog::cases(), "status = open").unwrap();
    assert_eq!(filter.mask(&batch.unwrap()).unwrap().true_count(), 2);
}

/// Decimals are exact in columns of every type that JSON numbers and strings can have; a column of floats is refused.
#[test]
fn decimals_are_read_exactly_from_columns_of_several_types() {
    use arrow_array::{Decimal128Array, Float64Array, Int64Array, UInt64Array};
    let catalog = Catalog::new([
        casefilter::Field::new("price", casefilter::FieldType::Decimal { scale: 2 }),
        casefilter::Field::new("fee", casefilter::FieldType::Decimal { scale: 2 }).with_default("0.10"),
    ])
    .unwrap();
    let batch = |prices: ArrayRef| {
        let ids: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
        RecordBatch::try_from_iter([("id", ids), ("price", prices)]).unwrap()
    };
    let decimals = |values: Vec<Option<i128>>, scale: i8| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap())
    };
    let mask = |text: &str, batch: &RecordBatch| {
        let mask = Filter::compile_text(&catalog, text).unwrap().mask(batch);
        mask.map(|mask| selected(&mask, &["a", "b", "c"]).join(""))
    };
    let strings = StringArray::from(vec![Some("1.5"), Some("-3.00"), None]);
    for prices in [
        decimals(vec![Some(150), Some(-300), None], 2),
        decimals(vec![Some(150_000_000_000_000_000_000), Some(-300_000_000_000_000_000_000), None], 20),
        Arc::new(strings) as ArrayRef,
    ] {
        let batch = batch(prices);
        assert_eq!(mask("price = 1.50", &batch).unwrap(), "a");
        assert_eq!(mask("price < 1.5", &batch).unwrap(), "b");
        assert_eq!(mask("price is absent", &batch).unwrap(), "c");
        assert_eq!(mask("fee = 0.1", &batch).unwrap(), "abc");
        assert_eq!(mask("fee > 0.1", &batch).unwrap(), "");
        let engine = load(&catalog, &[batch]);
        let filter = Filter::compile_text(&catalog, "price > 1 and fee = 0.10").unwrap();
        assert_eq!(engine.search(&SearchRequest::new(filter)).unwrap().ids().collect::<Vec<_>>(), ["a"]);
    }
    let whole = batch(Arc::new(Int64Array::from(vec![Some(92_233_720_368_547_758), Some(-1), None])));
    assert_eq!(mask("price > 92233720368547757.99", &whole).unwrap(), "a");
    let unsigned = batch(Arc::new(UInt64Array::from(vec![1, 2, 3])));
    assert_eq!(mask("price >= 2.00", &unsigned).unwrap(), "bc");
    let negative_scale = batch(decimals(vec![Some(5), Some(0), None], -2));
    assert_eq!(mask("price = 500", &negative_scale).unwrap(), "a");
    for inexact in [
        decimals(vec![Some(1505), None, None], 3),
        decimals(vec![Some(i128::MAX), None, None], 2),
        Arc::new(Int64Array::from(vec![i64::MAX, 0, 0])),
        Arc::new(UInt64Array::from(vec![u64::MAX, 0, 0])),
    ] {
        let error = mask("price = 1", &batch(inexact)).unwrap_err();
        assert_eq!((error.kind, error.path.as_str()), (ErrorKind::BadNumber, "price"));
    }
    let floats = batch(Arc::new(Float64Array::from(vec![1.5, 2.0, 3.0])));
    assert_eq!(mask("price = 1.5", &floats).unwrap_err().kind, ErrorKind::WrongType);
    // The decimals of documents become a column of 19 digits, and are read back.
    let encoded = encode(
        &catalog,
        [r#"{"id":"a","price":"92233720368547758.07"}"#, r#"{"id":"b","price":1.5}"#].into_iter(),
    );
    assert_eq!(encoded.column_by_name("price").unwrap().data_type(), &DataType::Decimal128(19, 2));
    let engine = load(&catalog, &[encoded]);
    let greatest = Filter::compile_text(&catalog, "price > 92233720368547758.06").unwrap();
    assert_eq!(engine.count(&greatest), Ok(1));
}
