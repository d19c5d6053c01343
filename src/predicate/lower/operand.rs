//! Parses the operands of field criteria: values of the field's type, truth values, parts of strings, and words.

use std::borrow::Cow;

use super::errors::{bad_id, meant_by_span, no_rank};
use crate::catalog::{Field, FieldType, IdType};
use crate::criteria::Text;
use crate::error::{Error, ErrorKind, Suggestion, quote, quote_whole};
use crate::operator::{Language, Operands, Operator, Quantifier};
use crate::predicate::reading::Reading;
use crate::predicate::set::Set;
use crate::value::{
    Clock, Number, Operand, OrderedType, ParseMomentError, ParseTimestampError, Timestamp, Value,
    canonical_id, parse_integer, part_of_id, words,
};

/// Parses an operand. `is_only` is true if it is the only operand of its criterion.
pub(super) fn value<'b>(
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

/// Returns the set of the operands of a criterion on the id. `id_type` must not be [`IdType::String`]. Returns `None` if an operand
/// is malformed, or if there is no operand.
pub(super) fn set_of_ids(id_type: IdType, operator: Operator, texts: &[Text<'_>]) -> Option<Set> {
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
