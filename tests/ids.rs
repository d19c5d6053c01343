//! Catalogues whose documents have another id than the string `id`: integers, UUIDs and other names.

use std::collections::BTreeMap;

use casefilter::{
    Catalog, CatalogError, Document, Engine, ErrorKind, Field, FieldType, Filter, IdType, ImportMode, Order,
    SearchRequest, reference,
};
use proptest::prelude::*;

const UUID: &str = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

fn catalog(name: &str, id_type: IdType) -> Catalog {
    let fields = [Field::new("state", FieldType::String), Field::new("n", FieldType::Integer)];
    Catalog::new(fields).unwrap().with_id(name, id_type).unwrap().extended()
}

/// An id: its canonical text, and its spelling in a document.
#[derive(Clone, Debug)]
struct Id {
    text: String,
    json: String,
}

fn uuid_of(number: u128, spelling: u8) -> Id {
    let digits = format!("{number:032x}");
    let text = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-");
    let written = match spelling % 4 {
        0 => text.clone(),
        1 => text.to_uppercase(),
        2 => format!("urn:uuid:{text}"),
        _ => format!("\\u0055RN:UUID:{}", text.to_uppercase()),
    };
    Id { text, json: format!("\"{written}\"") }
}

fn integer_of(number: i64, spelling: u8) -> Id {
    let text = number.to_string();
    let json = if number == 0 && spelling % 2 == 1 { "-0".to_owned() } else { text.clone() };
    Id { text, json }
}

fn id(id_type: IdType) -> BoxedStrategy<Id> {
    let integers = prop_oneof![
        -3_i64..20,
        Just(i64::MIN),
        Just(i64::MAX),
        9_007_199_254_740_990_i64..9_007_199_254_740_996,
        any::<i64>()
    ];
    let uuids = prop_oneof![0_u128..8, (0_u128..8).prop_map(|low| u128::MAX - low), any::<u128>()];
    let strings = prop_oneof!["[a-c]{1,2}", Just("é\"\n".to_owned()), Just("10".to_owned())];
    match id_type {
        IdType::Integer => (integers, any::<u8>()).prop_map(|(n, spelling)| integer_of(n, spelling)).boxed(),
        IdType::Uuid => (uuids, any::<u8>()).prop_map(|(n, spelling)| uuid_of(n, spelling)).boxed(),
        _ => strings.prop_map(|text| Id { json: serde_json::to_string(&text).unwrap(), text }).boxed(),
    }
}

#[derive(Clone, Debug)]
struct World {
    id_type: IdType,
    name: String,
    /// Each document: its id, its `state`, and true if the id is the first member.
    documents: Vec<(Id, String, bool)>,
    asked: Vec<Id>,
}

fn world() -> impl Strategy<Value = World> {
    let types = prop_oneof![Just(IdType::Integer), Just(IdType::Uuid), Just(IdType::String)];
    (types, prop_oneof![Just("ticketId"), Just("id"), Just("ü \"n")]).prop_flat_map(|(id_type, name)| {
        let document = (id(id_type), "[ab]", any::<bool>());
        let documents = prop::collection::vec(document, 0..40);
        let asked = prop::collection::vec(id(id_type), 1..4);
        (documents, asked).prop_map(move |(documents, asked)| World {
            id_type,
            name: name.to_owned(),
            documents,
            asked,
        })
    })
}

fn json(name: &str, (id, state, is_first): &(Id, String, bool)) -> String {
    let (name, id) = (serde_json::to_string(name).unwrap(), &id.json);
    match is_first {
        true => format!("{{{name}:{id},\"state\":\"{state}\"}}"),
        false => format!("{{\"state\":\"{state}\", {name} : {id} }}"),
    }
}

/// Returns the filters of a world as bodies, each with a plain evaluator of id and state.
#[expect(clippy::type_complexity, reason = "the evaluators are only called")]
fn filters(world: &World) -> Vec<(serde_json::Value, Box<dyn Fn(&str, &str) -> bool + '_>)> {
    let name = &world.name;
    // Criteria may spell an id as documents do, but an integer has one spelling.
    let spelled: Vec<String> = (world.asked.iter())
        .map(|id| match world.id_type {
            IdType::Integer => id.text.clone(),
            _ => serde_json::from_str::<String>(&id.json).unwrap(),
        })
        .collect();
    let texts: Vec<&str> = world.asked.iter().map(|id| id.text.as_str()).collect();
    let first = texts[0];
    let part: String = first.chars().take(2).collect();
    let criterion = |op: &str, values: &[String]| serde_json::json!({"criteria": [{"field": name, "op": op, "values": values}]});
    vec![
        (serde_json::json!({ "ids": spelled }), {
            let texts = texts.clone();
            Box::new(move |id, _| texts.contains(&id))
        }),
        (criterion("$contains", &spelled), {
            let texts = texts.clone();
            Box::new(move |id, _| texts.contains(&id))
        }),
        (criterion("=", &spelled[..1]), Box::new(move |id, _| id == first)),
        (criterion("<>", &spelled[..1]), Box::new(move |id, _| id != first)),
        (criterion("$startsWith", &[part.to_uppercase()]), {
            let is_uuid = world.id_type == IdType::Uuid;
            let part = if is_uuid { part.to_lowercase() } else { part.to_uppercase() };
            Box::new(move |id, _| id.starts_with(&part))
        }),
        (criterion("$exists", &["true".to_owned()]), Box::new(|_, _| true)),
        (
            serde_json::json!({"ids": spelled, "criteria": [{"field": "state", "op": "=", "values": ["a"]}]}),
            Box::new(move |id, state| texts.contains(&id) || state == "a"),
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn engine_and_reference_agree_on_documents_with_other_ids(world in world(), rows in 1_usize..20) {
        let catalog = catalog(&world.name, world.id_type);
        let texts: Vec<String> = world.documents.iter().map(|document| json(&world.name, document)).collect();
        let imported = Engine::builder(catalog.clone()).batch_rows(rows).build();
        imported.upsert_many(texts.join("\n").as_bytes()).unwrap();
        let written = Engine::new(catalog.clone());
        let mut last = BTreeMap::new();
        for (at, (text, document)) in texts.iter().zip(&world.documents).enumerate() {
            let parsed = Document::parse(&catalog, text.as_bytes()).unwrap();
            prop_assert_eq!(parsed.id(), document.0.text.as_str());
            written.upsert_document(&parsed).unwrap();
            last.insert(document.0.text.clone(), at);
        }
        imported.validate().unwrap();
        written.validate().unwrap();
        for (body, evaluator) in filters(&world) {
            let filter = Filter::compile(&catalog, body.to_string().as_bytes()).unwrap();
            let strict = Filter::compile(&catalog, format!("{body} ").replace(':', " :\t").as_bytes());
            if !world.name.contains(':') && !body.to_string().contains("urn") && !body.to_string().contains("URN") {
                prop_assert_eq!(&strict.unwrap(), &filter);
            }
            let by_text = Filter::compile_text(&catalog, &filter.to_text()).unwrap();
            prop_assert_eq!(&by_text, &filter, "{}", filter.to_text());
            // In the order of ids, which are sorted as texts.
            let expected: Vec<&str> = last
                .iter()
                .filter(|(id, at)| evaluator(id, &world.documents[**at].1))
                .map(|(id, _)| id.as_str())
                .collect();
            let quoted = Order::parse(&catalog, &world.name).unwrap();
            let request = SearchRequest::new(filter.clone()).with_order(quoted).with_count(true);
            for engine in [&imported, &written] {
                let answer = engine.search(&request).unwrap();
                prop_assert_eq!(answer.ids().collect::<Vec<_>>(), expected.clone(), "{}", body);
                prop_assert_eq!(answer.total(), Some(expected.len() as u64));
            }
            for (text, (id, state, _)) in texts.iter().zip(&world.documents) {
                prop_assert_eq!(reference::matches(&filter, text).unwrap(), evaluator(&id.text, state));
                prop_assert_eq!(filter.matches(text.as_bytes()).unwrap(), evaluator(&id.text, state));
            }
        }
        for id in &world.asked {
            let written_id = match world.id_type {
                IdType::Integer => id.text.clone(),
                _ => serde_json::from_str::<String>(&id.json).unwrap(),
            };
            let expected = last.get(&id.text).map(|at| texts[*at].clone());
            prop_assert_eq!(imported.get(&written_id), expected.clone());
            prop_assert_eq!(imported.contains(&id.text), expected.is_some());
            prop_assert_eq!(imported.delete(&written_id), expected.is_some());
            prop_assert!(!imported.contains(&written_id));
            last.remove(&id.text);
        }
    }

    /// The two parsers accept the same ids, and report the same errors.
    #[test]
    fn both_parsers_read_the_same_ids(
        id in prop_oneof![
            "-?(0|[1-9][0-9]{0,19})",
            "-?[1-9][0-9]{0,2}(\\.0|e1)?",
            "\"[-0-9a-fA-F]{36}\"",
            Just(format!("\"{UUID}\"")),
            Just(format!("\"urn:UUID:{UUID}\"")),
            Just(format!("\"{{{UUID}}}\"")),
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("[1]".to_owned()),
            Just("{}".to_owned()),
            Just("\"\"".to_owned()),
        ],
        integers in any::<bool>(),
    ) {
        let id_type = if integers { IdType::Integer } else { IdType::Uuid };
        let catalog = catalog("ticketId", id_type);
        let text = format!("{{\"state\":\"a\",\"ticketId\":{id}}}");
        let parsed = Document::parse(&catalog, text.as_bytes());
        let good = if integers { "{\"state\":\"a\",\"ticketId\":7}".to_owned() } else { format!("{{\"state\":\"a\",\"ticketId\":\"{UUID}\"}}") };
        let engine = Engine::new(catalog.clone());
        let mut import = engine.import(ImportMode::Lenient);
        import.push(format!("{good}\n{good}\n{text}\n").as_bytes()).unwrap();
        let report = import.commit().unwrap();
        prop_assert_eq!(report.skipped > 0, parsed.is_err(), "{}", text);
        match parsed {
            Ok(document) => prop_assert!(engine.contains(document.id())),
            Err(errors) => {
                prop_assert_eq!(errors.as_slice()[0].kind, ErrorKind::BadId);
                let json: Result<serde_json::Value, _> = serde_json::from_str(&text);
                prop_assert!(json.is_err() || errors.as_slice()[0].expected == match id_type {
                    IdType::Integer => "an integer of 64 bits, without fraction and exponent",
                    _ => "a UUID, a string such as `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`",
                }, "{:?}", errors);
            }
        }
    }
}

#[test]
fn errors_name_the_id_of_the_catalogue() {
    let catalog = catalog("ticketId", IdType::Integer);
    for (text, expected) in [
        ("{}", "found no `ticketId`, expected an integer of 64 bits, without fraction and exponent"),
        (
            r#"{"TicketID":1}"#,
            "found no `ticketId`, expected an integer of 64 bits, without fraction and exponent; did you mean to name the member `TicketID` as the id in the catalogue?",
        ),
        (
            r#"{"id":"1"}"#,
            "found no `ticketId`, expected an integer of 64 bits, without fraction and exponent; did you mean to name the member `id` as the id in the catalogue?",
        ),
        (
            r#"{"ticketId":"1"}"#,
            "ticketId: found a string, expected an integer of 64 bits, without fraction and exponent",
        ),
        (
            r#"{"ticketId":1.5}"#,
            "ticketId: found `1.5`, expected an integer of 64 bits, without fraction and exponent",
        ),
    ] {
        let errors = Document::parse(&catalog, text.as_bytes()).unwrap_err();
        let error = &errors.as_slice()[0];
        let shown = match error.path.as_str() {
            "" => error.message(),
            path => format!("{path}: {}", error.message()),
        };
        assert_eq!(shown, expected, "{text}");
    }
    for (body, expected) in [
        (
            r#"{"ids":["7","x"]}"#,
            "ids[1]: found `x`, expected an integer of 64 bits such as `12` or `-5`, since `ticketId` has such ids",
        ),
        (
            r#"{"criteria":[{"field":"ticketId","op":"=","values":["007"]}]}"#,
            "criteria[0].values[0]: found `007`, expected an integer of 64 bits such as `12` or `-5`, since `ticketId` has such ids; did you mean `7`?",
        ),
        (
            r#"{"criteria":[{"field":"id","op":"=","values":["7"]}]}"#,
            "criteria[0].field: found `id`, expected a field of the catalogue; did you mean `ticketId`?",
        ),
    ] {
        let errors = Filter::compile(&catalog, body.as_bytes()).unwrap_err();
        let shown = errors.as_slice()[0].to_string();
        assert_eq!(shown.split_once(": ").unwrap().1, expected.split_once(": ").unwrap().1, "{shown}");
    }
}

#[test]
fn only_one_other_member_can_be_the_id() {
    let own = Catalog::new([Field::new("a.b", FieldType::String)]).unwrap();
    for name in ["", "x.y", "x[]"] {
        assert_eq!(own.with_id(name, IdType::String), Err(CatalogError::BadIdName(name.to_owned())));
    }
    assert_eq!(own.with_id("a", IdType::Uuid), Err(CatalogError::PathConflict("a.b".to_owned())));
    let beside = Catalog::new([Field::new("n", FieldType::Number)]).unwrap();
    assert_eq!(beside.with_id("n", IdType::Integer), Err(CatalogError::DuplicateName("n".to_owned())));
    // The old name is free for a field.
    let tickets = beside.with_id("ticketId", IdType::Integer).unwrap();
    let grown = tickets.with([Field::new("id", FieldType::Boolean)]).unwrap();
    let engine = Engine::new(grown.clone());
    engine.upsert(br#"{"id":true,"ticketId":5}"#).unwrap();
    let count = |text: &str| engine.count(&Filter::compile_text(&grown, text).unwrap()).unwrap();
    assert_eq!((count("id = true"), count("ticketId = 5"), count("ids (5, 6)")), (1, 1, 1));
    // Catalogues with different ids are different.
    assert_ne!(tickets, beside.with_id("ticketId", IdType::Uuid).unwrap());
    assert!(!beside.is_within(&tickets) && !tickets.is_within(&beside));
    assert!(tickets.is_within(&grown));
    assert_eq!((tickets.id_name(), tickets.id_type()), ("ticketId", IdType::Integer));
    // The id of another catalogue is an ordinary field.
    let copied = Catalog::new(tickets.fields().to_vec()).unwrap();
    assert_eq!((copied.id_name(), copied.id_type()), ("id", IdType::String));
    assert!(Document::parse(&copied, br#"{"id":"a","ticketId":"b"}"#).is_ok());
}

#[test]
fn catalogues_with_other_ids_are_read_back() {
    for id_type in [IdType::String, IdType::Integer, IdType::Uuid] {
        let own = catalog("ticketId", id_type);
        for catalog in [own.allow(["state"]).unwrap(), own.allow(["ticketId", "n"]).unwrap(), own] {
            let json = catalog.to_json();
            assert_eq!(Catalog::from_json(&json).unwrap(), catalog, "{json}");
            #[cfg(feature = "serde")]
            {
                assert_eq!(
                    serde_json::to_value(&catalog).unwrap(),
                    serde_json::from_str::<serde_json::Value>(&json).unwrap()
                );
                assert_eq!(serde_json::from_str::<Catalog>(&json).unwrap(), catalog);
            }
        }
    }
}

#[test]
fn documents_that_are_not_kept_have_their_id() {
    for (id_type, document, expected) in [
        (IdType::Integer, r#"{"ticketId":-5}"#, r#"{"ticketId":-5}"#.to_owned()),
        (IdType::String, r#"{"ticketId":"a"}"#, r#"{"ticketId":"a"}"#.to_owned()),
        (
            IdType::Uuid,
            r#"{"ticketId":"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"}"#,
            format!(r#"{{"ticketId":"{UUID}"}}"#),
        ),
    ] {
        let catalog = catalog("ticketId", id_type);
        let engine = Engine::builder(catalog.clone()).without_documents().build();
        engine.upsert(document.as_bytes()).unwrap();
        let answer = engine.search(&SearchRequest::new(Filter::all(&catalog))).unwrap();
        let start = format!("{{\"list\":{{\"items\":[{expected}],");
        assert!(answer.to_json().starts_with(&start), "{}", answer.to_json());
        let mut written = Vec::new();
        answer.write_json(&mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), answer.to_json());
        let ids: Vec<(&str, &str)> = answer.ids().map(|id| (id, "")).collect();
        let request = SearchRequest::new(Filter::all(&catalog));
        let again = casefilter::SearchAnswer::of_documents(&request, None, ids);
        assert!(again.to_json().starts_with(&start));
    }
}

/// A document with the member `list` is a document if it has an id of the catalogue.
#[test]
fn a_document_that_resembles_an_answer_is_a_document() {
    let catalog = catalog("ticketId", IdType::Integer);
    let engine = Engine::new(catalog);
    engine.upsert_many(br#"{"list":{"items":[{"ticketId":1}]},"ticketId":2}"#).unwrap();
    assert!(engine.contains("2") && !engine.contains("1"));
    engine.upsert_many(br#"{"list":{"items":[{"ticketId":1}]},"id":2}"#).unwrap();
    assert!(engine.contains("1"));
}

#[cfg(feature = "serde")]
mod serialized {
    use super::*;

    #[derive(serde::Serialize)]
    struct Ticket<T> {
        #[serde(rename = "ticketId")]
        id: T,
        state: &'static str,
    }

    fn check<T: serde::Serialize>(id_type: IdType, id: T) {
        let catalog = catalog("ticketId", id_type);
        let ticket = Ticket { id, state: "a" };
        let text = serde_json::to_string(&ticket).unwrap();
        let of_value = Document::of(&catalog, &ticket);
        match Document::parse(&catalog, text.as_bytes()) {
            Ok(parsed) => assert_eq!(of_value.unwrap().id(), parsed.id(), "{text}"),
            Err(errors) => {
                let texts = |errors: &casefilter::Errors| -> Vec<String> {
                    errors
                        .as_slice()
                        .iter()
                        .map(|error| format!("{}: {}", error.path, error.message()))
                        .collect()
                };
                assert_eq!(texts(&of_value.unwrap_err()), texts(&errors), "{text}");
            }
        }
    }

    #[test]
    fn ids_of_rust_values_are_read_like_their_json() {
        for id_type in [IdType::Integer, IdType::Uuid] {
            check(id_type, 5_i64);
            check(id_type, 0_u8);
            check(id_type, i64::MIN);
            check(id_type, u64::MAX);
            check(id_type, 1.5);
            check(id_type, 5.0);
            check(id_type, f64::NAN);
            check(id_type, true);
            check(id_type, UUID.to_uppercase());
            check(id_type, format!("URN:uuid:{UUID}"));
            check(id_type, "5");
            check(id_type, "");
            check(id_type, None::<u8>);
            check(id_type, Some(7));
            check(id_type, [1]);
        }
    }
}

#[cfg(feature = "store")]
#[test]
fn a_store_keeps_the_id_of_its_catalogue() {
    use casefilter::{Durability, Store, StoreOptions};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tickets.db");
    for id_type in [IdType::Integer, IdType::Uuid] {
        let own = catalog("ticketId", id_type);
        let texts = match id_type {
            IdType::Integer => [10, 9, -1].map(|id| format!("{{\"ticketId\":{id}}}")),
            _ => [3, 2, 1].map(|id| format!("{{\"ticketId\":{}}}", uuid_of(id, 1).json)),
        };
        let ids = match id_type {
            IdType::Integer => ["-1", "10", "9"].map(str::to_owned),
            _ => [1, 2, 3].map(|id| uuid_of(id, 0).text),
        };
        let store = Store::create(&path, own.clone(), StoreOptions::default()).unwrap();
        store.upsert_many(texts.join("\n").as_bytes()).unwrap();
        store.upsert(texts[0].as_bytes(), Durability::Synced).unwrap();
        drop(store);
        let store = Store::open(&path, own.clone(), StoreOptions::default()).unwrap();
        let request =
            SearchRequest::new(Filter::all(&own)).with_order(Order::parse(&own, "ticketId").unwrap());
        let answer = store.search(&request).unwrap();
        assert_eq!(answer.ids().collect::<Vec<_>>(), ids, "sorted as texts");
        assert_eq!(store.get(&ids[0].to_uppercase()).unwrap().as_deref(), Some(texts[2].as_str()));
        assert!(store.delete(&ids[0].to_uppercase(), Durability::Synced).unwrap());
        assert_eq!(store.len(), 2);
        drop(store);
        for other in [catalog("ticketId", IdType::String), catalog("id", id_type), Catalog::cases()] {
            assert!(Store::open(&path, other, StoreOptions::default()).is_err());
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[cfg(feature = "arrow")]
mod arrow {
    use super::*;
    use arrow_array::{Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
    use casefilter::arrow::DocumentEncoder;
    use std::sync::Arc;

    fn load(catalog: &Catalog, batch: &RecordBatch) -> Result<Engine, String> {
        let engine = Engine::new(catalog.clone());
        let mut import = engine.import(ImportMode::Strict);
        let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
        import.record_batches("tickets", reader).map_err(|error| error.to_string())?;
        import.commit().map_err(|error| error.to_string())?;
        Ok(engine)
    }

    #[test]
    fn ids_are_columns_of_their_type() {
        for id_type in [IdType::Integer, IdType::Uuid, IdType::String] {
            let catalog = catalog("ticketId", id_type);
            let spelled = match id_type {
                IdType::Integer => [7, i64::MIN].map(|id| integer_of(id, 0)),
                _ => [7, u128::MAX].map(|id| uuid_of(id, 1)),
            };
            let mut encoder = DocumentEncoder::new(&catalog);
            for id in &spelled {
                encoder.push(&format!("{{\"ticketId\":{},\"state\":\"a\"}}", id.json)).unwrap();
            }
            let batch = encoder.finish();
            let is_integers = batch.column_by_name("ticketId").unwrap().as_any().is::<Int64Array>();
            assert_eq!(is_integers, id_type == IdType::Integer);
            let engine = load(&catalog, &batch).unwrap();
            let written: Vec<String> = match id_type {
                IdType::String => spelled.iter().map(|id| id.text.to_uppercase()).collect(),
                _ => spelled.iter().map(|id| id.text.clone()).collect(),
            };
            assert!(written.iter().all(|id| engine.contains(id)));
            let filter = Filter::compile_text(&catalog, &format!("ticketId = \"{}\"", written[1])).unwrap();
            let mask = filter.mask(&batch).unwrap();
            assert_eq!(mask.values().iter().collect::<Vec<_>>(), [false, true]);
            let any = Filter::compile_text(&catalog, "ticketId starts with '-9'").unwrap();
            let count = if id_type == IdType::Integer { 1 } else { 0 };
            assert_eq!(any.mask(&batch).unwrap().true_count(), count);
        }
    }

    #[test]
    fn columns_of_other_types_are_rejected() {
        let texts = Arc::new(StringArray::from(vec!["7"])) as _;
        let batch = RecordBatch::try_from_iter([("ticketId", texts)]).unwrap();
        let error = load(&catalog("ticketId", IdType::Integer), &batch).unwrap_err();
        assert!(error.contains("found a column of type Utf8View, expected integers"), "{error}");
        let error = load(&catalog("ticketId", IdType::Uuid), &batch).unwrap_err();
        assert!(error.contains("found `7`, expected a UUID"), "{error}");
        let error = load(&catalog("number", IdType::Integer), &batch).unwrap_err();
        assert!(
            error.contains("found no column `number`, expected a column `number` of integers"),
            "{error}"
        );
        let numbers = Arc::new(Int64Array::from(vec![7])) as _;
        let batch = RecordBatch::try_from_iter([("ticketId", numbers)]).unwrap();
        let error = load(&catalog("ticketId", IdType::String), &batch).unwrap_err();
        assert!(error.contains("expected strings"), "{error}");
    }
}

#[cfg(feature = "sql")]
#[test]
fn sql_names_the_column_of_the_id() {
    use casefilter::sql::{Datum, Dialect, Table};
    let catalog = catalog("ticketId", IdType::Integer);
    let table = Table::new(&catalog);
    assert_eq!(table.columns()[1].name(), "ticket_id");
    let row = table.row(0, r#"{"ticketId":12}"#).unwrap();
    assert_eq!(row[1], Datum::Text("12".into()));
    let filter = Filter::compile_text(&catalog, "ids (12)").unwrap();
    let request = SearchRequest::new(filter).with_order(Order::parse(&catalog, "n").unwrap());
    for dialect in Dialect::ALL {
        let page = table.page(dialect, &request).unwrap().to_literal();
        let ddl = table.script(dialect, "tickets.parquet");
        for text in [&page, &ddl] {
            assert!(text.contains("ticket_id"), "{text}");
            assert!(!text.contains("\"id\"") && !text.contains("`id`"), "{text}");
        }
        assert!(page.contains("'12'"), "{page}");
    }
}

#[test]
fn integers_in_rust_test_integer_ids() {
    use casefilter::Operator;
    let catalog = catalog("ticketId", IdType::Integer);
    let filter = Filter::test(&catalog, "ticketId", Operator::Contains, [5_i64, -7]).unwrap();
    assert_eq!(filter, Filter::compile_text(&catalog, "ticketId in (5, -7)").unwrap());
    assert!(Filter::test(&catalog, "ticketId", Operator::Equal, [true]).is_err());
}
