//! Tests that a Rust value is read like its JSON text.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::batch::Row;
use crate::catalog::{Field, FieldType};
use crate::error::ErrorKind;

fn catalog() -> Catalog {
    Catalog::new([
        Field::new("s", FieldType::String),
        Field::new("n", FieldType::Number),
        Field::new("t", FieldType::Timestamp),
        Field::new("u", FieldType::Timestamp).unix_millis(),
        Field::new("b", FieldType::Boolean),
        Field::new("list[]", FieldType::String),
        Field::new("o.n", FieldType::Number),
        Field::new("a[].n", FieldType::Number),
        Field::new("a[].tags[]", FieldType::String),
        Field::new("level", FieldType::String).with_default("low"),
    ])
    .unwrap()
}

/// Reads `value`. Returns the values of all fields, or the kinds and paths of the errors.
fn of_value<T: Serialize + ?Sized>(value: &T) -> Result<Vec<String>, Vec<(ErrorKind, String)>> {
    let catalog = catalog();
    let of = |row: OwnedRow| {
        let fields = catalog.field_ids();
        fields
            .flat_map(|field| {
                row.values(field).map(move |value| format!("{field:?} {value}")).collect::<Vec<_>>()
            })
            .collect()
    };
    let kinds =
        |errors: Errors| errors.as_slice().iter().map(|error| (error.kind, error.path.clone())).collect();
    read_serialized(value, &catalog, &Limits::default()).map(of).map_err(kinds)
}

fn of_text(text: &str) -> Result<Vec<String>, Vec<(ErrorKind, String)>> {
    let catalog = catalog();
    let mut row = Row::default();
    if let Err(error) = super::super::read_case(text, &catalog, &Limits::default(), &mut row) {
        return Err(vec![(error.kind, error.path)]);
    }
    let faults = row.take_faults();
    if !faults.is_empty() {
        return Err(faults.into_iter().map(|fault| (fault.kind, fault.path)).collect());
    }
    let values = |field| row.values(field).map(move |value| format!("{field:?} {value}"));
    Ok(catalog.field_ids().flat_map(|field| values(field).collect::<Vec<_>>()).collect())
}

fn agrees<T: Serialize + ?Sized>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(of_value(value), of_text(&text), "{text}");
}

#[derive(Serialize)]
enum State {
    Open,
    Number(f32),
    Pair(i8, u16),
    Named { n: Option<u64> },
}

#[test]
fn values_read_like_their_json() {
    #[derive(Serialize)]
    struct Part<'p> {
        n: f32,
        tags: &'p [char],
    }
    #[derive(Serialize)]
    struct Whole<'p> {
        id: &'p str,
        s: State,
        n: i64,
        b: bool,
        list: (String, &'p str),
        o: State,
        a: Vec<Part<'p>>,
        u: u64,
        unknown: BTreeMap<i32, State>,
    }
    let mut whole = Whole {
        id: "1",
        s: State::Open,
        n: 9_007_199_254_740_993,
        b: true,
        list: ("x".to_owned(), "y"),
        o: State::Named { n: Some(u64::MAX) },
        a: vec![Part { n: 0.1, tags: &['é', 'b'] }, Part { n: f32::NAN, tags: &[] }],
        u: 86_400_000,
        unknown: BTreeMap::from([(1, State::Pair(1, 2)), (-2, State::Open)]),
    };
    agrees(&whole);
    for state in [State::Number(1.5), State::Pair(-1, 2), State::Named { n: None }] {
        whole.o = state;
        agrees(&whole);
    }
    agrees(&BTreeMap::from([("id", "x"), ("s", ""), ("level", "high")]));
    agrees(&json!([]));
    agrees(&json!("text"));
    agrees(&json!(null));
    agrees(&1.5);
    agrees(&json!({"id": ""}));
    agrees(&json!({"id": 1}));
    agrees(&json!({}));
    assert_eq!(of_value(&BTreeMap::from([((1, 2), 3)])).unwrap_err()[0].0, ErrorKind::BadValue);
}

#[test]
fn a_deep_value_is_an_error_before_the_stack_ends() {
    let mut deep = json!(1);
    for _ in 0..2000 {
        deep = json!([deep]);
    }
    assert_eq!(of_value(&json!({"id": "1", "x": deep})).unwrap_err()[0].0, ErrorKind::TooDeep);
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        prop_oneof![Just(0), Just(-1), Just(i64::MAX), Just(1_700_000_000_000)]
            .prop_map(|value| json!(value)),
        prop_oneof![Just(0.5), Just(1e300), Just(5.0)].prop_map(|value| json!(value)),
        prop::sample::select(vec!["", "a", "2024-02-29 00:00:00", "2024-02-29", "86400000", "é"])
            .prop_map(|value| json!(value)),
    ];
    let key =
        prop::sample::select(vec!["id", "s", "n", "t", "u", "b", "list", "o", "a", "tags", "level", "x"]);
    scalar.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_reads_like_its_json(members in prop::collection::btree_map(
        prop::sample::select(vec!["s", "n", "t", "u", "b", "list", "o", "a", "level", "x"]), value(), 0..8,
    )) {
        let mut document = json!(members);
        document["id"] = json!("1");
        let text = document.to_string();
        prop_assert_eq!(of_value(&document), of_text(&text), "{}", text);
    }
}
