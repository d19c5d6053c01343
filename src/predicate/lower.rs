//! Lowering: converts the syntax tree of a body to a typed tree. Resolves fields, checks operators and parses values.
//!
//! There are two lowerings:
//!
//! - [`compile`] returns the normal form, which engines run. It stops at the first error without reporting it.
//! - [`lower`] returns the tree as written, with one node for each criterion, and the errors. Warnings, `why` and the reference
//!   evaluator read this tree.
//!
//! Invariant: `compile` returns a tree if and only if `lower` finds no error and no criterion is broken.

mod scope;

use std::borrow::Cow;

use smallvec::SmallVec;

use self::scope::{Scope, negated, scopes};
use super::optimize::Builder;
use super::reading::Reading;
use super::set::Set;
use super::tree::{Children, Comparison, Leaf, Node, NodeId, Rounded, Tree, Values, Written};
use crate::catalog::{Catalog, Field, FieldId, FieldType, IdType};
use crate::criteria::{Body, Criterion, Text, Unsupported, meant_by_bad_value};
use crate::error::{
    Error, ErrorKind, REPORTED_ERRORS, Suggestion, escaped, nearest, quote, quote_all, quote_whole,
};
use crate::operator::{Complex, Connective, Language, Operands, Operator, Quantifier, Ray, Side};
use crate::value::{
    Clock, Number, Operand, OrderedType, ParseMomentError, ParseTimestampError, Span, Timestamp, Value,
    ValueClass, canonical_id, is_moment, parse_integer, part_of_id, words,
};

/// Compiles a body to its normal form. Returns `None` if the body has an error.
///
/// Takes linear time in the number of criteria and values, apart from sorting them.
pub(crate) fn compile(body: &Body<'_>, catalog: &Catalog) -> Option<Tree<Leaf>> {
    let mut builder = Builder::new(catalog, body.nodes.len().saturating_add(3));
    let language = Language::new(body.syntax, catalog.grammar());
    let reading = Reading { language, grammar: body.grammar, clock: body.clock };
    let negated = negated(body);
    let scopes = scopes(body, catalog, reading.language);
    // A stack of the builder's node ids: criteria whose parent was not reached yet.
    let mut made: SmallVec<[NodeId; 24]> = SmallVec::new();
    for (at, criterion) in body.nodes.iter().enumerate() {
        let is_negated = negated.get(at).copied().unwrap_or(false);
        let node = match criterion {
            Criterion::Field { field, operator, values } => {
                let (operator, _) = (*operator)?;
                let scope = scopes.get(at).copied().unwrap_or_default();
                let id = scope.field(&body.text(*field)?.text, catalog, reading.language)?;
                let field = catalog.field(id);
                let (kind, is_many) = (field.field_type(), field.is_many());
                if !operator.applies_to(field, body.grammar) {
                    return None;
                }
                let texts = body.texts(values).iter().map(|value| &*value.text);
                let id_type = catalog.field(id).id_type();
                // Only known values have a rank.
                let is_ranked = kind == FieldType::String && operator.ray().is_some();
                if is_ranked && texts.clone().any(|text| field.known_rank(text).is_none()) {
                    return None;
                }
                let operands = match operator.operands() {
                    // Filters rarely test ids that are not plain strings.
                    Operands::OfField | Operands::NotEmpty | Operands::Words if id_type != IdType::String => {
                        set_of_ids(id_type, operator, body.texts(values))?
                    }
                    Operands::OfField => Set::from_texts(kind, reading, is_many, texts)?,
                    Operands::Truth => Set::from_texts(FieldType::Boolean, reading, is_many, texts)?,
                    Operands::NotEmpty if texts.clone().any(str::is_empty) => return None,
                    Operands::Words if texts.clone().any(|text| words(text).is_empty()) => return None,
                    Operands::NotEmpty | Operands::Words => Set::of_strings(texts)?,
                };
                // `$all` needs each span of time separately, but a set does not keep adjacent spans apart.
                if operator.shape().quantifier == Quantifier::All && !operands.are_points() {
                    return None;
                }
                builder.leaf(id, operator, operands, is_negated)
            }
            Criterion::Complex { operator: Complex::Join(connective), children, .. } => {
                let first = made.len().checked_sub(*children)?;
                let connective = if is_negated { connective.dual() } else { *connective };
                let node = builder.make(connective, made.get(first..)?);
                made.truncate(first);
                node
            }
            // The child has already been built in its negated form.
            Criterion::Complex { operator: Complex::Not, .. } => made.pop()?,
            Criterion::Complex { operator: Complex::Elem(_), array, children } => {
                let scope = scopes.get(at).copied().unwrap_or_default();
                let array = scope.array(&body.text((*array)?)?.text, catalog, reading.language)?;
                let first = made.len().checked_sub(*children)?;
                let child = builder.make(Connective::And, made.get(first..)?);
                made.truncate(first);
                builder.elements(array, child, is_negated)
            }
            Criterion::Broken => return None,
        };
        made.push(node);
    }
    if made.len() != body.criteria.unwrap_or(0) {
        return None;
    }
    let ids = match &body.ids {
        None => None,
        Some(ids) if ids.is_empty() => Some(builder.constant(false)),
        Some(ids) => {
            let set = match catalog.id_type() {
                IdType::String => Set::of_strings(body.texts(ids).iter().map(|id| &*id.text))?,
                id_type => set_of_ids(id_type, Operator::Contains, body.texts(ids))?,
            };
            Some(builder.leaf(FieldId::ID, Operator::Contains, set, false))
        }
    };
    let criteria = body.criteria.map(|_| match made.as_slice() {
        [] => builder.constant(false),
        criteria => builder.make(Connective::And, criteria),
    });
    let root = match (ids, criteria) {
        (Some(only), None) | (None, Some(only)) => only,
        (Some(ids), Some(criteria)) => builder.make(Connective::Or, &[ids, criteria]),
        (None, None) => builder.constant(false),
    };
    Some(builder.finish(root))
}

/// Lowers a body to its tree as written, with one node for each criterion, in the same order.
///
/// An additional node joins the criteria by `$and`. If the body has `ids` too, the root joins the ids and the criteria by `$or`.
///
/// The list of errors has only errors that need the catalogue: at least the first ten, with empty paths. If there is an error or a
/// broken criterion, the tree must not be used.
pub(crate) fn lower<'b>(body: &'b Body<'_>, catalog: &Catalog) -> (Written<'b>, Vec<Error>) {
    let language = Language::new(body.syntax, catalog.grammar());
    let reading = Reading { language, grammar: body.grammar, clock: body.clock };
    let scopes = scopes(body, catalog, language);
    let mut errors = Vec::new();
    let mut nodes: Vec<Node<Comparison<'b>, Complex>> =
        Vec::with_capacity(body.nodes.len().saturating_add(3));
    // A stack of node ids: criteria whose parent has not been reached yet.
    let mut open: Vec<NodeId> = Vec::new();
    for (at, criterion) in body.nodes.iter().enumerate() {
        let scope = scopes.get(at).copied().unwrap_or_default();
        let node = match criterion {
            Criterion::Broken => Node::Constant(false),
            // Field criteria are in document order, so an error in this criterion would not be among the first ten.
            Criterion::Field { .. } if errors.len() >= REPORTED_ERRORS => Node::Constant(false),
            Criterion::Complex { operator, array, children } => {
                let first = open.len().saturating_sub(*children);
                let children = open.drain(first..).collect();
                let array = array.and_then(|array| body.text(array));
                match (operator, array) {
                    (Complex::Elem(_), Some(name)) => match scope.array(&name.text, catalog, language) {
                        Some(array) => Node::Branch(Complex::Elem(array), children),
                        None => {
                            if scope != Scope::Unknown && errors.len() < MOST_ERRORS {
                                errors.push(no_array(catalog, language, scope, name));
                            }
                            Node::Constant(false)
                        }
                    },
                    _ => Node::Branch(*operator, children),
                }
            }
            Criterion::Field { field, operator, values } => {
                let texts = body.texts(values);
                let comparison = body.text(*field).and_then(|name| {
                    comparison(catalog, reading, scope, (name, *operator), texts, &mut errors)
                });
                comparison.map_or(Node::Constant(false), Node::Leaf)
            }
        };
        open.push(nodes.len());
        nodes.push(node);
    }
    let mut roots = Children::new();
    if let Some(ids) = &body.ids {
        roots.push(nodes.len());
        nodes.push(Node::Leaf(by_ids(catalog, body.texts(ids), &mut errors)));
    }
    if body.criteria.is_some() {
        roots.push(nodes.len());
        nodes.push(if open.is_empty() {
            Node::Constant(false)
        } else {
            Node::Branch(Connective::And.into(), open.into())
        });
    }
    if roots.len() != 1 {
        nodes.push(Node::Branch(Connective::Or.into(), roots));
    }
    (Tree::from_nodes(nodes), errors)
}

/// Returns the numbers of a body that change when they are rounded to a double, with their nodes in the tree of [`lower`].
///
/// The body must not have errors.
pub(crate) fn rounded_numbers(body: &Body<'_>, catalog: &Catalog) -> Vec<Rounded> {
    let mut rounded = Vec::new();
    let language = Language::new(body.syntax, catalog.grammar());
    let scopes = scopes(body, catalog, language);
    for (node, criterion) in body.nodes.iter().enumerate() {
        let Criterion::Field { field, operator, values } = criterion else { continue };
        if operator.is_some_and(|(operator, _)| operator.operands() != Operands::OfField) {
            continue;
        }
        let scope = scopes.get(node).copied().unwrap_or_default();
        let id = body.text(*field).and_then(|name| scope.field(&name.text, catalog, language));
        let kind = id.map(|id| catalog.field(id).field_type());
        if kind != Some(FieldType::Number) {
            continue;
        }
        for (value, text) in body.texts(values).iter().enumerate() {
            if let Some(number) =
                Number::parse(&text.text).filter(|number| number.is_rounded_from(&text.text))
            {
                rounded.push(Rounded { node, value, written: text.text.to_string(), number });
            }
        }
    }
    rounded
}

/// The number of errors that are kept until they are sorted.
const MOST_ERRORS: usize = 8 * REPORTED_ERRORS;

/// The number of arrays that an error lists.
const MOST_ARRAYS: usize = 10;

/// Returns the error of a path that is not an array of objects of this scope.
fn no_array(catalog: &Catalog, language: Language, scope: Scope, name: &Text<'_>) -> Error {
    let is_within = |array: &&str| match scope {
        Scope::Element(around) => {
            catalog.find_array(array).is_some_and(|array| catalog.is_array_below(array, around))
        }
        _ => true,
    };
    let names: Vec<&str> = catalog.array_names().filter(is_within).collect();
    let around = match scope {
        Scope::Element(around) => format!(" below {}", quote(catalog.array_name(around))),
        _ => String::new(),
    };
    let field = scope.field(&name.text, catalog, language).map(|field| catalog.field(field));
    let expected = match names.as_slice() {
        [] => format!("an array of objects{around}, of which the catalogue has none"),
        names => {
            let more = if names.len() > MOST_ARRAYS { " and others" } else { "" };
            let listed = quote_all(names.iter().take(MOST_ARRAYS).copied());
            format!("an array of objects{around}: {listed}{more}")
        }
    };
    let note = match (field, language) {
        (Some(field), _) if !field.is_many() => "; a field is tested without an array around it",
        (Some(_), _) => "; the values of a field are tested by a criterion on the field",
        (None, _) => "",
    };
    let nearest = nearest(&name.text, names.iter().copied());
    Error::new(ErrorKind::UnknownField, name.offset, quote(&name.text), format!("{expected}{note}"))
        .suggest(nearest.map(Suggestion::replace_by))
}

/// Returns the error of a name that is not a field of this scope. Returns `None` if the scope has an error itself.
fn no_field(catalog: &Catalog, language: Language, scope: Scope, name: &Text<'_>) -> Option<Error> {
    let array = match scope {
        Scope::Unknown => return None,
        Scope::Element(array) => array,
        Scope::Document => {
            let error = catalog.resolve(&name.text, name.offset).err()?;
            return Some(match (catalog.find_array(&name.text), language) {
                (None, _) | (_, Language::Interface) => error,
                (Some(_), Language::Extended) => {
                    let note = format!("; {} tests an array", quote(Complex::ELEM.name()));
                    Error { expected: format!("{}{note}", error.expected), ..error }
                }
                (Some(_), Language::Text) => {
                    let note = "; `has (…)` tests an array";
                    Error { expected: format!("{}{note}", error.expected), ..error }
                }
            });
        }
    };
    let around = catalog.array_name(array);
    let expected = match catalog.find(&name.text) {
        Some(_) => format!(
            "a field below {}: the criteria of an element test the values of that element alone",
            quote(around)
        ),
        None => format!("a field below {}", quote(around)),
    };
    // A text may write names from the array on.
    let written = |field: &FieldId| {
        let full = catalog.field(*field).name();
        let rest = full.strip_prefix(around).and_then(|rest| rest.strip_prefix('.'));
        if language == Language::Text { rest.unwrap_or(full) } else { full }
    };
    let below = catalog.fields_of_array(array);
    let last_key = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let key = last_key(&name.text);
    let by_key = below.iter().find(|field| last_key(catalog.field(**field).name()) == key).map(written);
    let meant = by_key.or_else(|| nearest(&name.text, below.iter().map(written)));
    let error = Error::new(ErrorKind::UnknownField, name.offset, quote(&name.text), expected);
    Some(error.suggest(meant.map(Suggestion::replace_by)))
}

/// Returns the comparison that is equivalent to `ids`.
fn by_ids<'b>(catalog: &Catalog, ids: &'b [Text<'_>], errors: &mut Vec<Error>) -> Comparison<'b> {
    let id_type = catalog.id_type();
    let mut values = Values::with_capacity(ids.len());
    for text in ids {
        match canonical_id(id_type, &text.text) {
            Some(id) => values.push(Value::String(id).into()),
            None if errors.len() < MOST_ERRORS => errors.push(bad_id(catalog.field(FieldId::ID), text)),
            None => {}
        }
    }
    Comparison { field: FieldId::ID, operator: Operator::Contains, values }
}

/// Returns the error of a text that is not an id.
fn bad_id(field: &Field, text: &Text<'_>) -> Error {
    let (kind, expected) = match field.id_type() {
        IdType::Integer => (ErrorKind::BadNumber, "an integer of 64 bits such as `12` or `-5`"),
        other => (ErrorKind::BadValue, other.expected()),
    };
    let expected = format!("{expected}, since {} has such ids", quote(field.name()));
    let meant = match field.id_type() {
        IdType::Integer => Number::respell(&text.text).filter(|meant| parse_integer(meant).is_some()),
        _ => None,
    };
    let meant = meant.and_then(|meant| quote_whole(&meant));
    Error::new(kind, text.offset, quote(&text.text), expected).suggest(meant)
}

/// Returns the set of these operands of an id that is not a plain string. Returns `None` if an operand is malformed, or if there is
/// no operand.
fn set_of_ids(id_type: IdType, operator: Operator, texts: &[Text<'_>]) -> Option<Set> {
    let mut ids = Vec::with_capacity(texts.len());
    for text in texts {
        ids.push(match operator.operands() {
            Operands::OfField | Operands::Truth => canonical_id(id_type, &text.text)?,
            Operands::NotEmpty if text.text.is_empty() => return None,
            Operands::NotEmpty => part_of_id(id_type, &text.text),
            Operands::Words if words(&text.text).is_empty() => return None,
            Operands::Words => Cow::Borrowed(&*text.text),
        });
    }
    Set::of_strings(ids.iter().map(|id| &**id))
}

/// Lowers a field criterion. Returns `None` if it has an error, which is then in `errors` or was reported by the parser.
fn comparison<'b>(
    catalog: &Catalog,
    reading: Reading,
    scope: Scope,
    (name, operator): (&Text<'_>, Option<(Operator, usize)>),
    texts: &'b [Text<'_>],
    errors: &mut Vec<Error>,
) -> Option<Comparison<'b>> {
    let language = reading.language;
    let mut report = |error| {
        // Keep more errors than are reported. A criterion may have many invalid values. Its keys may be in any order, so an error
        // at an earlier offset may be found later.
        if errors.len() < MOST_ERRORS {
            errors.push(error);
        }
    };
    let Some(id) = scope.field(&name.text, catalog, language) else {
        if let Some(error) = no_field(catalog, language, scope, name) {
            report(error);
        }
        return None;
    };
    let field = catalog.field(id);
    let mut valid = true;
    if let Some((operator, operator_offset)) = operator
        && !operator.applies_to(field, reading.grammar)
    {
        let class = ValueClass::of_field(field.field_type());
        let fitting = Operator::listed(language, Some((class, field.is_ranked(reading.grammar))));
        report(Error::new(
            ErrorKind::OperatorNotForType,
            operator_offset,
            format!(
                "{} on {}, {} field",
                quote(operator.spelled(language.syntax())),
                quote(field.name()),
                field.field_type().with_article()
            ),
            format!("one of {}", fitting.join(", ")),
        ));
        valid = false;
    }
    let mut values = Values::with_capacity(texts.len());
    for text in texts {
        let is_only = texts.len() == 1;
        let operator = operator.map(|(operator, _)| operator);
        match value(field, reading, operator, is_only, text)
            .map_err(|error| noted(*error, catalog, language, field, operator, text))
        {
            Ok(value) => values.push(value),
            Err(error) => {
                report(error);
                valid = false;
            }
        }
    }
    let (operator, _) = operator.filter(|_| valid && !values.is_empty())?;
    Some(Comparison { field: id, operator, values })
}

/// Parses an operand. `is_only` is true if it is the only operand of its criterion.
fn value<'b>(
    field: &Field,
    reading: Reading,
    operator: Option<Operator>,
    is_only: bool,
    text: &'b Text<'_>,
) -> Result<Operand<'b>, Box<Error>> {
    let language = reading.language;
    let error = |kind, expected: &str| {
        Box::new(Error::new(
            kind,
            text.offset,
            quote(&text.text),
            format!(
                "{expected}, since {} is {} field",
                quote(field.name()),
                field.field_type().with_article()
            ),
        ))
    };
    if let Some(operator) = operator
        && operator.operands() != Operands::OfField
    {
        let operand = operand(operator, language, text)?;
        return Ok(match operand {
            Value::String(Cow::Borrowed(part)) if operator.operands() == Operands::NotEmpty => {
                Value::String(part_of_id(field.id_type(), part))
            }
            other => other,
        }
        .into());
    }
    let value = match field.field_type() {
        FieldType::String => match operator.filter(|operator| operator.ray().is_some()) {
            Some(operator) if field.is_ranked(reading.grammar) && field.known_rank(&text.text).is_none() => {
                return Err(Box::new(no_rank(field, operator, text)));
            }
            _ => match canonical_id(field.id_type(), &text.text) {
                Some(text) => Ok(Value::String(text)),
                None => Err(Box::new(bad_id(field, text))),
            },
        },
        FieldType::Number => Number::parse(&text.text).map(Value::Number).ok_or_else(|| {
            let meant = Number::respell(&text.text).and_then(|meant| quote_whole(&meant));
            Box::new(error(ErrorKind::BadNumber, &FieldType::Number.expected()).suggest(meant))
        }),
        FieldType::Integer => parse_integer(&text.text).map(Value::Integer).ok_or_else(|| {
            let is_integer = |meant: &String| parse_integer(meant).is_some();
            let meant = Number::respell(&text.text).filter(is_integer).and_then(|meant| quote_whole(&meant));
            Box::new(error(ErrorKind::BadNumber, &FieldType::Integer.expected()).suggest(meant))
        }),
        kind @ FieldType::Decimal { .. } => Value::parse(kind, &text.text).ok_or_else(|| {
            let is_decimal = |meant: &String| Value::parse(kind, meant).is_some();
            let meant = Number::respell(&text.text).filter(is_decimal).and_then(|meant| quote_whole(&meant));
            Box::new(error(ErrorKind::BadNumber, &kind.expected()).suggest(meant))
        }),
        FieldType::Timestamp => {
            let is_all = operator.is_some_and(|operator| operator.shape().quantifier == Quantifier::All);
            let range = reading.range(OrderedType::Timestamp, &text.text);
            if let Some((first, last)) = range.filter(|(first, last)| first == last || !is_all) {
                return Ok(Operand::of_range(Timestamp::from_millis(first), Timestamp::from_millis(last)));
            }
            let span = Timestamp::respell(&text.text);
            let operator = operator.filter(|_| is_only);
            let meant = span.and_then(|span| meant_by_span(field, language, operator, &span, &text.text));
            let (expected, meant) = match language {
                Language::Text => {
                    let expected = reading.clock.parse(&text.text).err().map(ParseMomentError::expected);
                    let has_present = reading.clock.now.is_some();
                    let respelt = || Clock::respell(&text.text).filter(|_| has_present);
                    let meant = meant
                        .or_else(|| respelt().and_then(|meant| quote_whole(&meant)).map(Suggestion::from));
                    (expected, meant)
                }
                _ => (Timestamp::parse(&text.text).err().map(ParseTimestampError::expected), meant),
            };
            let expected = expected.unwrap_or("an instant");
            Err(Box::new(error(ErrorKind::BadTimestamp, expected).suggest(meant)))
        }
        FieldType::Boolean => truth(&text.text).map(Value::Boolean).map_err(|near| {
            Box::new(error(ErrorKind::BadBoolean, "`true` or `false`").suggest(near.map(quote)))
        }),
    };
    value.map(Operand::from)
}

/// The number of known values that an error lists.
const MOST_KNOWN: usize = 20;

/// Returns the error of an order comparison with a string that is not a known value of the field.
fn no_rank(field: &Field, operator: Operator, text: &Text<'_>) -> Error {
    let more = if field.known_values().len() > MOST_KNOWN { " and others" } else { "" };
    let expected = format!(
        "one of {}{more}, since {} compares {} by the order of its known values",
        quote_all(field.known_values().take(MOST_KNOWN)),
        quote(operator.name()),
        quote(field.name())
    );
    Error::new(ErrorKind::BadValue, text.offset, quote(&text.text), expected)
        .suggest(nearest(&text.text, field.known_values()).map(Suggestion::replace_by))
}

/// Parses `true` or `false`. The error is the word that the client probably meant, if only the letter case differs.
fn truth(text: &str) -> Result<bool, Option<&'static str>> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(["true", "false"].into_iter().find(|word| word.eq_ignore_ascii_case(other))),
    }
}

/// Parses an operand of an operator that does not take values of the field's type.
fn operand<'b>(operator: Operator, language: Language, text: &'b Text<'_>) -> Result<Value<'b>, Box<Error>> {
    let error = |kind, expected: &str| {
        let expected = format!("{expected} after {}", quote(operator.spelled(language.syntax())));
        Box::new(Error::new(kind, text.offset, quote(&text.text), expected))
    };
    match operator.operands() {
        Operands::Truth => truth(&text.text).map(Value::Boolean).map_err(|near| {
            Box::new(error(ErrorKind::BadBoolean, "`true` or `false`").suggest(near.map(quote)))
        }),
        Operands::NotEmpty if text.text.is_empty() => {
            Err(error(ErrorKind::EmptyText, "a string that is not empty"))
        }
        Operands::Words if words(&text.text).is_empty() => {
            Err(error(ErrorKind::EmptyText, "a string with a word in it"))
        }
        Operands::OfField | Operands::NotEmpty | Operands::Words => {
            Ok(Value::String(Cow::Borrowed(&*text.text)))
        }
    }
}

/// Adds a note to the error of an invalid value that expresses an unsupported test, such as `null` or the name of another field.
fn noted(
    error: Error,
    catalog: &Catalog,
    language: Language,
    field: &Field,
    operator: Option<Operator>,
    text: &Text<'_>,
) -> Error {
    let is_timestamp = field.field_type() == FieldType::Timestamp;
    let is_day = || {
        let span =
            Timestamp::respell(&text.text).filter(|_| !(language == Language::Text && is_moment(&text.text)));
        span.is_some_and(|span| span.end.is_some())
    };
    let unsupported = if is_timestamp && operator.is_some_and(|operator| operator.ray().is_none()) && is_day()
    {
        Some(Unsupported::Day).filter(|_| error.suggestion.is_none())
    } else if catalog.find(&text.text).is_some() {
        Some(Unsupported::TwoFields)
    } else {
        meant_by_bad_value(&text.text, is_timestamp && !(language == Language::Text && is_moment(&text.text)))
    };
    let is_null = unsupported == Some(Unsupported::Absence) && !text.text.is_empty();
    if let Some(is_present) = operator.filter(|_| is_null).and_then(compared)
        && language.is_extended()
    {
        let meant = match language {
            Language::Text if is_present => "`is present`",
            Language::Text => "`is absent`",
            _ if is_present => "`$exists` with the value `\"true\"`",
            _ => "`$exists` with the value `\"false\"`",
        };
        return error.suggest(Some(Suggestion::explain(meant)));
    }
    match unsupported {
        // In the text syntax, the error already names the valid forms of relative times.
        Some(Unsupported::RelativeTime) if language == Language::Text => error,
        Some(unsupported) => {
            Error { expected: format!("{}; {}", error.expected, unsupported.note(language)), ..error }
        }
        None => error,
    }
}

/// Returns the test that a comparison with `null` by this operator means. True requires that the field has a value, and false that
/// it has no value.
fn compared(operator: Operator) -> Option<bool> {
    match operator {
        Operator::Equal => Some(false),
        Operator::NotEqual => Some(true),
        _ => None,
    }
}

/// Suggests a correction for a timestamp that is a day, a minute, or an instant within a second. Returns `None` if no criterion is
/// equivalent.
///
/// `createdAt <= 2024-02-28` becomes ``< "2024-02-29 00:00:00"``.
fn meant_by_span(
    field: &Field,
    language: Language,
    operator: Option<Operator>,
    span: &Span,
    written: &str,
) -> Option<Suggestion> {
    let string = |text: &str| format!("\"{text}\"");
    // In a body, the path of the error is that of the value. So a comparison cannot replace the value, and is only explained.
    let replace_by = |text: &str, note: Option<String>| match language {
        Language::Text => {
            let meant = Suggestion::from(quote_whole(text)?);
            Some(note.into_iter().fold(meant, Suggestion::with_explanation))
        }
        Language::Interface | Language::Extended => {
            let note = note.map_or_else(String::new, |note| format!(", {note}"));
            Some(Suggestion::explain(format!("the comparison {}{note}", quote_whole(text)?)))
        }
    };
    let start = string(&span.start);
    let replace_value = || match language {
        Language::Text => replace_by(&start, None),
        Language::Interface | Language::Extended => quote_whole(&span.start).map(Suggestion::from),
    };
    if span.end.is_none() && !span.is_within {
        return replace_value();
    }
    let operator = operator?;
    if span.is_within {
        // Timestamps in documents have whole seconds, except in fields of Unix milliseconds.
        if field.form().has_millis() {
            return None;
        }
        return match operator.ray()?.side {
            Side::Above => replace_by(&format!("> {start}"), None),
            Side::Below => replace_by(&format!("<= {start}"), None),
        };
    }
    let end = span.end.as_deref().map(string)?;
    let written = escaped(written);
    match operator.ray() {
        Some(Ray { side: Side::Above, inclusive: true } | Ray { side: Side::Below, inclusive: false }) => {
            replace_value()
        }
        Some(Ray { side: Side::Below, inclusive: true }) => {
            let explanation = format!("all of {written} included");
            replace_by(&format!("< {end}"), Some(explanation))
        }
        Some(Ray { side: Side::Above, inclusive: false }) => {
            let explanation = format!("all of {written} left out");
            replace_by(&format!(">= {end}"), Some(explanation))
        }
        // On a multi-valued field, two different values could satisfy the two bounds. In the text syntax, a `not` before the
        // criterion would negate only the first bound.
        None if operator == Operator::Equal && !field.is_many() && language != Language::Text => {
            let both = format!(">= {start} and {} < {end}", field.name());
            replace_by(&both, Some(format!("which is all of {written}")))
        }
        // `<>` has no equivalent range: it also selects cases without the field.
        None => None,
    }
}
