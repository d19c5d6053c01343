//! Generates random catalogues, documents and requests. Documents and requests often have equal values, so that filters select
//! some documents.

use casefilter::{Catalog, FieldType};
use serde_json::{Value, json};

use super::choices::Choices;
use super::plain::{Field, Kind, Params, arrays_around, case_fields};

/// A catalogue, documents and requests.
pub(crate) struct World {
    pub(crate) catalog: Catalog,
    pub(crate) fields: Vec<Field>,
    /// The documents in the order of import. An `id` may be repeated.
    pub(crate) documents: Vec<String>,
    pub(crate) requests: Vec<Query>,
    /// True if some documents may be malformed.
    pub(crate) is_faulty: bool,
}

/// The size and the features of a world.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) documents: usize,
    pub(crate) requests: usize,
    /// True if some documents repeat an earlier `id`.
    pub(crate) repeats: bool,
    /// True if some documents are malformed.
    pub(crate) faults: bool,
}

/// A random request, with the fields that it may name.
pub(crate) struct Query {
    pub(crate) catalog: Catalog,
    pub(crate) fields: Vec<Field>,
    /// True if the body may use the extended operators.
    pub(crate) is_extended: bool,
    pub(crate) body: Value,
    pub(crate) params: Params,
}

const OWN_FIELDS: &[Field] = &[
    Field::new("id", Kind::String),
    Field::new("s", Kind::String),
    Field::new("tags[]", Kind::String),
    Field::new("n", Kind::Number),
    Field::new("numbers[]", Kind::Number),
    Field::new("i", Kind::Integer),
    Field::new("integers[]", Kind::Integer),
    Field::new("d", Kind::Decimal),
    Field::new("decimals[]", Kind::Decimal),
    Field { default: Some("0.10"), ..Field::new("fee", Kind::Decimal) },
    Field { known: &["1", "2"], default: Some("1"), ..Field::new("level", Kind::Integer) },
    Field { default: Some("0.5"), ..Field::new("amounts[]", Kind::Number) },
    Field { default: Some("2024-01-01 00:00:00"), ..Field::new("since", Kind::Timestamp) },
    Field { default: Some("true"), ..Field::new("on", Kind::Boolean) },
    Field { known: &["b", "a", "open"], default: Some("open"), ..Field::new("states[]", Kind::String) },
    Field::new("t", Kind::Timestamp),
    Field::new("times[]", Kind::Timestamp),
    Field::new("u", Kind::UnixMillis),
    Field::new("unix[]", Kind::UnixMillis),
    Field::new("b", Kind::Boolean),
    Field::new("flags[]", Kind::Boolean),
    Field { known: &["b", "a", "open"], default: Some("a"), ..Field::new("state", Kind::String) },
    Field { known: &["open", "é", "a"], alias: Some("alias"), ..Field::new("o.kind", Kind::String) },
    Field::new("deep[][]", Kind::String),
    Field::new("o.p[].q[].r", Kind::Number),
    Field::new("o.p[].s", Kind::String),
    Field::new("o.p[].n", Kind::Number),
    Field::new("o.p[].q[].t[]", Kind::String),
    Field::new("o.p[].q[].b", Kind::Boolean),
    Field::new("g[][].x", Kind::Number),
    Field::new("g[][].y", Kind::String),
];

/// The paths of the fields with an index of substrings. Builds for tests have it even for a few different strings.
const SEARCHABLE: &[&str] = &["id", "s", "tags[]", "deep[][]", "o.p[].s", "o.p[].q[].t[]"];

const STRINGS: &[&str] = &[
    "a",
    "b",
    "",
    "A",
    "open",
    "medium",
    "low",
    "é",
    "e\u{301}",
    "\u{ffff}",
    "\u{10000}",
    "a\u{0}",
    "\u{0}",
    "true",
    "12",
    " a",
    "a ",
    "日本",
    "\"\\/\n\u{7f}",
    "\u{feff}a",
    "blocked",
    "byRule",
    "zz",
    "aa",
    "ab a",
    "García LÓPEZ",
    "GARCI\u{301}A",
    "lopez-garcia, Ana",
    "Ana",
    "Straße",
    "STRASSE",
    "ﬁn \u{a0} Ａ",
    "İ ς",
    "Σ\u{301}\u{301}\u{301} i",
    "Йод",
    "\u{301}",
    "\u{3000}\t",
    "a rather long string, to be sure that nothing is kept inline where it does not fit: 0123456789012345678901234567890123456789",
];

/// Spellings of numbers that `serde_json` also reads exactly.
pub(crate) const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-0",
    "1.0",
    "1e0",
    "-1",
    "2",
    "0.5",
    "100",
    "1e2",
    "1E+2",
    "-0.0",
    "1e-7",
    "0e9",
    "4294967296",
    "9007199254740992",
    "9007199254740993",
    "18446744073709551615",
    "-9223372036854775808",
    "1e22",
    "-1e22",
    "123456789.25",
    "0.1",
    "255",
    "256",
    "65535",
    "65536",
];

/// Integers, most of which a double cannot hold, or which are the least or greatest of their width.
const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "255",
    "256",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "-2147483649",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775806",
    "9223372036854775807",
    "-9223372036854775807",
    "-9223372036854775808",
];

/// Decimals with two digits after the point, in several spellings.
const DECIMALS: &[&str] = &[
    "0",
    "-0.00",
    "0.01",
    "-0.01",
    "1",
    "1.0",
    "1.00",
    "1.000",
    "12.5",
    "12.50",
    "1e2",
    "125e-1",
    "0.1",
    "0.10",
    "100000000000000.01",
    "90071992547409.93",
    "92233720368547758.07",
    "92233720368547758.06",
    "-92233720368547758.08",
];

/// The least of the integers that are close to each other: this integer and the next one round to the same double.
const LARGE: u64 = 9_007_199_254_740_992;

const TIMESTAMPS: &[&str] = &[
    "2024-01-01 00:00:00",
    "2024-01-01 00:00:00+0000",
    "2024-01-01 02:00:00+0200",
    "2023-12-31 18:30:00-05:30",
    "2024-01-01 00:00:01",
    "2023-12-31 23:59:59",
    "2024-02-29 23:59:59",
    "2024-02-29 23:59:59+18:00",
    "2024-02-29 23:59:59-1800",
    "0000-01-01 00:00:00",
    "0000-01-01 00:00:00+1800",
    "9999-12-31 23:59:59",
    "9999-12-31 23:59:59-1800",
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59",
    "1970-01-01 00:00:00-0000",
];

const MILLIS: &[&str] = &[
    "1704067200000",
    "0",
    "-1",
    "1",
    "1704067200001",
    "-1000",
    "9223372036854775807",
    "-9223372036854775808",
    "253402300799000",
    "-62167219200000",
    "1704067201000",
];

const WRONG: &[&str] =
    &["5", "\"x\"", "true", "[]", "{}", "[1]", "[[\"a\"]]", "\"2024-13-01 00:00:00\"", "1.5", "[null,{}]"];

const UNUSABLE: &[&str] = &[
    "{}",
    "[1]",
    "\"a\"",
    "{\"id\":\"\"}",
    "{\"id\":5}",
    "{\"id\":null}",
    "{\"id\":\"q\",\"id\":\"q\"}",
    "{\"id\":\"q\"",
    "{\"id\":\"q\",\"x\":{\"y\":1,\"y\":1}}",
    "{\"id\":\"q\"} x",
    "{\"id\":\"q\",}",
    "{\"id\":[\"q\"]}",
    "nonsense",
];

/// The distribution of one field's values over the documents.
struct Distribution {
    /// The number of documents without a value, out of eight.
    absent: usize,
    /// The number of different values, or 0 to draw values from the constants above.
    distinct: usize,
}

impl World {
    /// Generates a small world. The number of documents depends on the number of choices.
    pub(crate) fn small(choices: &mut Choices<'_>) -> Self {
        let rows = match choices.below(8) {
            0..=3 => choices.below(8),
            4..=5 => choices.below(40),
            6 => 62 + choices.below(5),
            _ => 126 + choices.below(5),
        };
        let faults = choices.chance(1, 8);
        Self::new(choices, Size { documents: rows, requests: 3, repeats: true, faults })
    }

    pub(crate) fn new(choices: &mut Choices<'_>, size: Size) -> Self {
        let is_faulty = size.faults;
        let (catalog, fields) = catalogue(choices);
        let mut active: Vec<(&Field, Distribution)> = Vec::new();
        for _ in 0..=choices.below(6) {
            let field = &fields[choices.below(fields.len())];
            let absent = [0, 1, 4, 7, 8][choices.below(5)];
            let distinct = [0, 0, 3, 300, 70_000][choices.below(5)];
            if field.path != "id" && active.iter().all(|(other, _)| other.path != field.path) {
                active.push((field, Distribution { absent, distinct }));
            }
        }
        // Fields below one array are often there together.
        for field in fields.iter().filter(|field| !arrays_around(field).is_empty()) {
            let outermost = arrays_around(field)[0];
            let is_beside = |other: &&Field| arrays_around(other).first() == Some(&outermost);
            let others: Vec<&Field> = active.iter().map(|(other, _)| *other).filter(is_beside).collect();
            if !others.is_empty()
                && others.iter().all(|other| other.path != field.path)
                && choices.chance(1, 2)
            {
                let distinct = [0, 3, 3, 300][choices.below(4)];
                active.push((field, Distribution { absent: [0, 1, 4][choices.below(3)], distinct }));
            }
        }
        let mut ids: Vec<String> = Vec::new();
        let mut documents = Vec::new();
        for row in 0..size.documents {
            let id = match ids.len() {
                0 => "a".to_owned(),
                len if size.repeats && choices.chance(1, 12) => ids[choices.below(len)].clone(),
                _ if choices.chance(1, 16) => format!("{}{row}", choices.pick(STRINGS)),
                _ => format!("{:x}", row.wrapping_mul(40_503) & 0xf_ffff),
            };
            // The first document is always usable, because it decides the layout of the file.
            if row > 0 && is_faulty && choices.chance(1, 12) {
                documents.push(choices.pick(UNUSABLE).to_owned());
            } else {
                documents.push(document(choices, &id, &active, is_faulty));
            }
            ids.push(id);
        }
        let requests = (0..size.requests).map(|_| query(choices, &catalog, &fields, &active, &ids)).collect();
        Self { catalog, fields, documents, requests, is_faulty }
    }
}

fn catalogue(choices: &mut Choices<'_>) -> (Catalog, Vec<Field>) {
    if choices.chance(1, 2) {
        return (Catalog::cases(), case_fields());
    }
    let fields: Vec<Field> =
        OWN_FIELDS.iter().filter(|field| field.path == "id" || !choices.chance(1, 4)).cloned().collect();
    let catalog = Catalog::new(fields.iter().map(|field| {
        let kind = match field.kind {
            Kind::String => FieldType::String,
            Kind::Number => FieldType::Number,
            Kind::Integer => FieldType::Integer,
            Kind::Decimal => FieldType::Decimal { scale: 2 },
            Kind::Timestamp | Kind::UnixMillis => FieldType::Timestamp,
            Kind::Boolean => FieldType::Boolean,
        };
        let mut own = casefilter::Field::new(field.path, kind).with_known(field.known.iter().copied());
        if let Some(default) = field.default {
            own = own.with_default(default);
        }
        if let Some(alias) = field.alias {
            own = own.with_alias(alias);
        }
        // A key index changes no answer, even with few different values.
        if field.path == "s" {
            own = own.key();
        }
        // An index of substrings changes no answer either.
        if field.kind == Kind::String && SEARCHABLE.contains(&field.path) {
            own = own.searchable();
        }
        if field.kind == Kind::UnixMillis { own.unix_millis() } else { own }
    }));
    (catalog.unwrap(), fields)
}

/// JSON under construction, whose numbers keep their spelling.
enum Json {
    Hole,
    Raw(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn print(&self, space: &str, text: &mut String) {
        match self {
            Self::Hole => text.push_str("{}"),
            Self::Raw(raw) => text.push_str(raw),
            Self::Array(elements) => {
                text.push('[');
                for (i, element) in elements.iter().enumerate() {
                    text.push_str(if i > 0 { "," } else { "" });
                    element.print(space, text);
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    text.push_str(if i > 0 { "," } else { "" });
                    text.push_str(space);
                    text.push_str(&string(key, false));
                    text.push_str(space);
                    text.push(':');
                    value.print(space, text);
                }
                text.push('}');
            }
        }
    }

    /// Inserts `leaf` at the end of `path`, in every element along the path.
    fn put(
        &mut self,
        choices: &mut Choices<'_>,
        path: &str,
        faulty: bool,
        leaf: &mut dyn FnMut(&mut Choices<'_>) -> Json,
    ) {
        if matches!(self, Self::Hole) {
            if choices.chance(1, 24) {
                *self = Self::Raw("null".to_owned());
                return;
            }
            if faulty && choices.chance(1, 24) {
                *self = Self::Raw(choices.pick(WRONG).to_owned());
                return;
            }
        }
        if path.is_empty() {
            *self = leaf(choices);
        } else if let Some(rest) = path.strip_prefix("[]") {
            if matches!(self, Self::Hole) {
                *self = Self::Array((0..choices.below(4)).map(|_| Self::Hole).collect());
            }
            if let Self::Array(elements) = self {
                for element in elements {
                    element.put(choices, rest, faulty, leaf);
                }
            }
        } else {
            if matches!(self, Self::Hole) {
                *self = Self::Object(Vec::new());
            }
            let Self::Object(members) = self else { return };
            let path = path.strip_prefix('.').unwrap_or(path);
            let (key, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
            if let Some((_, value)) = members.iter_mut().find(|(own, _)| own == key) {
                value.put(choices, rest, faulty, leaf);
            } else if !choices.chance(1, 24) {
                let mut value = Self::Hole;
                value.put(choices, rest, faulty, leaf);
                let at = choices.below(members.len() + 1);
                members.insert(at, (key.to_owned(), value));
            }
        }
    }
}

/// Writes a JSON string, either as short as possible or with every character escaped.
fn string(text: &str, escaped: bool) -> String {
    if escaped {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{units}\"")
    } else {
        serde_json::to_string(text).unwrap()
    }
}

fn document(
    choices: &mut Choices<'_>,
    id: &str,
    active: &[(&Field, Distribution)],
    is_faulty: bool,
) -> String {
    let mut json = Json::Object(vec![("id".to_owned(), Json::Raw(string(id, false)))]);
    for (field, distribution) in active {
        if !choices.chance(distribution.absent, 8) {
            json.put(choices, field.path, is_faulty, &mut |choices| {
                stored(choices, field.kind, field, distribution)
            });
        }
    }
    if choices.chance(1, 8)
        && let Json::Object(members) = &mut json
    {
        members.push(("other".to_owned(), Json::Raw("{\"x\":[1.50,{\"y\":null}]}".to_owned())));
    }
    let mut text = String::new();
    json.print(if choices.chance(1, 8) { " " } else { "" }, &mut text);
    text
}

/// Generates a value as a document contains it.
fn stored(choices: &mut Choices<'_>, kind: Kind, field: &Field, distribution: &Distribution) -> Json {
    let raw = match kind {
        Kind::Boolean => choices.pick(&["true", "false"]).to_owned(),
        Kind::Number | Kind::Integer => operand(choices, field, distribution.distinct),
        Kind::Decimal => {
            let text = operand(choices, field, distribution.distinct);
            // The plain evaluator reads a JSON number as a double.
            if text.len() < 12 && choices.chance(1, 2) { text } else { string(&text, false) }
        }
        Kind::UnixMillis => {
            let millis = match distribution.distinct {
                0 => choices.pick(MILLIS).to_owned(),
                distinct => (1_704_067_200_000 + 500 * choices.below(distinct)).to_string(),
            };
            if choices.chance(1, 3) { millis } else { string(&millis, false) }
        }
        Kind::String | Kind::Timestamp => {
            let text = operand(choices, field, distribution.distinct);
            string(&text, choices.chance(1, 8))
        }
    };
    Json::Raw(raw)
}

/// Generates a value as a criterion contains it.
fn operand(choices: &mut Choices<'_>, field: &Field, distinct: usize) -> String {
    match (field.kind, distinct) {
        (Kind::Boolean, _) => choices.pick(&["true", "false"]).to_owned(),
        (_, _) if !field.known.is_empty() && !choices.chance(1, 4) => choices.pick(field.known).to_owned(),
        (Kind::String, 0) => choices.pick(STRINGS).to_owned(),
        (Kind::String, distinct) => format!("v{}", choices.below(distinct)),
        (Kind::Number, 0) => choices.pick(NUMBERS).to_owned(),
        (Kind::Number, distinct) => {
            let quarters = choices.below(distinct);
            format!("{}{}", quarters / 4, [".0", ".25", ".5", ".75"][quarters % 4])
        }
        (Kind::Integer, 0) => choices.pick(INTEGERS).to_owned(),
        (Kind::Integer, distinct) => (LARGE + choices.below(distinct) as u64).to_string(),
        (Kind::Decimal, 0) => choices.pick(DECIMALS).to_owned(),
        (Kind::Decimal, distinct) => {
            let cents = choices.below(distinct);
            format!("{}.{:02}", cents / 100, cents % 100)
        }
        (Kind::Timestamp | Kind::UnixMillis, 0) => choices.pick(TIMESTAMPS).to_owned(),
        (Kind::Timestamp | Kind::UnixMillis, distinct) => {
            let seconds = choices.below(distinct);
            let (minutes, second) = (seconds / 60, seconds % 60);
            let (hours, minute) = (minutes / 60, minutes % 60);
            format!("2024-01-{:02} {:02}:{minute:02}:{second:02}", 1 + hours / 24, hours % 24)
        }
    }
}

fn query(
    choices: &mut Choices<'_>,
    catalog: &Catalog,
    fields: &[Field],
    active: &[(&Field, Distribution)],
    ids: &[String],
) -> Query {
    let (mut catalog, mut fields) = (catalog.clone(), fields.to_vec());
    if choices.chance(1, 6) {
        fields.retain(|_| !choices.chance(1, 12));
        let names: Vec<String> = fields.iter().map(Field::name).collect();
        catalog = catalog.allow(names.iter().map(String::as_str)).unwrap();
    }
    // Most catalogues are extended: in the others, most of these bodies are errors.
    let is_extended = !choices.chance(1, 4);
    if is_extended {
        catalog = catalog.extended();
    }
    let ops = if is_extended || choices.chance(1, 4) { Ops::All } else { Ops::Interface };
    let mut body = json!({});
    let shape = choices.below(8);
    if shape != 7 {
        let count = if choices.chance(1, 16) { 0 } else { 1 + choices.below(3) };
        let criteria: Vec<Value> =
            (0..count).map(|_| criterion(choices, ops, &fields, active, "", 0)).collect();
        body["criteria"] = Value::from(criteria);
    }
    if shape >= 6 {
        let ids: Vec<&str> = (0..choices.below(5))
            .map(|_| match ids.len() {
                len if len > 0 && !choices.chance(1, 6) => ids[choices.below(len)].as_str(),
                _ => choices.pick(STRINGS),
            })
            .collect();
        body["ids"] = json!(ids);
    }
    if choices.chance(1, 32) {
        body["ids"] = [Value::Null, json!("a"), json!([1])][choices.below(3)].clone();
    }
    let sort_key = |choices: &mut Choices<'_>| {
        let field = match active.len() {
            len if len > 0 && choices.chance(3, 4) => active[choices.below(len)].0,
            _ => &fields_or_id(&fields)[choices.below(fields.len().max(1))],
        };
        let field = if field.is_many() && !choices.chance(1, 16) { &OWN_FIELDS[0] } else { field };
        let sign = choices.pick(&["", "-"]);
        format!("{sign}{}", if choices.chance(1, 32) { String::new() } else { field.name() })
    };
    let order = choices.chance(1, 2).then(|| {
        let more =
            if is_extended && choices.chance(3, 4) || choices.chance(1, 32) { choices.below(4) } else { 0 };
        let keys: Vec<String> = (0..=more).map(|_| sort_key(choices)).collect();
        keys.join(",")
    });
    let number = |choices: &mut Choices<'_>, options: &[&str]| match choices.below(64) {
        63 => Some(
            choices.pick(&["", "-1", "1.5", "x", " 1", "+1", "10001", "99999999999999999999"]).to_owned(),
        ),
        at => options.get(at % (2 * options.len())).map(|&text| text.to_owned()),
    };
    let offset = number(choices, &["0", "1", "2", "60", "1000000"]);
    let limit = number(choices, &["0", "1", "3", "64", "10000", "0007"]);
    let count = match choices.below(32) {
        31 => Some(choices.pick(&["", "1", "True", " true"]).to_owned()),
        at => [None, Some("true"), Some("false"), Some("true")][at % 4].map(str::to_owned),
    };
    Query { catalog, fields, is_extended, body, params: Params { order, offset, limit, count } }
}

/// Returns the fields, or only `id` if an allow-list left none.
fn fields_or_id(fields: &[Field]) -> &[Field] {
    if fields.is_empty() { &OWN_FIELDS[..1] } else { fields }
}

/// The operators of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ops {
    Interface,
    All,
}

fn criterion(
    choices: &mut Choices<'_>,
    ops: Ops,
    fields: &[Field],
    active: &[(&Field, Distribution)],
    around: &str,
    depth: usize,
) -> Value {
    // Within an element, nearly all fields are below its array.
    let is_below = |path: &str| around.is_empty() || path.starts_with(&format!("{around}."));
    let anywhere = choices.chance(1, 96);
    let near: Vec<&(&Field, Distribution)> =
        active.iter().filter(|(field, _)| anywhere || is_below(field.path)).collect();
    if ops == Ops::All && depth < 5 && choices.chance(1, 4) {
        let of_active = near.iter().flat_map(|(field, _)| arrays_around(field));
        let mut arrays: Vec<&str> = of_active.filter(|array| anywhere || is_below(array)).collect();
        if arrays.is_empty() {
            arrays = fields.iter().flat_map(arrays_around).filter(|array| is_below(array)).collect();
        }
        if !arrays.is_empty() {
            let array = choices.pick(&arrays);
            let count = 1 + choices.below(3);
            let children: Vec<Value> =
                (0..count).map(|_| criterion(choices, ops, fields, active, array, depth + 1)).collect();
            let name = if choices.chance(1, 128) { array.to_owned() } else { array.replace("[]", "") };
            return json!({"op": "$elem", "field": name, "children": children});
        }
    }
    if depth < 4 && choices.chance(3, 8) {
        let of_complex: &[&str] = if ops == Ops::All { &["$and", "$or", "$not"] } else { &["$and", "$or"] };
        let op = choices.pick(of_complex);
        let count = match op {
            _ if choices.chance(1, 64) => choices.below(3),
            "$not" => 1,
            _ => 1 + choices.below(4),
        };
        let children: Vec<Value> =
            (0..count).map(|_| criterion(choices, ops, fields, active, around, depth + 1)).collect();
        return json!({"op": op, "children": children});
    }
    let below: Vec<&Field> = fields_or_id(fields).iter().filter(|field| is_below(field.path)).collect();
    let (field, distinct) = match near.len() {
        len if len > 0 && !choices.chance(1, 8) => {
            let (field, distribution) = near[choices.below(len)];
            (*field, distribution.distinct)
        }
        _ if below.is_empty() => (&OWN_FIELDS[0], 0),
        _ => (below[choices.below(below.len())], 0),
    };
    let own: &[&str] = match (field.kind, ops) {
        (Kind::String, Ops::Interface) | (Kind::Boolean, Ops::Interface) => &["=", "<>", "$contains", "$all"],
        (Kind::String, Ops::All) if !field.known.is_empty() => &[
            "=",
            "<>",
            ">",
            ">=",
            "<",
            "<=",
            "$contains",
            "$all",
            "$exists",
            "$startsWith",
            "$substring",
            "$match",
        ],
        (Kind::String, Ops::All) => {
            &["=", "<>", "$contains", "$all", "$exists", "$startsWith", "$substring", "$match"]
        }
        (Kind::Boolean, Ops::All) => &["=", "<>", "$contains", "$all", "$exists"],
        (_, Ops::Interface) => &["=", "<>", ">", ">=", "<", "<=", "$contains", "$all"],
        (_, Ops::All) => &["=", "<>", ">", ">=", "<", "<=", "$contains", "$all", "$exists"],
    };
    let op = if choices.chance(1, 96) {
        choices.pick(&[">", "==", "$in", "$and", "$match", "$Not"])
    } else {
        choices.pick(own)
    };
    let is_one = !op.starts_with('$') || ["$exists", "$match"].contains(&op);
    let count = if is_one && !choices.chance(1, 96) { 1 } else { 1 + choices.below(4) };
    let values: Vec<String> = (0..count)
        .map(|_| match choices.below(128) {
            127 => choices
                .pick(&[
                    "x",
                    "",
                    "+1",
                    ".5",
                    "NaN",
                    "2024-02-30 00:00:00",
                    "TRUE",
                    "1e999",
                    "-0",
                    "007",
                    "9223372036854775808",
                    "0.001",
                    "92233720368547758.08",
                ])
                .to_owned(),
            _ if op == "$exists" => choices.pick(&["true", "false"]).to_owned(),
            _ if ["$startsWith", "$substring"].contains(&op) => {
                let text = operand(choices, field, distinct);
                part(choices, &text)
            }
            _ if op == "$match" => {
                let text = operand(choices, field, distinct);
                let text = part(choices, &text);
                if choices.chance(1, 3) {
                    format!("{text} {}", operand(choices, field, distinct))
                } else {
                    text
                }
            }
            // Only a known value has a rank.
            _ if op.starts_with(['<', '>'])
                && op != "<>"
                && !field.known.is_empty()
                && !choices.chance(1, 64) =>
            {
                choices.pick(field.known).to_owned()
            }
            _ => operand(choices, field, distinct),
        })
        .collect();
    let name = match field.alias {
        Some(alias) if choices.chance(1, 2) => alias.to_owned(),
        _ => field.name(),
    };
    json!({"field": name, "op": op, "values": values})
}

/// Returns a part of a string: its start, its end, a piece of it or all of it. Rarely empty.
fn part(choices: &mut Choices<'_>, text: &str) -> String {
    let count = text.chars().count();
    let start = choices.below(count.clamp(1, 200));
    let length = 1 + choices.below(5);
    match choices.below(4) {
        0 => text.to_owned(),
        1 => text.chars().take(length).collect(),
        2 => text.chars().skip(start).collect(),
        _ => text.chars().skip(start).take(length).collect(),
    }
}
