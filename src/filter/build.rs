//! Filters made in Rust: of values, and of other filters.

use super::builder::FilterBuilder;
use super::compiled::{Filter, Origin};
use super::limits::no_limits;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::operator::{Connective, Operator};
use crate::predicate::{self, json_string};
use crate::value::Value;

impl Filter {
    /// Makes the filter that tests one field: `field operator values`, as a field criterion of a body does.
    ///
    /// No text is put together, so that a value is never anything else than a value. A string stands for a value of any type, in the
    /// form that bodies have; a value of another type has to be that of the field. No [`Limits`](crate::Limits) apply.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Operator};
    /// let catalog = Catalog::cases();
    /// let tenant = "a or clientId <> a";
    /// let own = Filter::test(&catalog, "clientId", Operator::Equal, [tenant])?;
    /// assert!(!own.matches(br#"{"id":"1","clientId":"other"}"#)?);
    /// let large = Filter::test(&catalog, "totalAmountInDefaultCurrency", Operator::GreaterOrEqual, [10_000])?;
    /// let tagged = Filter::test(&catalog, "tags", Operator::Contains, ["vip", "cash"])?;
    /// assert_eq!(large.and(&tagged)?.to_text(), "totalAmountInDefaultCurrency >= 10000 and tags in (cash, vip)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of a body with this criterion: an unknown field, an operator or a value that does not fit its type, no value at all, or
    /// more than one for an operator that takes one. Criteria have whole seconds, so a [`Timestamp`](crate::Timestamp) with a fraction
    /// of a second is an error too. Paths are `field`, `op` and `values[0]`; offsets are 0.
    pub fn test<'v, V: Into<Value<'v>>>(
        catalog: &Catalog,
        field: &str,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, Errors> {
        let values: Vec<Value<'_>> = values.into_iter().map(Into::into).collect();
        if let Some(errors) = Errors::in_order(of_other_types(catalog, field, &values)) {
            return Err(errors);
        }
        let mut body = String::from(r#"{"criteria":[{"field":"#);
        json_string(field, &mut body);
        body.push_str(r#","op":"#);
        json_string(operator.name(), &mut body);
        body.push_str(r#","values":["#);
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                body.push(',');
            }
            match value {
                Value::String(text) => json_string(text, &mut body),
                _ => json_string(&value.to_string(), &mut body),
            }
        }
        body.push_str("]}]}");
        FilterBuilder::new(catalog)
            .limits(no_limits())
            .json(body.as_bytes())
            .map_err(|errors| errors.map(of_test))
    }

    /// Writes a string as the text syntax reads it back, whatever is in it: as a value, or as the name of a field.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Operator};
    /// let (catalog, tenant) = (Catalog::cases(), r#"a" or clientId <> "a"#);
    /// let own = Filter::compile_text(&catalog, &format!("clientId = {}", Filter::quote(tenant)))?;
    /// assert_eq!(own, Filter::test(&catalog, "clientId", Operator::Equal, [tenant])?);
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn quote(text: &str) -> String {
        let mut quoted = String::with_capacity(text.len().saturating_add(2));
        json_string(text, &mut quoted);
        quoted
    }

    /// Makes the filter that selects what both select.
    ///
    /// Neither can widen the other, whatever its criteria are: made for hosts that hold a client to its own cases.
    /// The catalogue is the wider one of the two, or the one that both were narrowed from. [Printed](Self::to_json), what both ask of
    /// `ids` may take criteria on `id`, even if the catalogue hides it.
    ///
    /// Complexity: linear in the size of both, since the normal form is made anew. Joining `n` filters one after the other is
    /// quadratic in `n`; [`all_of`](Self::all_of) takes all of them at once.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Operator};
    /// let all = Catalog::cases();
    /// let own = Filter::test(&all, "clientId", Operator::Equal, ["acme"])?;
    /// let asked = Filter::compile_text(&all.allow(["id", "name"])?, "id = a or name <> x")?;
    /// let held = asked.and(&own)?;
    /// assert!(!held.matches(br#"{"id":"a","clientId":"other"}"#)?);
    /// assert!(held.matches(br#"{"id":"a","clientId":"acme"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`] when neither catalogue is [within](Catalog::is_within) the other, nor both within the
    /// one that they were narrowed from.
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        Self::joined(self.catalog(), Connective::And, vec![self.clone(), other.clone()])
    }

    /// Makes the filter that selects what this one selects, and what the other one does.
    ///
    /// Complexity: as [`and`](Self::and); [`any_of`](Self::any_of) takes many filters at once.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let cases = Catalog::cases();
    /// let open = Filter::compile_text(&cases, "status = open")?;
    /// let either = open.or(&Filter::compile_text(&cases, "priority = high")?)?;
    /// assert_eq!(either.to_text(), "caseReview.status = open or priority = high");
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn or(&self, other: &Self) -> Result<Self, Error> {
        Self::joined(self.catalog(), Connective::Or, vec![self.clone(), other.clone()])
    }

    /// Makes the filter that selects what all of these select; of none, every case.
    ///
    /// Complexity: linear in the size of all of them, apart from sorting their criteria once. [`and`](Self::and) on one after the
    /// other would sort them anew each time.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Operator};
    /// let cases = Catalog::cases();
    /// let asked = [("status", "open"), ("priority", "high")];
    /// let tests = asked.map(|(field, value)| Filter::test(&cases, field, Operator::Equal, [value]));
    /// let filter = Filter::all_of(&cases, tests.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    /// assert_eq!(filter.to_text(), "caseReview.status = open and priority = high");
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// As [`and`](Self::and), for any of the filters and `catalog`.
    pub fn all_of(catalog: &Catalog, filters: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        Self::joined(catalog, Connective::And, filters.into_iter().collect())
    }

    /// Makes the filter that selects what any of these selects; of none, no case.
    ///
    /// Complexity: as [`all_of`](Self::all_of), where [`or`](Self::or) on one after the other is quadratic.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let cases = Catalog::cases();
    /// let saved = ["tags = vip", "tags = cash"].map(|text| Filter::compile_text(&cases, text).unwrap());
    /// assert_eq!(Filter::any_of(&cases, saved)?.to_text(), "tags in (cash, vip)");
    /// assert_eq!(Filter::any_of(&cases, [])?, Filter::none(&cases));
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`and`](Self::and), for any of the filters and `catalog`.
    pub fn any_of(catalog: &Catalog, filters: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        Self::joined(catalog, Connective::Or, filters.into_iter().collect())
    }

    fn joined(catalog: &Catalog, connective: Connective, filters: Vec<Self>) -> Result<Self, Error> {
        let common = filters.iter().try_fold(catalog, |common, filter| {
            let mismatch = || filter.catalog().mismatch(common, "filter that it is joined with");
            common.common(filter.catalog()).ok_or_else(mismatch)
        });
        let common = common?.clone();
        let common = &common;
        if filters.is_empty() {
            return Ok(Self::constant(common, connective == Connective::And));
        }
        let predicate = predicate::joined(connective, filters.iter().map(Self::predicate), common);
        Ok(Self::new(common, predicate, Origin::Joined(connective, filters)))
    }
}

/// The errors of values that are no strings, and of another type than the field.
fn of_other_types(catalog: &Catalog, field: &str, values: &[Value<'_>]) -> Vec<Error> {
    let Some(field) = catalog.find(field).and_then(|id| catalog.get(id)) else { return Vec::new() };
    let is_other =
        |value: &Value<'_>| !matches!(value, Value::String(_)) && value.field_type() != field.field_type();
    let error = |(at, value): (usize, &Value<'_>)| {
        let found = format!("the {} {}", value.field_type(), quote(&value.to_string()));
        let expected = format!("a {0}, since {1} is a {0} field", field.field_type(), quote(field.name()));
        Error::new(ErrorKind::WrongType, 0, found, expected).at(format!("values[{at}]"))
    };
    values.iter().enumerate().filter(|(_, value)| is_other(value)).map(error).collect()
}

/// An error of the body that was made for a test, as one of the test.
fn of_test(error: Error) -> Error {
    let path = error.path.strip_prefix("criteria[0]").unwrap_or(&error.path);
    let path = path.strip_prefix('.').unwrap_or(path).to_owned();
    Error { path, offset: 0, ..error }
}
