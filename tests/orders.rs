//! Tests of orders by several fields and of cursors: their texts, their errors, and pages while other cases change.

use std::collections::BTreeMap;

use casefilter::explain::PageStrategy;
use casefilter::{
    Catalog, Cursor, Direction, Engine, ErrorKind, Field, FieldType, Filter, Limits, Order, SearchParams,
    SearchRequest, reference,
};

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

const ORDERS: &[&str] = &[
    "",
    "id",
    "-id",
    "status",
    "-createdAt",
    "name",
    "totalAmountInDefaultCurrency",
    "priority,-createdAt",
    "-priority,createdAt,-name",
    "status,priority,totalAmountInDefaultCurrency",
    "-createdAt,priority",
    "name,-id",
    "caseReview.assignee,-totalAmountInDefaultCurrency",
    "-totalAmountInDefaultCurrency,status,createdAt",
];

const FILTERS: &[&str] = &[
    "true",
    "status = open",
    "priority <> low and createdAt > '2024-01-05 00:00:00'",
    "applicantReference.applicantId in (a1, a2)",
    "name starts with n1 or totalAmountInDefaultCurrency < 3",
    "status = nothing",
];

/// Returns a random case. Few values of most fields are distinct, and each field is absent from some cases.
fn case(id: &str, random: &mut Random) -> String {
    let mut text = format!(
        r#"{{"id":"{id}","priority":"{}""#,
        ["low", "high", "medium", "own"][random.below(4) as usize]
    );
    if random.below(5) > 0 {
        let status = ["open", "blocked", "awaitingUser", "other", "another"][random.below(5) as usize];
        let assignee = random.below(12);
        text += &format!(r#","caseReview":{{"status":"{status}","assignee":"user{assignee}"}}"#);
    }
    if random.below(5) > 0 {
        let (day, hour) = (random.below(9) + 1, random.below(24));
        text += &format!(r#","createdAt":"2024-01-{day:02} {hour:02}:00:00""#);
    }
    if random.below(4) > 0 {
        text += &format!(r#","totalAmountInDefaultCurrency":{}"#, random.below(6));
    }
    if random.below(4) > 0 {
        text += &format!(r#","name":"n{}""#, random.below(300));
    }
    text + &format!(r#","applicantReference":{{"applicantId":"a{}"}}}}"#, random.below(30))
}

/// The stored cases, in insertion order.
#[derive(Default)]
struct Model(BTreeMap<usize, (String, String)>, usize);

impl Model {
    fn upsert(&mut self, id: &str, text: String) {
        match self.0.values_mut().find(|(own, _)| own == id) {
            Some((_, own)) => *own = text,
            None => {
                self.0.insert(self.1, (id.to_owned(), text));
                self.1 += 1;
            }
        }
    }

    fn delete(&mut self, id: &str) {
        self.0.retain(|_, (own, _)| own != id);
    }

    fn documents(&self) -> Vec<&str> {
        self.0.values().map(|(_, text)| text.as_str()).collect()
    }

    /// Returns the ids of all selected cases, in order.
    fn ids(&self, request: &SearchRequest) -> Vec<String> {
        let request = request.clone().with_offset(0).with_limit(u64::MAX).with_after(None);
        let ids: Vec<&String> = self.0.values().map(|(id, _)| id).collect();
        let (all, _) = reference::search(&self.documents(), &request).unwrap();
        all.into_iter().map(|at| ids[at].clone()).collect()
    }
}

/// Creates an engine of batches that overlap in most orders, with recent single writes and deleted cases.
fn engine(batch_rows: usize, cases: usize) -> (Engine, Model) {
    let engine = Engine::builder(Catalog::cases()).batch_rows(batch_rows).build();
    let (mut model, mut random) = (Model::default(), Random(batch_rows as u64));
    let id = |number: usize| format!("{:05}", number * 7919 % 99_991);
    let mut all = String::new();
    for number in 0..cases {
        let text = case(&id(number), &mut random);
        all += &format!("{text}\n");
        model.0.insert(number, (id(number), text));
    }
    model.1 = cases;
    engine.upsert_many(all.as_bytes()).unwrap();
    for number in (0..cases).step_by(cases / 40 + 1) {
        let text = case(&id(number + 7), &mut random);
        engine.upsert(text.as_bytes()).unwrap();
        model.upsert(&id(number + 7), text);
        engine.delete(&id(number + 3));
        model.delete(&id(number + 3));
    }
    (engine, model)
}

fn request(engine: &Engine, filter: &str, order: &str) -> SearchRequest {
    let filter = Filter::compile_text(engine.catalog(), filter).unwrap();
    SearchRequest::new(filter).with_order(Order::parse_list(engine.catalog(), order).unwrap())
}

#[test]
fn pages_of_several_fields_are_those_of_the_reference() {
    for (batch_rows, cases) in [(65_536, 500), (64, 900), (256, 4_000), (1_024, 5_000)] {
        let (engine, model) = engine(batch_rows, cases);
        for filter in FILTERS {
            for order in ORDERS {
                let request = request(&engine, filter, order);
                let all = model.ids(&request);
                for (offset, limit) in [(0, 1), (0, 100), (3, 20), (90, 1_000), (1_100, 7), (2_000, 3_000)] {
                    let answer = engine
                        .search(
                            &request.clone().with_offset(offset as u64).with_limit(limit).with_count(true),
                        )
                        .unwrap();
                    let page: Vec<&str> =
                        all.iter().skip(offset).take(limit as usize).map(String::as_str).collect();
                    let note = || format!("{filter}, {order} from {offset}, {batch_rows} rows a batch");
                    assert_eq!(answer.ids().collect::<Vec<_>>(), page, "{}", note());
                    assert_eq!(answer.total(), Some(all.len() as u64), "{}", note());
                }
            }
        }
    }
}

#[test]
fn pages_behind_cursors_join_to_the_whole_list() {
    for (batch_rows, cases) in [(65_536, 500), (64, 900), (256, 4_000)] {
        let (engine, model) = engine(batch_rows, cases);
        for filter in FILTERS {
            for (at, order) in ORDERS.iter().enumerate() {
                let mut request = request(&engine, filter, order).with_cursor(true);
                let all = model.ids(&request);
                for limit in [[1, 7][at % 2], 100, 333] {
                    if limit < 10 && all.len() > 1_000 {
                        continue;
                    }
                    request = request.with_limit(limit).with_after(None);
                    let mut found = Vec::new();
                    let pages = loop {
                        let answer = engine.search(&request).unwrap();
                        found.extend(answer.ids().map(str::to_owned));
                        let Some(next) = answer.next() else {
                            break all.len().div_ceil(limit as usize).max(1);
                        };
                        assert_eq!(answer.len() as u64, limit);
                        request = request.with_after(next.to_string().parse::<Cursor>().unwrap());
                    };
                    assert_eq!(found.len().div_ceil(limit as usize).max(1), pages);
                    assert!(found == all, "{filter}, {order}, {limit} a page, {batch_rows} rows a batch");
                }
            }
        }
    }
}

/// Cases with an even number never change. All others are added, replaced and deleted between the pages.
#[test]
fn a_case_that_no_write_touches_is_on_exactly_one_page() {
    for (batch_rows, limit) in [(64, 13), (256, 50), (65_536, 101)] {
        for order in ORDERS {
            let (engine, mut random) =
                (Engine::builder(Catalog::cases()).batch_rows(batch_rows).build(), Random(limit));
            let id = |number: u64| format!("{:04}", number * 37 % 9_973);
            let mut model = Model::default();
            for number in 0..700 {
                let text = case(&id(number), &mut random);
                engine.upsert(text.as_bytes()).unwrap();
                if number % 2 == 0 {
                    model.upsert(&id(number), text);
                }
            }
            let mut request = request(&engine, "priority <> low", order).with_cursor(true).with_limit(limit);
            let stable = model.ids(&request);
            let mut found = Vec::new();
            loop {
                let answer = engine.search(&request).unwrap();
                found.extend(answer.ids().filter(|id| stable.iter().any(|own| own == id)).map(str::to_owned));
                let Some(next) = answer.next().cloned() else { break };
                // The last case of the page may be among those that are deleted.
                for last in answer.ids().skip(limit as usize - 1).map(str::to_owned).collect::<Vec<_>>() {
                    if !stable.contains(&last) {
                        engine.delete(&last);
                    }
                }
                for _ in 0..40 {
                    let number = random.below(450) * 2 + 1;
                    match random.below(3) {
                        0 => drop(engine.delete(&id(number))),
                        _ => drop(engine.upsert(case(&id(number), &mut random).as_bytes()).unwrap()),
                    }
                }
                request = request.with_after(next);
            }
            assert_eq!(found, stable, "{order}, {limit} a page, {batch_rows} rows a batch");
            engine.validate().unwrap();
        }
    }
}

#[test]
fn a_cursor_of_another_order_or_beside_an_offset_is_an_error() {
    let (engine, _) = engine(256, 600);
    let first = request(&engine, "true", "status,-createdAt").with_cursor(true).with_limit(5);
    let next = engine.search(&first).unwrap().next().cloned().unwrap();
    let second = first.clone().with_after(next.clone());
    let error = |request: SearchRequest| engine.search(&request).unwrap_err();
    for order in ["", "status", "status,createdAt", "-createdAt,status", "status,-createdAt,id"] {
        let order = Order::parse_list(engine.catalog(), order).unwrap();
        let error = error(second.clone().with_order(order));
        assert_eq!((error.kind, &*error.path), (ErrorKind::BadCursor, "after"), "{error}");
    }
    let error = error(second.clone().with_offset(1));
    assert_eq!((error.kind, &*error.path), (ErrorKind::BadValue, "offset"), "{error}");
    // The filter and the limit may change.
    let filter = Filter::compile_text(engine.catalog(), "status = blocked").unwrap();
    let mut other = second.clone().with_limit(7);
    other.filter = filter;
    assert!(engine.search(&other).is_ok());
    // Without documents, and on an empty page.
    let none = engine.search(&second.clone().with_limit(0)).unwrap();
    assert_eq!((none.len(), none.next()), (0, None));
    assert_eq!(engine.explain(&second).unwrap().page.by, PageStrategy::KeyByKey);
    let text = engine.explain(&first).unwrap().to_string();
    assert!(
        text.contains("Page: 5 cases from 0 by caseReview.status,-createdAt, one field at a time"),
        "{text}"
    );
}

#[test]
fn a_value_too_long_for_a_cursor_is_an_error() {
    let engine = Engine::new(Catalog::cases());
    for id in ["a", "b"] {
        engine.upsert(format!(r#"{{"id":"{id}","name":"{}"}}"#, "x".repeat(60_000)).as_bytes()).unwrap();
    }
    let long = request(&engine, "true", "name").with_limit(1);
    assert_eq!(engine.search(&long).unwrap().ids().collect::<Vec<_>>(), ["a"]);
    let error = engine.search(&long.with_cursor(true)).unwrap_err();
    assert_eq!((error.kind, &*error.path), (ErrorKind::StringTooLong, "order"), "{error}");
}

#[test]
fn a_list_of_fields_is_parsed_with_the_place_of_each_error() {
    let cases = Catalog::cases();
    let extended = cases.extended();
    let error = |text: &str| {
        let error = Order::parse(&extended, text).unwrap_err();
        assert_eq!(error.path, "order");
        (error.kind, error.offset)
    };
    assert_eq!(error("status,caseReview.status"), (ErrorKind::DuplicateSortField, 7));
    assert_eq!(error("status,-tags"), (ErrorKind::OrderByMany, 8));
    assert_eq!(error("status,"), (ErrorKind::UnknownField, 7));
    assert_eq!(error(",status"), (ErrorKind::UnknownField, 0));
    assert_eq!(error("status, createdAt"), (ErrorKind::UnknownField, 7));
    assert_eq!(error("status,createdat"), (ErrorKind::UnknownField, 7));
    assert_eq!(error("status,createdAt desc"), (ErrorKind::UnknownField, 7));
    assert_eq!(
        error("id,name,status,createdAt,updatedAt,priority,clientId,groupByType,createdByType"),
        (ErrorKind::TooManySortFields, 65)
    );
    assert!(Order::parse(&extended, &"x,".repeat(100_000)).is_err());
    let suggested = Order::parse(&extended, "status,createdAt desc").unwrap_err().suggestion.unwrap();
    assert_eq!(suggested.replacement(), Some("-createdAt"));
    // The interface has orders by one field only.
    assert_eq!(Order::parse(&cases, "status,name").unwrap_err().kind, ErrorKind::UnknownField);
    let order = Order::parse(&extended, "-status,name").unwrap().unwrap();
    assert_eq!(Some(&order), Order::parse_list(&cases, "-caseReview.status,name").unwrap().as_ref());
    assert_eq!(order.to_string(), "-caseReview.status,name");
    assert_eq!((order.field().name(), order.direction()), ("caseReview.status", Direction::Descending));
    assert_eq!(order.keys().len(), 2);
    let built = Order::by(&cases, "status", Direction::Descending).unwrap();
    assert_eq!(built.then_by("name", Direction::Ascending).unwrap(), order);
}

#[test]
fn the_longest_name_with_commas_is_read() {
    let names = ["a", "b", "a,b", "a,b,c,", "-b", "c"];
    let catalog = Catalog::new(names.map(|name| Field::new(name, FieldType::Number))).unwrap();
    let keys = |text: &str| {
        let order = Order::parse_list(&catalog, text).unwrap().unwrap();
        assert_eq!(Order::parse_list(&catalog, &order.to_string()).unwrap().as_ref(), Some(&order));
        let names: Vec<String> = order.keys().map(|(field, _)| field.name().to_owned()).collect();
        names.join("|")
    };
    assert_eq!(keys("a,b"), "a,b");
    assert_eq!(keys("a,c"), "a|c");
    assert_eq!(keys("b,a"), "b|a");
    assert_eq!(keys("a,-b"), "a|b");
    assert_eq!(keys("a,+-b"), "a|-b");
    assert_eq!(keys("a,b,c"), "a,b|c");
    assert_eq!(keys("a,b,c,"), "a,b,c,");
    assert_eq!(keys("-a,b,c,,b,a"), "a,b,c,|b|a");
    // Without `parse_list`, the text of a name with commas is an order by one field, as in any catalogue.
    assert_eq!(Order::parse(&catalog, "a,b").unwrap(), Order::parse_list(&catalog, "a,b").unwrap());
    let ambiguous =
        Order::by(&catalog, "a", Direction::Ascending).unwrap().then_by("b", Direction::Ascending);
    assert_eq!(ambiguous.unwrap_err().kind, ErrorKind::BadValue);
    assert!(
        Order::by(&catalog, "b", Direction::Ascending).unwrap().then_by("a", Direction::Ascending).is_ok()
    );
}

#[test]
fn cursor_parameters_need_an_extended_catalogue() {
    let (cases, limits) = (Catalog::cases(), Limits::default());
    let (engine, _) = engine(256, 100);
    let first = request(&engine, "true", "status").with_cursor(true).with_limit(5);
    let next = engine.search(&first).unwrap().next().unwrap().to_string();
    let kinds = |catalog: &Catalog, params: SearchParams<'_>| -> Vec<(ErrorKind, String)> {
        let errors = params.parse(catalog, &limits).unwrap_err();
        errors.iter().map(|error| (error.kind, error.path.clone())).collect()
    };
    let unknown = |name: &str| vec![(ErrorKind::UnknownKey, name.to_owned())];
    assert_eq!(kinds(&cases, SearchParams::new().cursor("true")), unknown("pageCursor"));
    assert_eq!(kinds(&cases, SearchParams::new().order("status").after(&*next)), unknown("after"));
    let extended = cases.extended();
    let paging =
        SearchParams::new().order("status").after(&*next).cursor("true").parse(&extended, &limits).unwrap();
    assert!(paging.cursor && paging.after.is_some());
    let second = SearchRequest::new(Filter::all(&extended)).with_paging(paging);
    assert!(engine.search(&second).is_ok());
    let wrong = |params: SearchParams<'_>| kinds(&extended, params).remove(0);
    assert_eq!(wrong(SearchParams::new().cursor("1")), (ErrorKind::BadFlag, "pageCursor".into()));
    let after = || SearchParams::new().after(&*next);
    assert_eq!(wrong(after()), (ErrorKind::BadCursor, "after".into()));
    assert_eq!(wrong(after().order("status").offset("0")), (ErrorKind::BadValue, "offset".into()));
    assert_eq!(wrong(SearchParams::new().after("")), (ErrorKind::BadCursor, "after".into()));
    assert_eq!(wrong(SearchParams::new().after(&next[1..])), (ErrorKind::BadCursor, "after".into()));
}
