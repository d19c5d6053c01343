//! Tests that a host program gets an error, not a wrong answer or a panic, if it combines requests, filters and orders that do not
//! match.

use casefilter::{
    Catalog, Direction, Engine, Error, ErrorKind, Field, FieldType, Filter, FilterBuilder, FilterCache,
    Limits, Order, SearchParams, SearchRequest, reference,
};

/// Creates three tickets with two tags each. The tags of different tickets interleave.
fn engine(catalog: Catalog) -> Engine {
    let engine = Engine::new(catalog);
    let tickets = br#"[{"id":"1","tags":["a","d"]},{"id":"2","tags":["b","c"]},{"id":"3","tags":["e"]}]"#;
    engine.upsert_many(tickets).unwrap();
    engine
}

/// Runs a request on everything that answers requests, and returns the kinds of the errors.
fn kinds(engine: &Engine, request: &SearchRequest) -> Vec<Option<ErrorKind>> {
    let kind = |error: Error| error.kind;
    let clock = || std::time::Duration::ZERO;
    vec![
        engine.search(request).err().map(kind),
        engine.explain(request).err().map(kind),
        engine.analyze(request, &clock).err().map(kind),
    ]
}

const MISMATCH: [Option<ErrorKind>; 3] = [Some(ErrorKind::CatalogMismatch); 3];

#[test]
fn an_order_by_a_list_field_is_an_error() {
    let catalog = Catalog::cases();
    for direction in [Direction::Ascending, Direction::Descending] {
        let error = Order::by(&catalog, "tags", direction).unwrap_err();
        assert_eq!((error.kind, error.path.as_str()), (ErrorKind::OrderByMany, "order"));
        assert_eq!(Order::by(&catalog, "tagz", direction).unwrap_err().kind, ErrorKind::UnknownField);
    }
}

#[test]
fn a_request_of_another_catalogue_is_an_error_everywhere() {
    let engine = engine(Catalog::cases());
    let other = Catalog::new([Field::new("priority", FieldType::String)]).unwrap();
    let filter = Filter::compile_text(&other, "priority = high").unwrap();
    assert_eq!(kinds(&engine, &SearchRequest::new(filter.clone())), MISMATCH);
    assert_eq!(engine.count(&filter).unwrap_err().kind, ErrorKind::CatalogMismatch);
    let own = Filter::all(engine.catalog());
    assert_eq!(own.and(&filter).unwrap_err().kind, ErrorKind::CatalogMismatch);
    let cache = FilterCache::new(FilterBuilder::new(engine.catalog()), 1 << 20);
    assert_eq!(cache.within(&filter).err().map(|error| error.kind), Some(ErrorKind::CatalogMismatch));

    let order = Order::by(&other, "priority", Direction::Ascending).unwrap();
    let foreign = SearchRequest::new(own).with_order(Some(order.clone()));
    assert_eq!(kinds(&engine, &foreign), MISMATCH);
    assert_eq!(reference::search(&[], &foreign).unwrap_err().kind, ErrorKind::CatalogMismatch);
    // The same catalogue is no error.
    let both = SearchRequest::new(filter).with_order(Some(order));
    assert_eq!(reference::search(&[], &both), Ok((vec![], 0)));
}

#[test]
fn an_order_by_a_hidden_field_is_an_error() {
    let engine = engine(Catalog::cases());
    let shown = engine.catalog().allow(["id", "tags"]).unwrap();
    let hidden = Order::by(engine.catalog(), "createdAt", Direction::Descending).unwrap();
    let request = SearchRequest::new(Filter::compile_text(&shown, "tags = a").unwrap());
    assert_eq!(kinds(&engine, &request.clone().with_order(Some(hidden.clone()))), MISMATCH);
    let error = engine.search(&request.clone().with_order(Some(hidden.clone()))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "order: found an order by `createdAt`, which the catalogue of the filter hides or does not contain, expected a field of \
         that catalogue, or a filter joined by `Filter::and` with one that shows the field"
    );
    // The advice of the error message works.
    let wider = request.filter.and(&Filter::all(engine.catalog())).unwrap();
    let found = engine.search(&SearchRequest::new(wider).with_order(Some(hidden))).unwrap();
    assert_eq!(found.ids().collect::<Vec<_>>(), ["1"]);
    let by_id = Order::by(engine.catalog(), "id", Direction::Descending).unwrap();
    assert_eq!(engine.search(&request.with_order(Some(by_id))).unwrap().len(), 1);
}

#[test]
fn the_limits_of_an_engine_bound_its_pages() {
    let limits = Limits::default().with_page(2);
    let engine = Engine::builder(Catalog::cases()).limits(limits.clone()).build();
    engine.upsert_many(br#"[{"id":"1"},{"id":"2"},{"id":"3"}]"#).unwrap();
    let all = SearchRequest::new(Filter::all(engine.catalog()));
    let too_large = [Some(ErrorKind::PageTooLarge); 3];
    assert_eq!(kinds(&engine, &all), too_large, "the default page is larger");
    assert_eq!(kinds(&engine, &all.clone().with_limit(3)), too_large);
    assert_eq!(kinds(&engine, &all.clone().with_limit(u64::MAX)), too_large);
    let error = engine.search(&all.clone().with_limit(3)).unwrap_err();
    assert_eq!((error.path.as_str(), error.message().as_str()), ("limit", "found 3, expected at most 2"));
    assert_eq!(engine.search(&all.clone().with_limit(2).with_offset(1)).unwrap().len(), 2);
    assert_eq!(engine.count(&all.filter), Ok(3), "a count has no page");
    // A request parsed under these limits fits.
    let parsed = FilterBuilder::new(engine.catalog())
        .with_limits(limits.clone())
        .request(br#"{"ids":["1","2","3"]}"#, &SearchParams::new())
        .unwrap();
    assert_eq!(engine.search(&parsed).unwrap().len(), 2);
    // A host that raises the limits gets larger pages.
    let unbounded = Limits::default().with_page(u64::MAX);
    let engine = Engine::builder(Catalog::cases()).limits(unbounded).build();
    engine.upsert_many(br#"[{"id":"1"},{"id":"2"},{"id":"3"}]"#).unwrap();
    assert_eq!(engine.search(&all.with_limit(u64::MAX)).unwrap().len(), 3);
}

#[test]
fn a_field_id_of_another_catalogue_is_an_error() {
    let (cases, small) = (Catalog::cases(), Catalog::new([]).unwrap());
    let tags = cases.find("tags").unwrap();
    assert!(small.get(tags).is_none() && !small.is_visible(tags));
    assert_eq!(cases.get(tags).map(Field::name), Some("tags"));
}

#[test]
fn an_extended_catalogue_accepts_earlier_filters_and_orders() {
    let before = Catalog::cases();
    let filter = Filter::compile_text(&before, "tags in (a, e)").unwrap();
    let narrow = Filter::compile_text(&before.allow(["tags"]).unwrap(), "tags <> c").unwrap();
    let newest = Order::by(&before, "id", Direction::Descending).unwrap();
    let grown = before.with([Field::new("riskScore", FieldType::Number)]).unwrap();
    let engine = engine(grown.clone());
    engine.upsert(br#"{"id":"4","tags":["a"],"riskScore":7}"#).unwrap();

    let found = engine.search(&SearchRequest::new(filter.clone()).with_order(Some(newest))).unwrap();
    assert_eq!(found.ids().collect::<Vec<_>>(), ["4", "3", "1"]);
    assert_eq!(engine.count(&narrow), Ok(3));
    let risky = Filter::compile_text(&grown, "riskScore > 5").unwrap();
    for both in [filter.and(&risky).unwrap(), risky.and(&filter).unwrap(), narrow.and(&risky).unwrap()] {
        assert_eq!(engine.search(&SearchRequest::new(both)).unwrap().ids().collect::<Vec<_>>(), ["4"]);
    }
    let cache = FilterCache::new(FilterBuilder::new(&grown), 1 << 20).within(&filter).unwrap();
    assert_eq!(engine.count(&cache.compile(br#"{"ids":["2","4"]}"#).unwrap()), Ok(1));
    // The reverse is an error: an engine without the field cannot answer.
    let old = Engine::new(before);
    assert_eq!(old.count(&risky).unwrap_err().kind, ErrorKind::CatalogMismatch);
}

#[test]
fn filters_of_two_allow_lists_can_be_combined() {
    let engine = engine(Catalog::cases());
    let [ids, tags] = [["id"], ["tags"]].map(|names| engine.catalog().allow(names).unwrap());
    let one = Filter::compile_text(&ids, "id <> 3").unwrap();
    let other = Filter::compile_text(&tags, "tags in (a, e)").unwrap();
    for both in [one.and(&other).unwrap(), other.and(&one).unwrap()] {
        assert_eq!(
            engine.search(&SearchRequest::new(both.clone())).unwrap().ids().collect::<Vec<_>>(),
            ["1"]
        );
        assert_eq!(Filter::compile(both.catalog(), both.to_json().as_bytes()).unwrap(), both);
    }
    // The cache of one role, combined with the filter of another role.
    let cache = FilterCache::new(FilterBuilder::new(&ids), 1 << 20).within(&other).unwrap();
    assert_eq!(engine.count(&cache.compile(br#"{"ids":["1","2"]}"#).unwrap()), Ok(1));
    assert!(cache.compile(br#"{"criteria":[{"field":"tags","op":"=","values":["a"]}]}"#).is_err());
}

/// Every limit at 0 and at its maximum, alone and together, on texts far beyond the defaults, on a small stack.
#[test]
fn limits_may_have_any_values() {
    let work = || {
        let catalog = Catalog::cases();
        let all = |size: usize, page: u64| {
            let limits = Limits::default().with_body_bytes(size).with_depth(size).with_criteria(size);
            let limits = limits.with_values(size).with_ids(size).with_string_bytes(size).with_page(page);
            limits.with_document_bytes(size).with_document_depth(size).with_batches(size)
        };
        let (least, greatest) = (all(0, 0), all(usize::MAX, u64::MAX));
        let body = br#"{"ids":["a"],"criteria":[{"field":"name","op":"=","values":["b"]}]}"#;
        let (open, close) = (r#"{"op":"$and","children":["#, "]}");
        let test = r#"{"field":"name","op":"=","values":["b"]}"#;
        let deep = format!(r#"{{"criteria":[{}{test}{}]}}"#, open.repeat(20_000), close.repeat(20_000));
        let nested = format!("{}name = b{}", "(".repeat(20_000), ")".repeat(20_000));
        let document = format!(r#"{{"id":"a","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));

        assert!(FilterBuilder::new(&catalog).with_limits(least.clone()).json(body).is_err());
        assert!(FilterBuilder::new(&catalog).with_limits(least.clone()).text("name = b").is_err());
        let page = SearchParams::new().limit("1");
        assert!(FilterBuilder::new(&catalog).with_limits(least.clone()).request(body, &page).is_err());
        let engine = Engine::builder(catalog.clone()).limits(least).build();
        assert!(engine.upsert(br#"{"id":"a"}"#).is_err() && engine.is_empty());
        let nothing = SearchRequest::new(Filter::all(&catalog)).with_limit(0);
        assert!(engine.search(&nothing).unwrap().is_empty());

        let filter =
            FilterBuilder::new(&catalog).with_limits(greatest.clone()).json(deep.as_bytes()).unwrap();
        assert_eq!(filter, FilterBuilder::new(&catalog).with_limits(greatest.clone()).text(&nested).unwrap());
        let unoptimized = filter.unoptimized();
        let engine = Engine::builder(catalog.clone()).limits(greatest.clone()).build();
        engine.upsert(document.as_bytes()).unwrap();
        engine.upsert(br#"{"id":"b","name":"b"}"#).unwrap();
        for filter in [&filter, &unoptimized] {
            assert_eq!(engine.count(filter), Ok(1));
            let all = SearchRequest::new(filter.clone()).with_limit(u64::MAX).with_offset(u64::MAX);
            assert!(engine.search(&all).unwrap().is_empty());
            assert!(!engine.explain(&all).unwrap().to_string().is_empty());
            assert_eq!(engine.search(&all.with_offset(0)).unwrap().ids().collect::<Vec<_>>(), ["b"]);
        }
        assert!(unoptimized.to_text().len() + unoptimized.to_json().len() + unoptimized.plan().len() > 0);
        let cache = FilterCache::new(FilterBuilder::new(&catalog).with_limits(greatest), usize::MAX);
        assert_eq!(cache.compile(deep.as_bytes()), Ok(filter));
        assert!(FilterCache::new(FilterBuilder::new(&Catalog::cases()), 0).compile(body).is_ok());
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn values_at_the_ends_of_their_types_are_printed_and_compared() {
    use casefilter::{Number, Operator, Timestamp, Value};
    for ms in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX] {
        assert!(!Timestamp::from_millis(ms).to_string().is_empty());
        // An error, or a filter that selects no case.
        let filter =
            Filter::test(&Catalog::cases(), "createdAt", Operator::Less, [Timestamp::from_millis(ms)]);
        assert!(filter.is_err() || !filter.unwrap().matches(br#"{"id":"a"}"#).unwrap());
    }
    for number in [Number::MIN, Number::MAX, Number::ZERO, Number::new(f64::MIN_POSITIVE).unwrap()] {
        for operator in [Operator::Less, Operator::GreaterOrEqual, Operator::Equal] {
            let filter =
                Filter::test(&Catalog::cases(), "totalAmountInDefaultCurrency", operator, [number]).unwrap();
            let document = format!(r#"{{"id":"a","totalAmountInDefaultCurrency":{number}}}"#);
            assert_eq!(
                filter.matches(document.as_bytes()),
                Ok(operator != Operator::Less),
                "{operator} {number}"
            );
        }
    }
    assert!(Value::from("a") > Value::from(1) || Value::from("a") < Value::from(1));
}
