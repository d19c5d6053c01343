//! The library as hosts use it: documents by id, parsed documents, answers to writers, and errors with their documents.

use casefilter::{
    Catalog, Document, Engine, EngineBuilder, ErrorKind, Field, FieldType, Filter, FilterBuilder,
    FilterSource, ImportMode, Limits, Order, SearchRequest, Searchable, UpsertOutcome,
};

const DOCUMENTS: [&str; 6] = [
    r#"{"id":"a","tags":["vip","cash","vip"],"totalAmountInDefaultCurrency":10.5,"priority":"high"}"#,
    r#"{"id":"b","name":"García","createdAt":"2024-02-29 00:00:00+0100","unknown":[1,{"x":null}]}"#,
    r#"{"id":"c","caseReview":{"status":"open","checklistState":{"checklist":[{"name":"y","checked":true},{"name":"x"},null]}}}"#,
    r#"{"id":"d","applicantInfo":{"dob":"86400000"},"tags":[]}"#,
    r#"{"id":"a","tags":["cash"],"name":"replaced"}"#,
    r#"{"id":"\u0065\"","priority":null}"#,
];

const FILTERS: [&str; 11] = [
    "true",
    "tags = cash",
    "priority = medium",
    "createdAt < '2024-02-29 00:00:00' or applicantInfo.dob >= '1970-01-02 00:00:00'",
    "caseReview.checklistState.checklist.checked = true",
    "caseReview.checklistState.checklist has (name = x and checked is absent)",
    "caseReview.checklistState.checklist has (name = x and checked = true)",
    "caseReview.checklistState.checklist has (name is absent)",
    "name matches GARCIA",
    "totalAmountInDefaultCurrency > 10",
    "tags is absent",
];

fn answers<S: Searchable>(documents: &S) -> Vec<String> {
    let order = Order::parse(documents.catalog(), "-id").unwrap();
    let mut answers = Vec::new();
    for text in FILTERS {
        let request =
            SearchRequest::new(Filter::compile_text(documents.catalog(), text).unwrap()).with_count(true);
        answers.push(documents.search(&request).unwrap().to_json());
        answers.push(documents.search(&request.with_order(order.clone())).unwrap().to_json());
    }
    answers
}

#[test]
fn a_parsed_document_is_stored_as_its_text_is() {
    for rows in [1, 3, 65_536] {
        let [texts, parsed] = [(); 2].map(|()| Engine::builder(Catalog::cases()).batch_rows(rows).build());
        for text in DOCUMENTS {
            let expected = texts.upsert(text.as_bytes()).unwrap();
            let document = Document::parse(&Catalog::cases(), format!(" {text}\n").as_bytes()).unwrap();
            assert_eq!(document.text(), Some(text));
            assert_eq!(parsed.upsert_document(&document), Ok(expected));
            assert_eq!(parsed.get(document.id()).as_deref(), Some(text));
        }
        parsed.validate().unwrap();
        assert_eq!(answers(&parsed), answers(&texts), "{rows} rows");
    }
}

#[test]
fn a_document_that_does_not_fit_the_engine_is_rejected() {
    let cases = Catalog::cases();
    let document = Document::parse(&cases, br#"{"id":"a"}"#).unwrap();
    let kind = |engine: &Engine| engine.upsert_document(&document).map_err(|error| error.kind);

    let grown = cases.with([Field::new("riskScore", FieldType::Number)]).unwrap();
    let narrow = cases.allow(["tags"]).unwrap();
    for catalog in [grown, narrow, Catalog::new([]).unwrap()] {
        assert_eq!(kind(&Engine::new(catalog)), Err(ErrorKind::CatalogMismatch));
    }
    let limited =
        |bytes| Engine::builder(cases.clone()).limits(Limits::default().with_document_bytes(bytes)).build();
    assert_eq!(kind(&limited(9)), Err(ErrorKind::DocumentTooLarge));
    assert_eq!(kind(&limited(10)), Ok(UpsertOutcome::Stored));
}

#[cfg(feature = "serde")]
#[test]
fn a_document_of_a_value_needs_its_text_where_documents_are_kept() {
    let cases = Catalog::cases();
    let value = serde_json::json!({"id": "a", "tags": ["vip"], "other": {"x": 1}});
    let without = Document::of(&cases, &value).unwrap();
    let with = Document::of_with_text(&cases, &value).unwrap();
    assert_eq!((without.text(), with.text()), (None, Some(value.to_string().as_str())));
    let vip = Filter::compile_text(&cases, "tags = vip").unwrap();

    let engine = Engine::new(cases.clone());
    assert_eq!(engine.upsert_document(&without).unwrap_err().kind, ErrorKind::BadValue);
    assert_eq!(engine.upsert_document(&with), Ok(UpsertOutcome::Stored));
    assert_eq!(engine.get("a"), Some(value.to_string()));

    let ids_only = Engine::builder(cases.clone()).without_documents().build();
    assert_eq!(ids_only.upsert_document(&without), Ok(UpsertOutcome::Stored));
    assert_eq!((ids_only.get("a").as_deref(), ids_only.count(&vip)), (Some(""), Ok(1)));

    let unusable = serde_json::json!({"id": 7});
    assert_eq!(Document::of_with_text(&cases, &unusable).unwrap_err().as_slice()[0].kind, ErrorKind::BadId);
}

#[test]
fn a_document_is_found_by_any_id() {
    let narrow = Catalog::cases().allow(["tags"]).unwrap();
    for engine in [Engine::new(Catalog::cases()), Engine::new(narrow)] {
        for text in DOCUMENTS {
            engine.upsert(text.as_bytes()).unwrap();
        }
        assert_eq!(engine.get("a").as_deref(), Some(DOCUMENTS[4]));
        assert_eq!(engine.get("e\"").as_deref(), Some(DOCUMENTS[5]));
        for missing in ["", "A", "a ", "x", "\0", &"y".repeat(100_000)] {
            assert!(engine.get(missing).is_none() && !engine.contains(missing), "{missing:?}");
        }
        assert!(engine.delete("a") && !engine.contains("a"));
    }
    // The limits of requests do not apply.
    let engine = Engine::builder(Catalog::cases()).limits(Limits::default().with_page(0).with_ids(0)).build();
    engine.upsert(DOCUMENTS[0].as_bytes()).unwrap();
    assert_eq!(engine.get("a").as_deref(), Some(DOCUMENTS[0]));
}

#[test]
fn an_answer_is_written_as_it_is_printed() {
    let engines = [Engine::builder(Catalog::cases()), Engine::builder(Catalog::cases()).without_documents()];
    for engine in engines.map(EngineBuilder::build) {
        for text in DOCUMENTS {
            engine.upsert(text.as_bytes()).unwrap();
        }
        for limit in 0..7 {
            for count in [false, true] {
                let request =
                    SearchRequest::new(Filter::all(engine.catalog())).with_limit(limit).with_count(count);
                let answer = engine.search(&request).unwrap();
                let mut written = Vec::new();
                answer.write_json(&mut written).unwrap();
                assert_eq!(String::from_utf8(written).unwrap(), answer.to_json());
                assert!(serde_json::from_str::<serde_json::Value>(&answer.to_json()).is_ok());
                // A writer that is full: the error is returned wherever it occurs.
                for room in 0..answer.to_json().len() {
                    assert!(answer.write_json(&mut vec![0; room][..]).is_err(), "{room} bytes");
                }
            }
        }
    }
}

#[test]
fn an_import_error_tells_its_document() {
    let errors = |sources: &[(&str, &str)]| {
        let engine = Engine::new(Catalog::cases());
        let mut import = engine.import(ImportMode::Lenient);
        for (name, text) in sources {
            import.begin_source(name).unwrap();
            for part in text.as_bytes().chunks(7) {
                import.push(part).unwrap();
            }
        }
        let report = import.commit().unwrap();
        report
            .errors
            .into_iter()
            .map(|error| (error.source.clone(), error.line, error.document))
            .collect::<Vec<_>>()
    };
    let of = |line, document| vec![("x".to_owned(), line, document)];
    assert_eq!(errors(&[("x", r#"[{"id":"a"},{"id":"b"},{"id":7}]"#)]), of(1, 3));
    assert_eq!(errors(&[("x", "\n\n{\"id\":\"a\"}\n\n{\"id\":7}\n")]), of(5, 2));
    assert_eq!(
        errors(&[("x", "{\"id\":\"a\"}\n{\"id\":\n7}\n{\"id\":\"b\"}")]).first().map(|error| error.2),
        Some(2)
    );
    assert_eq!(
        errors(&[("w", "{\"id\":\"a\"}\n{\"id\":\"b\"}"), ("x", r#"[{"id":"c"},{"name":1,"id":"d"}]"#)]),
        of(1, 2)
    );

    let engine = Engine::new(Catalog::cases());
    let error = engine.upsert_many(br#"[{"id":"a"},{"id":"b"},{"id":7}]"#).unwrap_err();
    assert!(error.to_string().starts_with("line 1, document 3: id (byte"), "{error}");
    let error = engine.upsert_many(b"{\"id\":\"a\"}\n{\"id\":7}").unwrap_err();
    assert!(error.to_string().starts_with("line 2: id (byte"), "{error}");
}

#[cfg(feature = "serde")]
#[test]
fn a_report_of_an_earlier_version_is_read() {
    let json = r#"{"source":"","line":3,"kept":false,"error":{"kind":"bad_id","path":"id","offset":6,"found":"a number","expected":"a string"}}"#;
    let error: casefilter::ImportError = serde_json::from_str(json).unwrap();
    assert_eq!((error.line, error.document), (3, 0));
}

#[test]
fn numbers_fit_fields_of_both_numeric_types() {
    use casefilter::{Operator, Value, field};
    let catalog =
        Catalog::new([Field::new("count", FieldType::Integer), Field::new("cost", FieldType::Number)])
            .unwrap();
    let values = [
        Value::from(5_i64),
        Value::from(5_i32),
        Value::try_from(5_u64).unwrap(),
        Value::try_from(5.0).unwrap(),
    ];
    for value in values {
        for name in ["count", "cost"] {
            let tested = Filter::test(&catalog, name, Operator::GreaterOrEqual, [value.clone()]).unwrap();
            assert_eq!(tested.to_text(), format!("{name} >= 5"));
            assert_eq!(field(name).at_least(value.clone()).compile(&catalog), Ok(tested));
        }
    }
    let fraction = Value::try_from(5.5).unwrap();
    assert!(Filter::test(&catalog, "count", Operator::Equal, [fraction]).is_err());
    assert!(Filter::test(&catalog, "count", Operator::Equal, [Value::from(true)]).is_err());
}

#[test]
fn the_source_of_a_filter_compiles_to_it_again() {
    let cases = Catalog::cases();
    let body = r#"{"ids":["a"], "criteria":[{"field":"tags","op":"$all","values":["x","y"]}]}"#;
    let filter = Filter::compile(&cases, body.as_bytes()).unwrap();
    assert_eq!(filter.source(), Some(FilterSource::Json(body)));
    for text in ["true", " false ", "name = a and name = a", "createdAt on 2025-12-01"] {
        let filter = Filter::compile_text(&cases, text).unwrap();
        let Some(FilterSource::Text(source)) = filter.source() else { panic!("{:?}", filter.source()) };
        assert_eq!(Filter::compile_text(&cases, source), Ok(filter.clone()));
        assert_eq!(filter.unoptimized().source(), filter.source());
        assert_eq!(filter.and(&filter).unwrap().source(), None);
    }
    let criteria = casefilter::field("name").is("x").compile(&cases).unwrap();
    let Some(FilterSource::Json(body)) = criteria.source() else { panic!("criteria are a body") };
    assert_eq!(Filter::compile(&cases, body.as_bytes()), Ok(criteria.clone()));
}

#[test]
fn a_builder_for_an_engine_has_its_catalogue_and_limits() {
    let limits = Limits::default().with_page(7).with_ids(1);
    let engine = Engine::builder(Catalog::cases().allow(["tags"]).unwrap()).limits(limits.clone()).build();
    let builder = FilterBuilder::for_engine(&engine);
    assert_eq!((builder.catalog(), builder.limits()), (engine.catalog(), &limits));
    assert!(builder.json(br#"{"ids":["a","b"]}"#).is_err() && builder.text("name = x").is_err());
}

#[cfg(feature = "store")]
mod store {
    use casefilter::{Durability, Store, StoreErrorKind, StoreOptions};

    use super::*;

    #[test]
    fn a_store_takes_parsed_documents_and_finds_them_after_opening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        let expected = Engine::new(Catalog::cases());
        let open = || Store::open_or_create(&path, Catalog::cases(), StoreOptions::default()).unwrap();
        let store = open();
        for text in DOCUMENTS {
            let outcome = expected.upsert(text.as_bytes()).unwrap();
            let document = Document::parse(store.catalog(), text.as_bytes()).unwrap();
            assert_eq!(store.upsert_document(&document, Durability::Grouped).unwrap(), outcome);
            assert_eq!(store.get(document.id()).unwrap().as_deref(), Some(text));
        }
        store.validate().unwrap();
        assert_eq!(answers(&store), answers(&expected));
        store.close().unwrap();

        let store = open();
        assert_eq!(answers(&store), answers(&expected));
        assert_eq!(store.get("a").unwrap().as_deref(), Some(DOCUMENTS[4]));
        assert_eq!(store.get("x").unwrap(), None);
        assert!(store.contains("b").unwrap() && !store.contains("").unwrap());

        let other = Document::parse(&Catalog::cases().allow(["tags"]).unwrap(), br#"{"id":"z"}"#).unwrap();
        let error = store.upsert_document(&other, Durability::Synced).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::RejectedDocument);
        assert_eq!(error.import_error().unwrap().error.kind, ErrorKind::CatalogMismatch);
        assert!(!store.contains("z").unwrap());
    }

    #[test]
    fn open_or_create_neither_replaces_nor_hides_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "not a database").unwrap();
        let open =
            |path: &std::path::Path| Store::open_or_create(path, Catalog::cases(), StoreOptions::default());
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NotADatabase);
        assert_eq!(format!("{error:?}"), format!("StoreError(NotADatabase, {error})"));
        assert_eq!(std::fs::read(&path).unwrap(), b"not a database");

        let missing = folder.path().join("no folder").join("cases.db");
        assert!(open(&missing).is_err());

        let path = folder.path().join("cases.db");
        let first = open(&path).unwrap();
        assert_eq!(open(&path).unwrap_err().kind(), StoreErrorKind::InUse);
        first.close().unwrap();
    }
}

/// A default of each type, documents with and without the field, and filters with the ids that they select.
#[test]
fn a_field_of_any_type_with_a_default_always_has_a_value() {
    let fields = [
        Field::new("s", FieldType::String).with_default("x"),
        Field::new("n", FieldType::Number).with_known(["1", "2.5"]).with_default("2.5"),
        Field::new("i", FieldType::Integer).with_default("9007199254740993"),
        Field::new("d", FieldType::Decimal { scale: 2 }).with_default("0.1"),
        Field::new("t", FieldType::Timestamp).with_default("2024-01-01 00:00:00"),
        Field::new("b", FieldType::Boolean).with_default("true"),
        Field::new("tags[]", FieldType::String).with_known(["a", "b"]).with_default("b"),
        Field::new("nums[]", FieldType::Number).with_default("7"),
    ];
    let catalog = Catalog::new(fields).unwrap();
    let full = r#"{"id":"full","s":"y","n":1,"i":1,"d":"5","t":"2020-01-01 00:00:00","b":false,"tags":["a"],"nums":[1]}"#;
    let documents = [
        full,
        r#"{"id":"none"}"#,
        r#"{"id":"null","s":null,"n":null,"i":null,"d":null,"t":null,"b":null,"tags":[],"nums":[null]}"#,
    ];
    for rows in [1, 65_536] {
        let engine = Engine::builder(catalog.clone()).batch_rows(rows).build();
        for document in documents {
            engine.upsert(document.as_bytes()).unwrap();
        }
        for (text, selected) in [
            ("s = x", "none null"),
            ("n = 2.5", "none null"),
            ("n > 2", "none null"),
            ("i = 9007199254740993", "none null"),
            ("i < 9007199254740993", "full"),
            ("d = 0.10", "none null"),
            ("d > 0.1", "full"),
            ("t on 2024-01-01", "none null"),
            ("b = true", "none null"),
            ("tags = b", "none null"),
            ("tags > a", "none null"),
            ("tags all (a, b)", ""),
            ("nums = 7", "none null"),
            ("nums <> 7", "full"),
            (
                "n is absent or i is absent or d is absent or b is absent or tags is absent or nums is absent",
                "",
            ),
            ("n is present and i is present and t is present", "full none null"),
        ] {
            let filter = Filter::compile_text(&catalog, text).unwrap();
            let request = SearchRequest::new(filter.clone());
            assert_eq!(
                engine.search(&request).unwrap().ids().collect::<Vec<_>>().join(" "),
                selected,
                "{text}"
            );
            for document in documents {
                let expected = selected.split(' ').any(|id| document.contains(&format!("\"id\":\"{id}\"")));
                assert_eq!(filter.matches(document.as_bytes()), Ok(expected), "{text} {document}");
                assert_eq!(
                    casefilter::reference::matches(&filter, document),
                    Ok(expected),
                    "{text} {document}"
                );
            }
        }
        let order = |by: &str| {
            let order = Order::parse(&catalog, by).unwrap();
            let request = SearchRequest::new(Filter::all(&catalog)).with_order(order);
            engine.search(&request).unwrap().ids().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([order("n"), order("-d"), order("i")], ["full none null"; 3]);
        assert_eq!([order("d"), order("-t"), order("-b")], ["none null full"; 3]);
    }
    let filter = Filter::compile_text(&catalog, "n = 2.5 and nums = 7").unwrap();
    let why = casefilter::reference::why(&filter, documents[1]).unwrap();
    assert!(why.selected && why.fields["n"].absent && why.fields["n"].values == ["2.5"]);
    assert!(why.fields["nums"].absent && why.fields["nums"].values == ["7"]);
    // A value that is not known is a warning, in the spelling of the known values.
    let warnings = |text: &str| Filter::compile_text(&catalog, text).unwrap().warnings();
    assert!(warnings("n = 25e-1 or n > 7").is_empty());
    assert_eq!(warnings("n = 3")[0].kind, casefilter::WarningKind::UnknownValue);
    assert_eq!(warnings("tags in (a, c)")[0].kind, casefilter::WarningKind::UnknownValue);
}

#[test]
fn decimals_are_exact_in_documents_criteria_and_orders() {
    use casefilter::{Decimal, Value, field};
    let catalog = Catalog::new([
        Field::new("price", FieldType::Decimal { scale: 2 }),
        Field::new("fees[]", FieldType::Decimal { scale: 2 }),
    ])
    .unwrap();
    let engine = Engine::new(catalog.clone());
    for document in [
        r#"{"id":"a","price":0.30}"#,
        r#"{"id":"b","price":"92233720368547758.07"}"#,
        r#"{"id":"c","price":92233720368547758.06,"fees":["1.10",2e-1]}"#,
        r#"{"id":"d","price":-0.05}"#,
        r#"{"id":"e","price":1.500}"#,
        r#"{"id":"f"}"#,
    ] {
        engine.upsert(document.as_bytes()).unwrap();
    }
    let ids = |request: &SearchRequest| {
        engine.search(request).unwrap().ids().map(str::to_owned).collect::<Vec<_>>().join("")
    };
    for (text, selected) in [
        ("price = 0.3", "a"),
        ("price = 30e-2", "a"),
        ("price > 92233720368547758.06", "b"),
        ("price >= 92233720368547758.06", "bc"),
        ("price < 0", "d"),
        ("price <= 1.50 and price > 0.29", "ae"),
        ("fees = 0.2", "c"),
        ("fees all (1.1, 0.20)", "c"),
        ("price is absent", "f"),
        ("price in (1.5, 0.30)", "ae"),
    ] {
        let filter = Filter::compile_text(&catalog, text).unwrap();
        assert_eq!(ids(&SearchRequest::new(filter.clone())), selected, "{text}");
        assert_eq!(Filter::compile_text(&catalog, &filter.to_text()), Ok(filter.clone()), "{text}");
        assert_eq!(Filter::compile(&catalog.extended(), filter.to_json().as_bytes()), Ok(filter), "{text}");
    }
    let all = SearchRequest::new(Filter::all(&catalog));
    assert_eq!(ids(&all.clone().with_order(Order::parse(&catalog, "price").unwrap())), "daecbf");
    assert_eq!(ids(&all.with_order(Order::parse(&catalog, "-price").unwrap())), "bceadf");
    for (price, kind) in [
        ("1.505", ErrorKind::BadNumber),
        ("\"1.505\"", ErrorKind::BadNumber),
        ("92233720368547758.08", ErrorKind::BadNumber),
        ("1e17", ErrorKind::BadNumber),
        ("\"1,5\"", ErrorKind::BadNumber),
        ("\"\"", ErrorKind::BadNumber),
        ("true", ErrorKind::WrongType),
    ] {
        let errors = engine.upsert(format!(r#"{{"id":"x","price":{price}}}"#).as_bytes()).unwrap_err();
        let found: Vec<_> = errors.iter().map(|error| (error.path.as_str(), error.kind)).collect();
        assert_eq!(found, [("price", kind)], "{price}");
    }
    let error = Filter::compile_text(&catalog, "price > 1.505").unwrap_err().to_string();
    assert!(
        error.contains("found `1.505`, expected a number with at most 2 digits after the point, from -92233720368547758.08 to 92233720368547758.07, since `price` is a decimal field"),
        "{error}"
    );
    let price: Decimal = "0.3".parse().unwrap();
    let wanted = Filter::compile_text(&catalog, "price = 0.3").unwrap();
    for value in [Value::from(price), Value::try_from(0.3).unwrap(), Value::from("0.30")] {
        assert_eq!(field("price").is(value).compile(&catalog), Ok(wanted.clone()));
    }
    assert_eq!(
        field("price").is(5).compile(&catalog),
        Ok(Filter::compile_text(&catalog, "price = 5.00").unwrap())
    );
    let other_scale = Catalog::new([Field::new("price", FieldType::Decimal { scale: 1 })]).unwrap();
    let other = Filter::compile_text(&other_scale, "price = 0.3").unwrap();
    assert!(other != wanted && other.fingerprint() != wanted.fingerprint());
    assert!(Catalog::new([Field::new("price", FieldType::Decimal { scale: 19 })]).is_err());
}
