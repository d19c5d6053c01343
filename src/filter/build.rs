//! Creates filters in Rust: from values (`Filter::test`), and from other filters (`and`, `or`, `all_of`, `any_of`, `negated`).

use super::builder::of_json;
use super::compiled::{Filter, Origin};
use super::limits::no_limits;
use crate::catalog::{Catalog, FieldType, IdType};
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::operator::{Complex, Connective, Grammar, Operands, Operator};
use crate::predicate::{self, json_string};
use crate::value::Value;

impl Filter {
    /// Creates the filter that tests one field: `field operator values`, like a field criterion of a body.
    ///
    /// Values are not parsed as part of a text, so they cannot change the structure of the filter. A string can stand for a value
    /// of any type, in the spelling of JSON bodies. Any other value must have the type of the field. There are two exceptions:
    /// numbers, integers and decimals can stand for each other, and integers can stand for integer ids. No
    /// [`Limits`](crate::Limits) apply.
    ///
    /// Strings, booleans, `i32`, `u32`, `i64` and timestamps convert to values. Doubles, `u64` and `usize` convert by
    /// `Value::try_from`.
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
    /// Returns the errors of a body with this criterion. Examples are an unknown field, and an operator or a value that does not
    /// fit the type of the field. Other examples are an empty list of values, and several values for an operator that takes one
    /// value. Paths are `field`, `op` and `values[0]`. Offsets are 0.
    ///
    /// A [`Timestamp`](crate::Timestamp) with a fraction of a second is an error, too, even for a field [in Unix
    /// milliseconds](crate::Field::unix_millis). Each filter can be printed as criteria, saved and compiled again, but only an
    /// [extended](Catalog::extended) catalogue accepts criteria with a fraction of a second. To select all instants within a
    /// second, use `>=` with this second and `<` with the next second.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Operator, Timestamp};
    /// let catalog = Catalog::cases();
    /// let dob = |operator, millis| {
    ///     Filter::test(&catalog, "applicantInfo.dob", operator, [Timestamp::from_millis(millis)])
    /// };
    /// let errors = dob(Operator::GreaterOrEqual, 1_500).unwrap_err();
    /// assert_eq!(errors.as_slice()[0].kind.code(), "bad_timestamp");
    /// let within = dob(Operator::GreaterOrEqual, 1_000)?.and(&dob(Operator::Less, 2_000)?)?;
    /// assert!(within.matches(br#"{"id":"a","applicantInfo":{"dob":"1500"}}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn test<'v, V: Into<Value<'v>>>(
        catalog: &Catalog,
        field: &str,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, Errors> {
        let values: Vec<Value<'_>> = values.into_iter().map(Into::into).collect();
        if operator.operands() == Operands::OfField
            && let Some(errors) = Errors::in_order(of_other_types(catalog, field, &values))
        {
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
        of_json(catalog, Grammar::Extended, &no_limits(), body.as_bytes())
            .map_err(|errors| errors.map(of_test))
    }

    /// Creates the filter of the document with this id, even for a catalogue that hides `id`. Returns `None` if no document can
    /// have the id.
    pub(crate) fn of_id(catalog: &Catalog, id: &str) -> Option<Self> {
        let mut body = String::from("{\"ids\":[");
        json_string(id, &mut body);
        body.push_str("]}");
        of_json(catalog, Grammar::Interface, &no_limits(), body.as_bytes()).ok()
    }

    /// Quotes a string for the text syntax, as a value or as the name of a field. The string may contain any characters.
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

    /// Creates the filter that selects the documents that both filters select.
    ///
    /// Neither filter can add documents to the result, so a host can use this method to restrict a client to its own documents.
    ///
    /// The catalogue of the result is the wider of the two catalogues, or the catalogue that both were narrowed from. If both
    /// filters test ids, the [printed](Self::to_json) result may have criteria on `id`, even if the catalogue hides that field.
    ///
    /// Complexity: linear in the size of both filters, because the normal form is built again. Joining `n` filters one after the
    /// other is quadratic in `n`; [`all_of`](Self::all_of) joins many filters at once.
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
    /// Returns [`ErrorKind::CatalogMismatch`] if neither catalogue is [within](Catalog::is_within) the other, and they were not
    /// narrowed from a common catalogue.
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        Self::joined(self.catalog(), Connective::And, vec![self.clone(), other.clone()])
    }

    /// Creates the filter that selects the documents that at least one of the two filters selects.
    ///
    /// Complexity: like [`and`](Self::and); [`any_of`](Self::any_of) joins many filters at once.
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
    /// Returns the errors of [`and`](Self::and).
    pub fn or(&self, other: &Self) -> Result<Self, Error> {
        Self::joined(self.catalog(), Connective::Or, vec![self.clone(), other.clone()])
    }

    /// Creates the filter that selects the documents that all of these filters select. Without filters, it selects every document.
    ///
    /// Complexity: linear in the size of all filters, apart from sorting their criteria once. Calling [`and`](Self::and) for each
    /// filter would sort the criteria each time.
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
    /// Returns [`ErrorKind::CatalogMismatch`] if `catalog` and the catalogues of the filters do not fit together. The conditions
    /// are those of [`and`](Self::and).
    pub fn all_of(catalog: &Catalog, filters: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        Self::joined(catalog, Connective::And, filters.into_iter().collect())
    }

    /// Creates the filter that selects the documents that at least one of these filters selects. Without filters, it selects no
    /// document.
    ///
    /// Complexity: like [`all_of`](Self::all_of). Calling [`or`](Self::or) for each filter would take quadratic time.
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
    /// Returns [`ErrorKind::CatalogMismatch`] if `catalog` and the catalogues of the filters do not fit together. The conditions
    /// are those of [`and`](Self::and).
    pub fn any_of(catalog: &Catalog, filters: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        Self::joined(catalog, Connective::Or, filters.into_iter().collect())
    }

    /// Creates the filter that selects all documents that this filter does not select, including documents without the tested
    /// fields.
    ///
    /// If the filter tests ids, the [printed](Self::to_json) result has criteria on `id`, even if the catalogue hides that field.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let large = Filter::compile_text(&Catalog::cases(), "totalAmountInDefaultCurrency > 5000")?;
    /// let others = !&large;
    /// assert!(others.matches(br#"{"id":"without an amount"}"#)?);
    /// assert_eq!(others.to_text(), "not totalAmountInDefaultCurrency > 5000");
    /// assert_eq!(!others, large);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn negated(&self) -> Self {
        let catalog = self.catalog();
        let predicate = predicate::joined(Complex::Not, std::iter::once(self.predicate()), catalog);
        Self::new(catalog, predicate, Origin::Joined(Complex::Not, vec![self.clone()]))
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
        let operator = Complex::from(connective);
        let predicate = predicate::joined(operator, filters.iter().map(Self::predicate), common);
        Ok(Self::new(common, predicate, Origin::Joined(operator, filters)))
    }
}

/// Negates a filter; see [`Filter::negated`].
impl std::ops::Not for &Filter {
    type Output = Filter;

    fn not(self) -> Filter {
        self.negated()
    }
}

/// Negates a filter; see [`Filter::negated`].
impl std::ops::Not for Filter {
    type Output = Self;

    fn not(self) -> Self {
        self.negated()
    }
}

/// Returns one error for each value whose type does not fit the field. All numeric types fit each other, and integers fit integer
/// ids. Strings are not errors, since they are parsed later.
fn of_other_types(catalog: &Catalog, field: &str, values: &[Value<'_>]) -> Vec<Error> {
    let Some(field) = catalog.find(field).and_then(|id| catalog.get(id)) else { return Vec::new() };
    let is_numeric =
        |kind: FieldType| matches!(kind, FieldType::Number | FieldType::Integer | FieldType::Decimal { .. });
    let is_other = |value: &Value<'_>| {
        let (own, kind) = (value.field_type(), field.field_type());
        let is_id = own == FieldType::Integer && field.id_type() == IdType::Integer;
        own != FieldType::String && own != kind && !(is_numeric(own) && is_numeric(kind)) && !is_id
    };
    let error = |(at, value): (usize, &Value<'_>)| {
        let found = format!("the {} {}", value.field_type(), quote(&value.to_string()));
        let expected = format!("a {0}, since {1} is a {0} field", field.field_type(), quote(field.name()));
        Error::new(ErrorKind::WrongType, 0, found, expected).at(format!("values[{at}]"))
    };
    values.iter().enumerate().filter(|(_, value)| is_other(value)).map(error).collect()
}

/// Converts an error in the body of a test to an error in the arguments of [`Filter::test`].
fn of_test(error: Error) -> Error {
    let path = error.path.strip_prefix("criteria[0]").unwrap_or(&error.path);
    let path = path.strip_prefix('.').unwrap_or(path).to_owned();
    Error { path, offset: 0, ..error }
}
