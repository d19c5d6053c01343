//! The builder [`Criteria`]: builds criteria in Rust from names of fields and values, such as `field("status").is("open")`.

use std::ops::{BitAnd, BitOr, Not};

use super::builder::of_json;
use super::compiled::Filter;
use super::limits::no_limits;
use crate::catalog::Catalog;
use crate::error::Errors;
use crate::operator::{Complex, Connective, Grammar, Operator};
use crate::predicate::json_string;
use crate::value::Value;

/// Criteria that are built in Rust. [`compile`](Self::compile) checks them against a catalogue.
///
/// Values are not parsed as part of a text, so they cannot change the structure of the criteria. All operators are allowed,
/// whether the catalogue is [extended](Catalog::extended) or not.
///
/// ```
/// use casefilter::{Catalog, field};
/// let criteria = field("status").is("open")
///     .and(field("tags").any_of(["cash", "vip"]))
///     .and(field("totalAmountInDefaultCurrency").at_least(10_000).or(field("caseReview.assignee").is_absent()));
/// let filter = criteria.compile(&Catalog::cases())?;
/// assert_eq!(
///     filter.to_text(),
///     "caseReview.status = open and tags in (cash, vip) and \
///      (totalAmountInDefaultCurrency >= 10000 or caseReview.assignee is absent)"
/// );
/// # Ok::<(), casefilter::Errors>(())
/// ```
///
/// The operators `&`, `|` and `!` do the same as [`and`](Self::and), [`or`](Self::or) and [`negated`](Self::negated).
#[derive(Clone, Debug, PartialEq)]
#[must_use = "criteria do nothing until they are compiled"]
pub struct Criteria {
    /// The criteria as in a request body.
    json: String,
    /// The connective of the outermost branch, to which another criterion can be appended.
    outermost: Option<Connective>,
}

/// The name of a field or an array, with methods that build [`Criteria`] on it. The function [`field`] creates it.
#[derive(Clone, Debug)]
#[must_use = "a field is not a criterion until a method tests it"]
pub struct FieldName<'n>(&'n str);

/// Names a field, to build [`Criteria`] on it. For [`has_element`](FieldName::has_element), the name is the path of an array of
/// objects.
///
/// ```
/// use casefilter::{Catalog, field};
/// let large = field("totalAmountInDefaultCurrency").above(5000);
/// assert!(large.compile(&Catalog::cases()).is_ok());
/// let errors = field("statsu").is("open").compile(&Catalog::cases()).unwrap_err();
/// assert_eq!(errors.as_slice()[0].kind.code(), "unknown_field");
/// ```
pub fn field(name: &str) -> FieldName<'_> {
    FieldName(name)
}

impl FieldName<'_> {
    /// Tests that the field has the value: `=`.
    pub fn is<'v>(self, value: impl Into<Value<'v>>) -> Criteria {
        self.test(Operator::Equal, [value])
    }

    /// Tests that the field does not have the value: `<>`. True if the field is absent.
    pub fn is_not<'v>(self, value: impl Into<Value<'v>>) -> Criteria {
        self.test(Operator::NotEqual, [value])
    }

    /// Tests that the field has at least one of the values: `$contains`.
    pub fn any_of<'v, V: Into<Value<'v>>>(self, values: impl IntoIterator<Item = V>) -> Criteria {
        self.test(Operator::Contains, values)
    }

    /// Tests that the field has every one of the values: `$all`.
    pub fn all_of<'v, V: Into<Value<'v>>>(self, values: impl IntoIterator<Item = V>) -> Criteria {
        self.test(Operator::All, values)
    }

    /// Tests that the field has a value greater than `value`: `>`.
    pub fn above<'v>(self, value: impl Into<Value<'v>>) -> Criteria {
        self.test(Operator::Greater, [value])
    }

    /// Tests that the field has `value` or a greater value: `>=`.
    pub fn at_least<'v>(self, value: impl Into<Value<'v>>) -> Criteria {
        self.test(Operator::GreaterOrEqual, [value])
    }

    /// Tests that the field has a value smaller than `value`: `<`.
    pub fn below<'v>(self, value: impl Into<Value<'v>>) -> Criteria {
        self.test(Operator::Less, [value])
    }

    /// Tests that the field has `value` or a smaller value: `<=`.
    pub fn at_most<'v>(self, value: impl Into<Value<'v>>) -> Criteria {
        self.test(Operator::LessOrEqual, [value])
    }

    /// Tests that the field has a value: `$exists`.
    pub fn is_present(self) -> Criteria {
        self.test(Operator::Exists, ["true"])
    }

    /// Tests that the field has no value: `$exists` with `false`.
    pub fn is_absent(self) -> Criteria {
        self.test(Operator::Exists, ["false"])
    }

    /// Tests that a string of the field starts with at least one of these prefixes: `$startsWith`.
    pub fn starts_with<'v, V: Into<Value<'v>>>(self, prefixes: impl IntoIterator<Item = V>) -> Criteria {
        self.test(Operator::StartsWith, prefixes)
    }

    /// Tests that a string of the field contains at least one of these parts: `$substring`.
    pub fn includes<'v, V: Into<Value<'v>>>(self, parts: impl IntoIterator<Item = V>) -> Criteria {
        self.test(Operator::Substring, parts)
    }

    /// Tests that a string of the field contains every word of this text: `$match`. Ignores case and accents.
    pub fn matches(self, words: &str) -> Criteria {
        self.test(Operator::Match, [words])
    }

    /// Tests that at least one element of an array of objects passes these criteria: `$elem`.
    ///
    /// The name is the path of the array without `[]`. The criteria use the full names of fields below the array. They test only
    /// the values of the element, even within [`negated`](Criteria::negated). They may contain `has_element` for an array below
    /// this array.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, field};
    /// let catalog = Catalog::new([
    ///     Field::new("legs[].bank", FieldType::String),
    ///     Field::new("legs[].amount", FieldType::Number),
    /// ])?;
    /// let large_and_unnamed = field("legs").has_element(field("legs.amount").above(5000) & field("legs.bank").is_absent());
    /// let filter = large_and_unnamed.compile(&catalog)?;
    /// assert_eq!(filter.to_text(), "legs has (bank is absent and amount > 5000)");
    /// // No single leg is both large and without a bank.
    /// assert!(!filter.matches(br#"{"id":"1","legs":[{"amount":9000,"bank":"x"},{"amount":1}]}"#)?);
    /// assert!(filter.matches(br#"{"id":"2","legs":[{"amount":9000}]}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Criteria::compile`] returns the errors: an unknown array, or a field that is not below the array.
    pub fn has_element(self, criteria: Criteria) -> Criteria {
        let mut json = String::from(r#"{"field":"#);
        json_string(self.0, &mut json);
        json.push_str(r#","op":"#);
        json_string(Complex::ELEM.name(), &mut json);
        json.push_str(r#","children":["#);
        json.push_str(&criteria.json);
        json.push_str("]}");
        Criteria { json, outermost: None }
    }

    /// Tests the field by any operator.
    pub fn test<'v, V: Into<Value<'v>>>(
        self,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Criteria {
        let mut json = String::from(r#"{"field":"#);
        json_string(self.0, &mut json);
        json.push_str(r#","op":"#);
        json_string(operator.name(), &mut json);
        json.push_str(r#","values":["#);
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            match value.into() {
                Value::String(text) => json_string(&text, &mut json),
                value => json_string(&value.to_string(), &mut json),
            }
        }
        json.push_str("]}");
        Criteria { json, outermost: None }
    }
}

impl Criteria {
    /// Returns criteria that are true if `self` and `other` are both true.
    pub fn and(self, other: Self) -> Self {
        self.joined(Connective::And, &other)
    }

    /// Returns criteria that are true if `self` is true, or `other` is true, or both are true.
    pub fn or(self, other: Self) -> Self {
        self.joined(Connective::Or, &other)
    }

    /// Returns criteria that are true if `self` is false.
    pub fn negated(self) -> Self {
        let json = format!(r#"{{"op":"{}","children":[{}]}}"#, Complex::Not.name(), self.json);
        Self { json, outermost: None }
    }

    /// Compiles the criteria to a filter for documents of a catalogue. No [`Limits`](crate::Limits) apply.
    ///
    /// # Errors
    /// Returns the errors that a body with these criteria would have, with paths in that body. Examples are an unknown field, an
    /// empty list of values, and an operator or a value that does not fit the type of its field.
    pub fn compile(&self, catalog: &Catalog) -> Result<Filter, Errors> {
        let body = format!(r#"{{"criteria":[{}]}}"#, self.json);
        of_json(catalog, Grammar::Extended, &no_limits(), body.as_bytes())
    }

    /// Joins two criteria. If `self` is already a branch with this connective, appends `other` to it, so that the nesting does
    /// not grow.
    fn joined(mut self, connective: Connective, other: &Self) -> Self {
        if self.outermost == Some(connective) {
            // The end of the list of children.
            let end = self.json.len().saturating_sub("]}".len());
            self.json.truncate(end);
            self.json.push(',');
            self.json.push_str(&other.json);
            self.json.push_str("]}");
            return self;
        }
        let json = format!(r#"{{"op":"{}","children":[{},{}]}}"#, connective.name(), self.json, other.json);
        Self { json, outermost: Some(connective) }
    }
}

impl BitAnd for Criteria {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOr for Criteria {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl Not for Criteria {
    type Output = Self;

    fn not(self) -> Self {
        self.negated()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_in_rust_are_those_of_a_text() {
        let cases = Catalog::cases();
        let hostile = r#"a"]},{"op":"$or"#;
        for (criteria, text) in [
            (field("name").is(hostile), format!("name = {}", Filter::quote(hostile))),
            (
                field("name").is_not("x") & field("priority").any_of(["low", "high"]),
                "name <> x and priority in (low, high)".into(),
            ),
            (
                (field("tags").all_of(["a", "b"]) | field("tags").is_absent())
                    & !field("name").matches("ana"),
                "(tags all (a, b) or tags is absent) and not name matches ana".into(),
            ),
            (
                field("totalAmountInDefaultCurrency")
                    .above(1)
                    .and(field("totalAmountInDefaultCurrency").at_most(5)),
                "totalAmountInDefaultCurrency > 1 and totalAmountInDefaultCurrency <= 5".into(),
            ),
            (
                field("name").starts_with(["A", "B"])
                    | field("name").includes(["x"])
                    | field("name").is_present(),
                "name starts with (A, B) or name includes x or name is present".into(),
            ),
            (!(field("name").is("a") | field("name").is("b")), "not (name = a or name = b)".into()),
            (
                !field("amlCases").has_element(
                    !field("amlCases.amlCaseId").is(hostile) & field("amlCases.amlCaseId").is_present(),
                ),
                format!(
                    "not amlCases has (not amlCaseId = {} and amlCaseId is present)",
                    Filter::quote(hostile)
                ),
            ),
        ] {
            assert_eq!(criteria.compile(&cases), Ok(Filter::compile_text(&cases, &text).unwrap()), "{text}");
        }
    }

    #[test]
    fn errors_are_those_of_a_body() {
        let criteria = field("priority").is("low")
            & (field("tags").any_of(["x"; 0]) | field("createdAt").below("yesterday"));
        let errors = criteria.compile(&Catalog::cases()).unwrap_err();
        let found: Vec<_> =
            errors.as_slice().iter().map(|error| (error.path.as_str(), error.kind.code())).collect();
        assert_eq!(
            found,
            [
                ("criteria[0].children[1].children[0].values", "empty_list"),
                ("criteria[0].children[1].children[1].values[0]", "bad_timestamp"),
            ]
        );
    }

    #[test]
    fn errors_of_elements_are_those_of_a_body() {
        let cases = Catalog::cases();
        let one = || field("amlCases.amlCaseId").is("x");
        for (criteria, path, suggestion) in [
            (field("amlCase").has_element(one()), "criteria[0].field", Some("amlCases")),
            (field("tags").has_element(one()), "criteria[0].field", None),
            (
                field("amlCases").has_element(one() & field("name").is("x")),
                "criteria[0].children[0].children[1].field",
                None,
            ),
            (
                field("amlCases").has_element(field("amlCaseId").is("x")),
                "criteria[0].children[0].field",
                Some("amlCases.amlCaseId"),
            ),
        ] {
            let errors = criteria.compile(&cases).unwrap_err();
            let [error] = errors.as_slice() else { panic!("{errors}") };
            assert_eq!((error.kind.code(), error.path.as_str()), ("unknown_field", path), "{error}");
            let text = error.to_string();
            assert_eq!(text.contains("did you mean"), suggestion.is_some(), "{text}");
            assert!(suggestion.is_none_or(|meant| text.contains(meant)), "{text}");
        }
        let deep = (0..100).fold(one(), |inner, _| !inner);
        assert!(field("amlCases").has_element(deep).compile(&cases).is_ok());
    }

    #[test]
    fn many_criteria_are_joined_in_linear_time_and_without_depth() {
        let all = (0..20_000).map(|number| field("name").is(number.to_string()));
        let any = all.reduce(Criteria::or).unwrap();
        assert_eq!(any.compile(&Catalog::cases()).unwrap().size(), 1);
    }
}
