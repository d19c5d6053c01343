//! The plain evaluator, written from the specification alone. It evaluates one case at a time on `serde_json::Value`, as simply as
//! possible. It is slow.
//!
//! It shares no code with the library: neither with the engine nor with the reference evaluator.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// The type of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Number,
    /// An integer of 64 bits.
    Integer,
    /// A decimal with two digits after the point.
    Decimal,
    Timestamp,
    /// A timestamp that documents contain as Unix milliseconds.
    UnixMillis,
    Boolean,
}

/// A filterable field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its path, with `[]` after each key of an array.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) known: &'static [&'static str],
    pub(crate) default: Option<&'static str>,
    pub(crate) alias: Option<&'static str>,
}

impl Field {
    pub(crate) const fn new(path: &'static str, kind: Kind) -> Self {
        Self { path, kind, known: &[], default: None, alias: None }
    }

    pub(crate) fn name(&self) -> String {
        self.path.replace("[]", "")
    }

    pub(crate) fn is_many(&self) -> bool {
        self.path.contains("[]")
    }
}

/// One value of a field.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(crate) enum Scalar {
    String(String),
    Number(f64),
    Integer(i64),
    /// A decimal in hundredths.
    Hundredths(i128),
    Millis(i64),
    Boolean(bool),
}

/// An input that the specification forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Invalid;

/// Returns the fields of the Case resource: the table in section 1 of the specification.
pub(crate) fn case_fields() -> Vec<Field> {
    use Kind::{Boolean, Number, String, Timestamp, UnixMillis};
    let strings = [
        "id",
        "name",
        "groupByType",
        "createdByOfficer",
        "clientId",
        "applicantReference.applicantId",
        "applicantReference.fullName",
        "createdByRule.id",
        "createdByRule.name",
        "createdByRule.title",
        "createdByWorkflowRef.id",
        "createdByWorkflowRef.title",
        "review.reviewId",
        "review.attemptId",
        "review.reviewStatus",
        "applicantInfo.firstName",
        "applicantInfo.middleName",
        "applicantInfo.lastName",
        "applicantInfo.firstNameEn",
        "applicantInfo.middleNameEn",
        "applicantInfo.lastNameEn",
        "applicantInfo.country",
        "applicantInfo.applicantTags[]",
        "blueprintReference.name",
        "blueprintReference.blueprintId",
        "caseReview.stage",
        "caseReview.assignee",
        "caseReview.checklistState.checklist[].name",
        "amlCases[].amlCaseId",
        "sourceKeys[]",
        "tags[]",
    ];
    let mut fields: Vec<Field> = strings.into_iter().map(|path| Field::new(path, String)).collect();
    fields.extend(
        ["createdAt", "updatedAt", "review.createDate", "caseReview.startDate"]
            .map(|path| Field::new(path, Timestamp)),
    );
    fields.extend(
        ["createdByRule.revision", "totalAmountInDefaultCurrency", "review.attemptCnt"]
            .map(|path| Field::new(path, Number)),
    );
    fields.push(Field::new("applicantInfo.dob", UnixMillis));
    fields.push(Field::new("caseReview.checklistState.checklist[].checked", Boolean));
    fields.push(Field {
        known: &["byOfficer", "byRule", "byWorkflow", "byOngoingAmlHit", "byApi"],
        ..Field::new("createdByType", String)
    });
    fields.push(Field {
        known: &["open", "awaitingUser", "blocked", "resolvedFalsePositive", "resolvedPotentialThreat"],
        alias: Some("status"),
        ..Field::new("caseReview.status", String)
    });
    fields.push(Field {
        known: &["low", "medium", "high"],
        default: Some("medium"),
        ..Field::new("priority", String)
    });
    fields
}

/// Returns the field with this name or alias.
pub(crate) fn find<'f>(fields: &'f [Field], name: &str) -> Result<&'f Field, Invalid> {
    fields.iter().find(|field| field.name() == name || field.alias == Some(name)).ok_or(Invalid)
}

/// Returns the value set of a field, or an error if the document has a value of another type.
pub(crate) fn stored_values(field: &Field, document: &Value) -> Result<Vec<Scalar>, Invalid> {
    let mut found: Vec<&Value> = vec![document];
    for segment in field.path.split('.') {
        let key = segment.trim_end_matches("[]");
        let mut next = Vec::new();
        for value in found {
            match value {
                Value::Null => {}
                Value::Object(object) => next.extend(object.get(key)),
                _ => return Err(Invalid),
            }
        }
        for _ in 0..segment.matches("[]").count() {
            let mut elements = Vec::new();
            for value in next {
                match value {
                    Value::Null => {}
                    Value::Array(array) => elements.extend(array),
                    _ => return Err(Invalid),
                }
            }
            next = elements;
        }
        found = next;
    }
    let mut values = Vec::new();
    for value in found {
        if !value.is_null() {
            values.push(stored_value(field.kind, value)?);
        }
    }
    Ok(values)
}

fn stored_value(kind: Kind, value: &Value) -> Result<Scalar, Invalid> {
    match (kind, value) {
        (Kind::String, Value::String(text)) => Ok(Scalar::String(text.clone())),
        (Kind::Number, Value::Number(number)) => number.as_f64().map(Scalar::Number).ok_or(Invalid),
        (Kind::Integer, Value::Number(number)) => number.as_i64().map(Scalar::Integer).ok_or(Invalid),
        (Kind::Decimal, Value::Number(number)) => {
            hundredths(&number.to_string()).map(Scalar::Hundredths).ok_or(Invalid)
        }
        (Kind::Decimal, Value::String(text)) => hundredths(text).map(Scalar::Hundredths).ok_or(Invalid),
        (Kind::Boolean, Value::Bool(truth)) => Ok(Scalar::Boolean(*truth)),
        (Kind::Timestamp, Value::String(text)) => instant(text).map(Scalar::Millis).ok_or(Invalid),
        (Kind::UnixMillis, Value::String(text)) => {
            // An integer in the form of JSON.
            let number: serde_json::Number = serde_json::from_str(text).map_err(|_| Invalid)?;
            let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            let millis = if text == "-0" { Some(0) } else { number.as_i64() };
            millis.filter(|_| plain).map(Scalar::Millis).ok_or(Invalid)
        }
        (Kind::UnixMillis, Value::Number(number)) => number.as_i64().map(Scalar::Millis).ok_or(Invalid),
        _ => Err(Invalid),
    }
}

/// Returns the value set. For an absent or rejected value, the default counts.
pub(crate) fn value_set(field: &Field, document: &Value) -> Vec<Scalar> {
    let values = stored_values(field, document).unwrap_or_default();
    match field.default {
        Some(default) if values.is_empty() => {
            vec![operand(field.kind, default).expect("a valid default")]
        }
        _ => values,
    }
}

/// Parses a decimal of the scale 2, and returns it in hundredths.
fn hundredths(text: &str) -> Option<i128> {
    serde_json::from_str::<serde_json::Number>(text).ok().filter(|_| !text.contains(char::is_whitespace))?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let power = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()? + 2;
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    let hundredths = if power >= 0 {
        digits.checked_mul(factor)?
    } else if digits % factor == 0 {
        digits / factor
    } else {
        return None;
    };
    i64::try_from(hundredths).is_ok().then_some(hundredths)
}

/// Parses a timestamp, and returns it in milliseconds.
pub(crate) fn instant(text: &str) -> Option<i64> {
    let (local, offset) = text.split_at_checked(19)?;
    let fits = |text: &str, mask: &str| {
        text.len() == mask.len()
            && text
                .bytes()
                .zip(mask.bytes())
                .all(|(b, m)| if m == b'9' { b.is_ascii_digit() } else { b == m })
    };
    if !fits(local, "9999-99-99 99:99:99") {
        return None;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let (hour, minute, second) = (number(11..13), number(14..16), number(17..19));
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *months.get(usize::try_from(month - 1).ok()?)?;
    if day < 1 || day > length || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut days: i64 = day - 1 + months[..usize::try_from(month - 1).unwrap()].iter().sum::<i64>();
    if year >= 1970 {
        days += (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<i64>();
    } else {
        days -= (year..1970).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<i64>();
    }
    let offset_min = if offset.is_empty() {
        0
    } else {
        if !["+9999", "-9999", "+99:99", "-99:99"].iter().any(|mask| fits(offset, mask)) {
            return None;
        }
        let hours: i64 = offset[1..3].parse().unwrap();
        let minutes: i64 = offset[offset.len() - 2..].parse().unwrap();
        if minutes > 59 || hours * 60 + minutes > 18 * 60 {
            return None;
        }
        if offset.starts_with('-') { -(hours * 60 + minutes) } else { hours * 60 + minutes }
    };
    Some((((days * 24 + hour) * 60 + minute - offset_min) * 60 + second) * 1000)
}

/// Parses a value of a criterion.
fn operand(kind: Kind, text: &str) -> Result<Scalar, Invalid> {
    match kind {
        Kind::String => Ok(Scalar::String(text.to_owned())),
        Kind::Number => {
            let is_json = !text.contains(char::is_whitespace)
                && serde_json::from_str::<serde_json::Number>(text).is_ok();
            let number: f64 = text.parse().map_err(|_| Invalid)?;
            if is_json && number.is_finite() { Ok(Scalar::Number(number)) } else { Err(Invalid) }
        }
        Kind::Integer => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_canonical = digits == "0" || !digits.starts_with('0');
            let is_plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let integer = text.parse().map_err(|_| Invalid)?;
            if is_canonical && is_plain { Ok(Scalar::Integer(integer)) } else { Err(Invalid) }
        }
        Kind::Decimal => hundredths(text).map(Scalar::Hundredths).ok_or(Invalid),
        Kind::Timestamp | Kind::UnixMillis => instant(text).map(Scalar::Millis).ok_or(Invalid),
        Kind::Boolean => match text {
            "true" => Ok(Scalar::Boolean(true)),
            "false" => Ok(Scalar::Boolean(false)),
            _ => Err(Invalid),
        },
    }
}

/// A parsed criterion.
#[derive(Debug)]
enum Criterion {
    And(Vec<Criterion>),
    Or(Vec<Criterion>),
    Not(Box<Criterion>),
    /// Some element of the array at a path makes all children true.
    Elem {
        array: &'static str,
        children: Vec<Criterion>,
    },
    Test {
        field: Field,
        op: String,
        values: Vec<Scalar>,
    },
}

/// A parsed request.
#[derive(Debug)]
pub(crate) struct Request {
    ids: Option<Vec<String>>,
    criteria: Option<Vec<Criterion>>,
    order: Vec<(Field, bool)>,
    offset: usize,
    limit: usize,
    pub(crate) count: bool,
}

/// The parameters of a request besides its body, as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    pub(crate) order: Option<String>,
    pub(crate) offset: Option<String>,
    pub(crate) limit: Option<String>,
    pub(crate) count: Option<String>,
}

/// Returns the members of an object that are not `null`, or an error if one is not allowed.
fn members<'v>(value: &'v Value, allowed: &[&str]) -> Result<Map<String, Value>, Invalid> {
    let object: &'v Map<String, Value> = value.as_object().ok_or(Invalid)?;
    if object.keys().any(|key| !allowed.contains(&key.as_str())) {
        return Err(Invalid);
    }
    Ok(object.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect())
}

fn strings(value: &Value) -> Result<Vec<String>, Invalid> {
    let array = value.as_array().ok_or(Invalid)?;
    array.iter().map(|value| value.as_str().map(str::to_owned).ok_or(Invalid)).collect()
}

/// The operators that only an extended catalogue allows (specification, section 8).
const EXTENDED: [&str; 6] = ["$not", "$elem", "$exists", "$startsWith", "$substring", "$match"];

/// Returns the paths of the arrays of objects around a field, with `[]`, from the outermost on.
pub(crate) fn arrays_around(field: &Field) -> Vec<&'static str> {
    let dots = field.path.match_indices('.').map(|(at, _)| &field.path[..at]);
    dots.filter(|path| path.ends_with("[]")).collect()
}

/// Parses a criterion. `around` is the path of the array whose elements it tests; empty for none.
fn criterion(fields: &[Field], is_extended: bool, around: &str, value: &Value) -> Result<Criterion, Invalid> {
    let is_below = |path: &str| around.is_empty() || path.starts_with(&format!("{around}."));
    let members = members(value, &["op", "children", "field", "values"])?;
    let op = members.get("op").and_then(Value::as_str).ok_or(Invalid)?;
    if EXTENDED.contains(&op) && !is_extended {
        return Err(Invalid);
    }
    let has = |key| members.contains_key(key);
    if op == "$elem" {
        let name = members.get("field").and_then(Value::as_str).ok_or(Invalid)?;
        let mut arrays = fields.iter().flat_map(arrays_around);
        let array = arrays.find(|array| array.replace("[]", "") == name && is_below(array)).ok_or(Invalid)?;
        let children = members.get("children").and_then(Value::as_array).ok_or(Invalid)?;
        if children.is_empty() || has("values") {
            return Err(Invalid);
        }
        let children = children.iter().map(|child| criterion(fields, is_extended, array, child));
        return Ok(Criterion::Elem { array, children: children.collect::<Result<_, _>>()? });
    }
    if op == "$and" || op == "$or" || op == "$not" {
        let children = members.get("children").and_then(Value::as_array).ok_or(Invalid)?;
        if children.is_empty() || has("field") || has("values") {
            return Err(Invalid);
        }
        let mut children = children
            .iter()
            .map(|child| criterion(fields, is_extended, around, child))
            .collect::<Result<Vec<_>, _>>()?;
        return match op {
            "$and" => Ok(Criterion::And(children)),
            "$or" => Ok(Criterion::Or(children)),
            _ if children.len() == 1 => Ok(Criterion::Not(Box::new(children.remove(0)))),
            _ => Err(Invalid),
        };
    }
    let field = find(fields, members.get("field").and_then(Value::as_str).ok_or(Invalid)?)?.clone();
    if !is_below(field.path) {
        return Err(Invalid);
    }
    let texts = strings(members.get("values").ok_or(Invalid)?)?;
    let is_order = matches!(op, ">" | ">=" | "<" | "<=");
    let has_ranks = is_extended && field.kind == Kind::String && !field.known.is_empty();
    if is_order && has_ranks && texts.iter().any(|text| !field.known.contains(&text.as_str())) {
        return Err(Invalid);
    }
    let has_order = has_ranks
        || matches!(
            field.kind,
            Kind::Number | Kind::Integer | Kind::Decimal | Kind::Timestamp | Kind::UnixMillis
        );
    let fits = match op {
        "=" | "<>" | "$exists" => texts.len() == 1,
        ">" | ">=" | "<" | "<=" => texts.len() == 1 && has_order,
        "$contains" | "$all" => !texts.is_empty(),
        "$startsWith" | "$substring" => {
            !texts.is_empty() && field.kind == Kind::String && texts.iter().all(|text| !text.is_empty())
        }
        "$match" => {
            texts.len() == 1 && field.kind == Kind::String && folded(&texts[0]).split_whitespace().count() > 0
        }
        _ => false,
    };
    if !fits || has("children") {
        return Err(Invalid);
    }
    let kind = if op == "$exists" { Kind::Boolean } else { field.kind };
    let values = texts.iter().map(|text| operand(kind, text)).collect::<Result<_, _>>()?;
    Ok(Criterion::Test { field, op: op.to_owned(), values })
}

/// Parses a non-negative decimal integer.
fn integer(text: Option<&str>, absent: usize) -> Result<usize, Invalid> {
    let Some(text) = text else { return Ok(absent) };
    if text.is_empty() || text.bytes().any(|b| !b.is_ascii_digit()) {
        return Err(Invalid);
    }
    text.parse().map_err(|_| Invalid)
}

/// Parses a request (specification, sections 2, 3 and 8).
pub(crate) fn request(
    fields: &[Field],
    is_extended: bool,
    body: &Value,
    params: &Params,
) -> Result<Request, Invalid> {
    let members = members(body, &["ids", "criteria"])?;
    if members.is_empty() {
        return Err(Invalid);
    }
    let ids = members.get("ids").map(strings).transpose()?;
    let criteria = match members.get("criteria") {
        None => None,
        Some(value) => {
            let array = value.as_array().ok_or(Invalid)?;
            let criteria = array.iter().map(|value| criterion(fields, is_extended, "", value));
            Some(criteria.collect::<Result<_, _>>()?)
        }
    };
    let text = params.order.as_deref().unwrap_or_default();
    if text.contains(',') && !is_extended {
        return Err(Invalid);
    }
    let mut order: Vec<(Field, bool)> = Vec::new();
    for text in text.split(',').filter(|_| !text.is_empty()) {
        let name = text.strip_prefix('-').unwrap_or(text);
        let field = find(fields, name)?.clone();
        if field.is_many() || order.len() == 8 || order.iter().any(|(own, _)| own.path == field.path) {
            return Err(Invalid);
        }
        order.push((field, name != text));
    }
    let offset = integer(params.offset.as_deref(), 0)?;
    let limit = integer(params.limit.as_deref(), 100)?;
    let count = match params.count.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(Invalid),
    };
    if limit > 10_000 {
        return Err(Invalid);
    }
    Ok(Request { ids, criteria, order, offset, limit, count })
}

/// The part of a document that a criterion tests: the document, or an element of an array of objects.
#[derive(Clone, Copy)]
struct Scope<'d> {
    document: &'d Value,
    part: &'d Value,
    /// The path of the array of the element, empty for the document.
    array: &'static str,
}

impl<'d> Scope<'d> {
    fn of(document: &'d Value) -> Self {
        Self { document, part: document, array: "" }
    }

    /// Returns a path from the scope on.
    fn relative(self, path: &'static str) -> &'static str {
        path.strip_prefix(self.array).map_or(path, |rest| rest.strip_prefix('.').unwrap_or(rest))
    }

    /// Returns the elements of an array of objects.
    fn elements(self, array: &'static str) -> Vec<Self> {
        let mut found = vec![self.part];
        for segment in self.relative(array).split('.') {
            let key = segment.trim_end_matches("[]");
            found = found.into_iter().filter_map(|value| value.get(key)).collect();
            for _ in 0..segment.matches("[]").count() {
                found = found.into_iter().filter_map(Value::as_array).flatten().collect();
            }
        }
        found.into_iter().map(|part| Self { part, array, ..self }).collect()
    }

    fn values(self, field: &Field) -> Vec<Scalar> {
        if self.array.is_empty() {
            return value_set(field, self.document);
        }
        // A field with one rejected value is absent everywhere.
        match stored_values(field, self.document) {
            Ok(_) => {
                let own = Field { path: self.relative(field.path), ..field.clone() };
                stored_values(&own, self.part).unwrap()
            }
            Err(Invalid) => Vec::new(),
        }
    }
}

/// Returns true if a criterion holds for a document or an element, by the table of operators.
fn holds(criterion: &Criterion, scope: Scope<'_>) -> bool {
    match criterion {
        Criterion::And(children) => children.iter().all(|child| holds(child, scope)),
        Criterion::Or(children) => children.iter().any(|child| holds(child, scope)),
        Criterion::Not(child) => !holds(child, scope),
        Criterion::Elem { array, children } => {
            let passes = |element: &Scope<'_>| children.iter().all(|child| holds(child, *element));
            scope.elements(array).iter().any(passes)
        }
        Criterion::Test { field, op, values } => {
            let set = scope.values(field);
            match op.as_str() {
                "=" => set.contains(&values[0]),
                "<>" => !set.contains(&values[0]),
                ">" => set.iter().any(|x| order(field, x, &values[0]) == Some(Ordering::Greater)),
                ">=" => set.iter().any(|x| order(field, x, &values[0]).is_some_and(Ordering::is_ge)),
                "<" => set.iter().any(|x| order(field, x, &values[0]) == Some(Ordering::Less)),
                "<=" => set.iter().any(|x| order(field, x, &values[0]).is_some_and(Ordering::is_le)),
                "$contains" => values.iter().any(|value| set.contains(value)),
                "$all" => values.iter().all(|value| set.contains(value)),
                "$exists" => values[0] == Scalar::Boolean(!set.is_empty()),
                "$startsWith" => some_text(&set, |x| texts(values).any(|value| x.starts_with(value))),
                "$substring" => some_text(&set, |x| texts(values).any(|value| x.contains(value))),
                "$match" => some_text(&set, |x| {
                    let x = folded(x);
                    texts(values).all(|value| folded(value).split_whitespace().all(|word| x.contains(word)))
                }),
                _ => unreachable!("{op} was not understood"),
            }
        }
    }
}

/// Compares a value with the operand of an order comparison. Strings compare by their place in the table of known values, so a
/// string that is not in the table compares with none.
fn order(field: &Field, value: &Scalar, operand: &Scalar) -> Option<Ordering> {
    let place = |text: &String| field.known.iter().position(|known| known == text);
    match (value, operand) {
        (Scalar::String(a), Scalar::String(b)) => Some(place(a)?.cmp(&place(b)?)),
        _ => value.partial_cmp(operand),
    }
}

/// Returns the strings among some values.
fn texts(values: &[Scalar]) -> impl Iterator<Item = &str> {
    values.iter().filter_map(|value| match value {
        Scalar::String(text) => Some(text.as_str()),
        _ => None,
    })
}

fn some_text(set: &[Scalar], test: impl Fn(&str) -> bool) -> bool {
    texts(set).any(test)
}

/// Folds a string by a table of the letters that the worlds have. It lists their NFKD, marks and case by hand, so that it shares
/// nothing with the library. Other characters fold to themselves.
///
/// # Panics
/// Panics on a letter that is in no table: a world must not have one.
pub(crate) fn folded(text: &str) -> String {
    let mut result = String::new();
    for c in text.chars() {
        match c {
            '\u{300}'..='\u{36f}' => {}
            'A'..='Z' => result.push(c.to_ascii_lowercase()),
            '\0'..='\u{7f}' | 'о' | 'д' | '日' | '本' | '\u{ffff}' | '\u{10000}' | '\u{feff}' => {
                result.push(c);
            }
            'É' | 'é' => result.push('e'),
            'Í' | 'í' | 'İ' => result.push('i'),
            'Ó' | 'ó' | 'Ö' | 'ö' => result.push('o'),
            'Ñ' | 'ñ' => result.push('n'),
            'ß' | 'ẞ' => result.push_str("ss"),
            'ﬁ' => result.push_str("fi"),
            'Σ' | 'σ' | 'ς' => result.push('σ'),
            'Й' | 'й' => result.push('и'),
            'Ａ' => result.push('a'),
            '\u{a0}' | '\u{3000}' => result.push(' '),
            _ => panic!("no folding for {c:?}"),
        }
    }
    result
}

/// Returns true if a request selects a document.
pub(crate) fn selects(request: &Request, document: &Value) -> bool {
    let by_id = request.ids.as_ref().is_some_and(|ids| ids.iter().any(|id| document["id"] == **id));
    let by_criteria = request.criteria.as_ref().is_some_and(|criteria| {
        !criteria.is_empty() && criteria.iter().all(|one| holds(one, Scope::of(document)))
    });
    by_id || by_criteria
}

/// Returns the indexes of the documents on the page, in order, and the number of all selected documents.
pub(crate) fn search(documents: &[Value], request: &Request) -> (Vec<usize>, usize) {
    page(documents, request, (request.offset, request.limit))
}

fn page(documents: &[Value], request: &Request, (offset, limit): (usize, usize)) -> (Vec<usize>, usize) {
    let mut selected: Vec<usize> =
        (0..documents.len()).filter(|at| selects(request, &documents[*at])).collect();
    if !request.order.is_empty() {
        let id = |at: usize| documents[at]["id"].as_str();
        let keys = |at: usize| -> Vec<Option<Scalar>> {
            request.order.iter().map(|(field, _)| value_set(field, &documents[at]).pop()).collect()
        };
        let mut keyed: Vec<(Vec<Option<Scalar>>, usize)> =
            selected.iter().map(|at| (keys(*at), *at)).collect();
        keyed.sort_by(|(a, a_at), (b, b_at)| {
            let mut by_key =
                request.order.iter().zip(a.iter().zip(b)).map(|((field, descending), pair)| match pair {
                    (Some(a), Some(b)) if *descending => rank(field, b, a),
                    (Some(a), Some(b)) => rank(field, a, b),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => Ordering::Equal,
                });
            by_key.find(|ordering| ordering.is_ne()).unwrap_or_else(|| id(*a_at).cmp(&id(*b_at)))
        });
        selected = keyed.into_iter().map(|(_, at)| at).collect();
    }
    let total = selected.len();
    (selected.into_iter().skip(offset).take(limit).collect(), total)
}

/// Returns the indexes of all selected documents, in order.
pub(crate) fn all_selected(documents: &[Value], request: &Request) -> Vec<usize> {
    page(documents, request, (0, usize::MAX)).0
}

/// Compares two values of a field in ascending order: known values first, in the order of the table.
fn rank(field: &Field, a: &Scalar, b: &Scalar) -> Ordering {
    let place = |value: &Scalar| match value {
        Scalar::String(text) => {
            field.known.iter().position(|known| known == text).unwrap_or(field.known.len())
        }
        _ => 0,
    };
    place(a).cmp(&place(b)).then_with(|| a.partial_cmp(b).expect("values of one field compare"))
}
