//! Random bodies and documents over few values, and a plain evaluator of them.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value as Json, json};

use crate::catalog::{Catalog, Field, FieldType};

/// The name, path and type of each field. In documents, `t` and `ts` are Unix milliseconds.
pub(super) const FIELDS: [(&str, &str, FieldType); 12] = [
    ("s", "s", FieldType::String),
    ("o.n", "o.n", FieldType::Number),
    ("t", "t", FieldType::Timestamp),
    ("b", "b", FieldType::Boolean),
    ("ss", "ss[]", FieldType::String),
    ("a.n", "a[].n", FieldType::Number),
    ("ts", "ts[]", FieldType::Timestamp),
    ("bs", "bs[]", FieldType::Boolean),
    ("i", "i", FieldType::Integer),
    ("is", "is[]", FieldType::Integer),
    ("d", "d", FieldType::Decimal { scale: 1 }),
    ("ds", "ds[]", FieldType::Decimal { scale: 1 }),
];

pub(super) const STRINGS: [&str; 9] =
    ["", "a", "b", "and", "it's \"q\", (x)", "é\u{301}\u{1f6a9}", "AND a", "Án", "ba n"];
/// Parts of strings: operands of `$startsWith`, `$substring` and `$match`.
pub(super) const PARTS: [&str; 9] = ["a", "A", "an", "n", "É", "b a", "(X)", "á", "\u{1f6a9}"];
pub(super) const NUMBERS: [&str; 11] = [
    "-0",
    "0",
    "1",
    "1.0000000000000002",
    "1.0000000000000004",
    "1e0",
    "5e-324",
    "-5e-324",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "2.5",
];
pub(super) const INTEGERS: [&str; 7] = [
    "-9223372036854775808",
    "-1",
    "0",
    "1",
    "9007199254740993",
    "9223372036854775806",
    "9223372036854775807",
];
/// Decimals of the scale 1 as text, and in tenths.
pub(super) const DECIMALS: [(&str, i64); 7] = [
    ("-922337203685477580.8", i64::MIN),
    ("-1", -10),
    ("0.0", 0),
    ("0.1", 1),
    ("2e-1", 2),
    ("1.50", 15),
    ("922337203685477580.7", i64::MAX),
];
/// Timestamps as text and in milliseconds.
pub(super) const TIMESTAMPS: [(&str, i64); 8] = [
    ("0000-01-01 00:00:00+1800", -62_167_284_000_000),
    ("0000-01-01 00:00:00", -62_167_219_200_000),
    ("1969-12-31 23:59:59", -1000),
    ("1970-01-01 02:00:00+02:00", 0),
    ("1970-01-01 00:00:00", 0),
    ("1970-01-01 00:00:01", 1000),
    ("9999-12-31 23:59:59", 253_402_300_799_000),
    ("9999-12-31 23:59:59-1800", 253_402_365_599_000),
];
/// Instants in milliseconds that documents can have, but criteria cannot express.
pub(super) const MILLIS: [i64; 5] = [i64::MIN, -1, 1, 999, i64::MAX];
pub(super) const OPERATORS: [&str; 12] =
    ["=", "<>", ">", ">=", "<", "<=", "$contains", "$all", "$exists", "$startsWith", "$substring", "$match"];
pub(super) const IDS: [&str; 3] = ["x", "y", "z"];

pub(super) fn catalog(hide_id: bool) -> Catalog {
    let fields = FIELDS.map(|(_, path, kind)| {
        let field = Field::new(path, kind);
        if kind == FieldType::Timestamp { field.unix_millis() } else { field }
    });
    let catalog = Catalog::new(fields).unwrap();
    let catalog = catalog.extended();
    if hide_id { catalog.allow(FIELDS.map(|(name, _, _)| name)).unwrap() } else { catalog }
}

/// A value in the evaluator of this test.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plain {
    String(String),
    Number(f64),
    /// A timestamp in milliseconds, an integer, or a decimal in tenths.
    Millis(i64),
    Boolean(bool),
}

impl Plain {
    pub(super) fn of(kind: FieldType, text: &str) -> Self {
        match kind {
            FieldType::String => Self::String(text.to_owned()),
            FieldType::Number => Self::Number(text.parse().unwrap()),
            FieldType::Integer => Self::Millis(text.parse().unwrap()),
            FieldType::Decimal { .. } => {
                Self::Millis(DECIMALS.iter().find(|(own, _)| *own == text).unwrap().1)
            }
            FieldType::Timestamp => Self::Millis(TIMESTAMPS.iter().find(|(own, _)| *own == text).unwrap().1),
            FieldType::Boolean => Self::Boolean(text == "true"),
        }
    }

    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.partial_cmp(b).unwrap(),
            (Self::Millis(a), Self::Millis(b)) => a.cmp(b),
            _ => panic!("no order"),
        }
    }
}

/// Folds the few letters that occur in the strings of these tests.
pub(super) fn plainly_folded(text: &str) -> String {
    text.to_lowercase().replace(['á', 'Á'], "a").replace("é", "e").replace('\u{301}', "")
}

#[derive(Clone, Debug)]
pub(super) enum Criterion {
    /// A field criterion. The field is an index into `FIELDS`, or `FIELDS.len()` for `id`.
    Field(usize, &'static str, Vec<&'static str>),
    Branch(bool, Vec<Criterion>),
    Not(Box<Criterion>),
}

#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) ids: Option<Vec<&'static str>>,
    pub(super) criteria: Option<Vec<Criterion>>,
}

#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) id: &'static str,
    pub(super) fields: Vec<Vec<Plain>>,
}

pub(super) fn name_and_kind(field: usize) -> (&'static str, FieldType) {
    FIELDS.get(field).map_or(("id", FieldType::String), |(name, _, kind)| (*name, *kind))
}

impl Criterion {
    /// Evaluates the criterion by the operator table of the interface document, literally.
    pub(super) fn holds(&self, document: &Document) -> bool {
        match self {
            Self::Branch(true, children) => children.iter().all(|child| child.holds(document)),
            Self::Branch(false, children) => children.iter().any(|child| child.holds(document)),
            Self::Not(child) => !child.holds(document),
            Self::Field(field, operator, values) if operator.len() > 4 && *operator != "$contains" => {
                let own = match document.fields.get(*field) {
                    Some(values) => values.clone(),
                    None => vec![Plain::String(document.id.to_owned())],
                };
                let some = |test: &dyn Fn(&str) -> bool| {
                    own.iter().any(|value| matches!(value, Plain::String(text) if test(text)))
                };
                match *operator {
                    "$exists" => own.is_empty() == (values[0] == "false"),
                    "$startsWith" => some(&|text| values.iter().any(|value| text.starts_with(value))),
                    "$substring" => some(&|text| values.iter().any(|value| text.contains(value))),
                    _ => some(&|text| {
                        let (text, value) = (plainly_folded(text), plainly_folded(values[0]));
                        value.split_whitespace().all(|word| text.contains(word))
                    }),
                }
            }
            Self::Field(field, operator, values) => {
                let kind = name_and_kind(*field).1;
                let own = match document.fields.get(*field) {
                    Some(values) => values.clone(),
                    None => vec![Plain::String(document.id.to_owned())],
                };
                let values: Vec<Plain> = values.iter().map(|text| Plain::of(kind, text)).collect();
                let some = |wanted: fn(std::cmp::Ordering) -> bool| {
                    own.iter().any(|x| wanted(x.compare(&values[0])))
                };
                match *operator {
                    "=" => own.contains(&values[0]),
                    "<>" => !own.contains(&values[0]),
                    ">" => some(std::cmp::Ordering::is_gt),
                    ">=" => some(std::cmp::Ordering::is_ge),
                    "<" => some(std::cmp::Ordering::is_lt),
                    "<=" => some(std::cmp::Ordering::is_le),
                    "$contains" => own.iter().any(|x| values.contains(x)),
                    _ => values.iter().all(|value| own.contains(value)),
                }
            }
        }
    }

    pub(super) fn json(&self) -> Json {
        match self {
            Self::Branch(and, children) => {
                let children: Vec<Json> = children.iter().map(Self::json).collect();
                json!({"op": if *and { "$and" } else { "$or" }, "children": children})
            }
            Self::Not(child) => json!({"op": "$not", "children": [child.json()]}),
            Self::Field(field, operator, values) => {
                json!({"field": name_and_kind(*field).0, "op": operator, "values": values})
            }
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Branch(and, children) => {
                let children: Vec<String> = children.iter().map(Self::text).collect();
                format!("({})", children.join(if *and { " AND " } else { " or\n" }))
            }
            Self::Not(child) => format!("not {}", child.text()),
            Self::Field(field, operator, values) => {
                let name = name_and_kind(*field).0;
                let values: Vec<String> =
                    values.iter().map(|value| serde_json::to_string(value).unwrap()).collect();
                match *operator {
                    "$contains" | "$all" => format!("{name} {operator}({})", values.join(",")),
                    "$exists" if values[0] == "\"true\"" => format!("{name} Is Present"),
                    "$exists" => format!("{name} is absent"),
                    "$startsWith" => format!("{name} starts with ({})", values.join(",")),
                    "$substring" => format!("{name} includes ({})", values.join(",")),
                    "$match" => format!("{name} matches {}", values[0]),
                    _ => format!("{name}{operator}{}", values[0]),
                }
            }
        }
    }

    pub(super) fn shape(&self) -> Shape {
        match self {
            Self::Branch(_, children) => Shape::of(children).inside(),
            Self::Not(child) => child.shape().inside(),
            Self::Field(_, _, values) => Shape { criteria: 1, values: values.len(), depth: 1 },
        }
    }

    /// Returns an equivalent criterion: the children in reverse order, followed by the children again.
    pub(super) fn doubled(&self) -> Self {
        match self {
            Self::Branch(and, children) => {
                let twice = children.iter().rev().chain(children).map(Self::doubled).collect();
                Self::Branch(*and, twice)
            }
            Self::Not(child) => Self::Not(Box::new(child.doubled())),
            Self::Field(field, operator, values) => {
                let mut values = values.clone();
                values.reverse();
                if matches!(*operator, "$contains" | "$all" | "$startsWith" | "$substring") {
                    values.push(values[0]);
                }
                Self::Field(*field, operator, values)
            }
        }
    }
}

/// The sizes of a filter that [`Limits`] restrict.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) criteria: usize,
    pub(super) values: usize,
    pub(super) depth: usize,
}

impl Shape {
    pub(super) fn of(criteria: &[Criterion]) -> Self {
        criteria.iter().map(Criterion::shape).fold(Self::default(), Self::beside)
    }

    pub(super) fn beside(self, other: Self) -> Self {
        Self {
            criteria: self.criteria + other.criteria,
            values: self.values + other.values,
            depth: self.depth.max(other.depth),
        }
    }

    pub(super) fn inside(self) -> Self {
        Self { criteria: self.criteria + 1, depth: self.depth + 1, ..self }
    }

    /// Returns the sizes of a criterion in JSON.
    pub(super) fn of_json(criterion: &Json) -> Self {
        match criterion.get("children") {
            Some(children) => Self::of_json_list(children).inside(),
            None => Self { criteria: 1, values: criterion["values"].as_array().unwrap().len(), depth: 1 },
        }
    }

    pub(super) fn of_json_list(criteria: &Json) -> Self {
        criteria.as_array().unwrap().iter().map(Self::of_json).fold(Self::default(), Self::beside)
    }
}

impl Body {
    pub(super) fn holds(&self, document: &Document) -> bool {
        self.ids.as_ref().is_some_and(|ids| ids.contains(&document.id))
            || self.criteria.as_ref().is_some_and(|criteria| {
                !criteria.is_empty() && criteria.iter().all(|criterion| criterion.holds(document))
            })
    }

    pub(super) fn json(&self) -> String {
        let mut body = json!({});
        if let Some(ids) = &self.ids {
            body["ids"] = json!(ids);
        }
        if let Some(criteria) = &self.criteria {
            body["criteria"] = criteria.iter().map(Criterion::json).collect();
        }
        body.to_string()
    }

    /// Prints the body in the text syntax. Returns `None` for an empty list of criteria, which that syntax cannot express.
    pub(super) fn text(&self) -> Option<String> {
        let ids = self.ids.as_ref().map(|ids| format!("ids ({})", ids.join(", ")));
        let criteria = match &self.criteria {
            Some(criteria) if criteria.is_empty() => return None,
            Some(criteria) => Some(criteria.iter().map(Criterion::text).collect::<Vec<_>>().join(" and ")),
            None => None,
        };
        Some([ids, criteria].into_iter().flatten().collect::<Vec<_>>().join(" or "))
    }

    pub(super) fn doubled(&self) -> Self {
        let twice = |ids: &Vec<&'static str>| ids.iter().rev().chain(ids).copied().collect();
        Self {
            ids: self.ids.as_ref().map(twice),
            criteria: self
                .criteria
                .as_ref()
                .map(|criteria| criteria.iter().rev().chain(criteria).map(Criterion::doubled).collect()),
        }
    }
}

impl Document {
    pub(super) fn json(&self) -> String {
        let mut document = json!({"id": self.id});
        for ((name, path, kind), values) in FIELDS.iter().zip(&self.fields) {
            let values: Vec<Json> = values
                .iter()
                .map(|value| match value {
                    Plain::String(text) => json!(text),
                    Plain::Number(number) => json!(number),
                    Plain::Millis(tenths) if matches!(kind, FieldType::Decimal { .. }) => {
                        json!(format!("{tenths}e-1"))
                    }
                    Plain::Millis(millis) => json!(millis),
                    Plain::Boolean(boolean) => json!(boolean),
                })
                .collect();
            match (*name, path.contains("[]"), values.as_slice()) {
                (_, _, []) => {}
                ("o.n", ..) => document["o"] = json!({"n": values[0]}),
                ("a.n", ..) => document["a"] = values.iter().map(|value| json!({"n": value})).collect(),
                (_, true, _) => document[*name] = json!(values),
                (_, false, _) => document[*name] = values[0].clone(),
            }
        }
        document.to_string()
    }
}

pub(super) fn text_of(kind: FieldType) -> BoxedStrategy<&'static str> {
    match kind {
        FieldType::String => select(STRINGS.to_vec()).boxed(),
        FieldType::Number => select(NUMBERS.to_vec()).boxed(),
        FieldType::Integer => select(INTEGERS.to_vec()).boxed(),
        FieldType::Decimal { .. } => select(DECIMALS.map(|(text, _)| text).to_vec()).boxed(),
        FieldType::Timestamp => select(TIMESTAMPS.map(|(text, _)| text).to_vec()).boxed(),
        FieldType::Boolean => select(vec!["true", "false"]).boxed(),
    }
}

pub(super) fn leaf(field: usize) -> BoxedStrategy<Criterion> {
    let kind = name_and_kind(field).1;
    let is_string = kind == FieldType::String;
    let ordered = !matches!(kind, FieldType::String | FieldType::Boolean);
    let operators: Vec<&str> = OPERATORS
        .into_iter()
        .filter(|operator| ordered || !operator.starts_with('>') && !matches!(*operator, "<" | "<="))
        .filter(|operator| is_string || !matches!(*operator, "$startsWith" | "$substring" | "$match"))
        .collect();
    select(operators)
        .prop_flat_map(move |operator| {
            let text = match operator {
                "$exists" => select(vec!["true", "false"]).boxed(),
                "$startsWith" | "$substring" | "$match" if field < FIELDS.len() => {
                    select(PARTS.to_vec()).boxed()
                }
                _ if field < FIELDS.len() => text_of(kind),
                _ => select(IDS.to_vec()).boxed(),
            };
            let is_one = !operator.starts_with('$') || matches!(operator, "$exists" | "$match");
            let values = proptest::collection::vec(text, 1..if is_one { 2 } else { 4 });
            values.prop_map(move |values| Criterion::Field(field, operator, values))
        })
        .boxed()
}

/// Generates trees over a few fields, so that one branch often has several tests on one field.
pub(super) fn criterion(fields: usize) -> impl Strategy<Value = Criterion> {
    proptest::collection::vec(0..fields, 1..4).prop_flat_map(|fields| {
        let leaf = select(fields).prop_flat_map(leaf);
        leaf.prop_recursive(4, 24, 4, |inner| {
            let branch = (any::<bool>(), proptest::collection::vec(inner.clone(), 1..5))
                .prop_map(|(and, children)| Criterion::Branch(and, children));
            prop_oneof![
                4 => branch,
                1 => inner.prop_map(|child| Criterion::Not(Box::new(child))),
            ]
        })
    })
}

pub(super) fn body(hide_id: bool) -> impl Strategy<Value = Body> {
    let fields = FIELDS.len() + usize::from(!hide_id);
    let ids = proptest::option::weighted(0.2, proptest::collection::vec(select(IDS.to_vec()), 0..3));
    let criteria = proptest::option::weighted(0.95, proptest::collection::vec(criterion(fields), 0..4));
    (ids, criteria).prop_filter_map("an empty body", |(ids, criteria)| {
        (ids.is_some() || criteria.is_some()).then_some(Body { ids, criteria })
    })
}

pub(super) fn plain(kind: FieldType) -> BoxedStrategy<Plain> {
    match kind {
        FieldType::Timestamp => prop_oneof![
            3 => select(TIMESTAMPS.to_vec()).prop_map(|(_, millis)| Plain::Millis(millis)),
            1 => select(MILLIS.to_vec()).prop_map(Plain::Millis),
        ]
        .boxed(),
        _ => text_of(kind).prop_map(move |text| Plain::of(kind, text)).boxed(),
    }
}

pub(super) fn document() -> impl Strategy<Value = Document> {
    let fields: Vec<_> = FIELDS
        .iter()
        .map(|(_, path, kind)| {
            proptest::collection::vec(plain(*kind), 0..if path.contains("[]") { 4 } else { 2 })
        })
        .collect();
    (select(IDS.to_vec()), fields).prop_map(|(id, fields)| Document { id, fields })
}

pub(super) fn case() -> impl Strategy<Value = (bool, Body)> {
    any::<bool>().prop_flat_map(|hide_id| (Just(hide_id), body(hide_id)))
}
