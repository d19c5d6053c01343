//! The type [`Facet`]: a field and the form of its counts.

use chrono::FixedOffset;

use super::buckets::Buckets;
use super::interval::FacetInterval;
use crate::catalog::{Catalog, Field, FieldId};
use crate::error::{Error, ErrorKind, Suggestion, quote};
use crate::limits::Limits;
use crate::value::{Number, OrderedType, Value, ValueClass};

/// The maximum number of values of a facet, unless the request has another limit.
pub const DEFAULT_FACET_VALUES: u64 = 10;

/// A field and the form of its counts: by value, as a histogram, or as statistics.
///
/// A document counts once for each distinct value of the field. In a histogram, it counts once for each bucket that holds one of
/// its values. A document without a value counts as *absent*. A field with a [default](crate::Field::with_default) is never absent.
///
/// ```
/// use casefilter::{Catalog, Facet, FacetInterval};
/// let catalog = Catalog::cases();
/// let by_status = Facet::values(&catalog, "status")?.with_limit(3);
/// let by_month = Facet::histogram(&catalog, "createdAt", FacetInterval::Month)?;
/// let amounts = Facet::stats(&catalog, "totalAmountInDefaultCurrency")?;
/// assert_eq!(Facet::parse(&catalog, "createdAt:month")?, by_month);
/// assert_eq!(by_status.field().name(), "caseReview.status");
/// # let _ = amounts;
/// # Ok::<(), casefilter::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Facet {
    catalog: Catalog,
    field: FieldId,
    form: FacetForm,
    apart: bool,
}

/// The form of the counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FacetForm {
    /// Counts by value, with the maximum number of values that the answer lists.
    Values(u64),
    /// Counts by bucket. Only for fields of an ordered type.
    Histogram(Buckets),
    /// Count, minimum, maximum, sum and mean. Only for fields of an ordered type.
    Stats,
}

impl Facet {
    /// Creates a facet that counts the documents of each value of a field. The answer lists the [`DEFAULT_FACET_VALUES`] values
    /// with the most documents.
    ///
    /// # Errors
    /// Returns [`ErrorKind::UnknownField`] for a name that is not in the catalogue.
    pub fn values(catalog: &Catalog, field: &str) -> Result<Self, Error> {
        let field = resolve(catalog, field)?;
        Ok(Self::of(catalog, field, FacetForm::Values(DEFAULT_FACET_VALUES)))
    }

    /// Creates a facet that counts the documents of each interval of a timestamp field, in UTC.
    /// [`with_utc_offset`](Self::with_utc_offset) sets another offset from UTC.
    ///
    /// # Errors
    /// Returns [`ErrorKind::UnknownField`] for a name that is not in the catalogue, and [`ErrorKind::BadValue`] for a field of
    /// another type.
    pub fn histogram(catalog: &Catalog, field: &str, interval: FacetInterval) -> Result<Self, Error> {
        let field = resolve(catalog, field)?;
        match ValueClass::of_field(catalog.field(field).field_type()) {
            ValueClass::Ordered(OrderedType::Timestamp) => {
                let buckets = Buckets::Calendar { interval, offset_s: 0 };
                Ok(Self::of(catalog, field, FacetForm::Histogram(buckets)))
            }
            class => Err(no_intervals(catalog.field(field), class)),
        }
    }

    /// Creates a histogram with given edges, for a field of numbers, integers or decimals. A bucket includes its lower edge and
    /// excludes its upper edge. Two more buckets count the documents below the first edge and from the last edge on.
    ///
    /// A string is parsed like a number in a criterion.
    ///
    /// ```
    /// use casefilter::{Catalog, Facet};
    /// let catalog = Catalog::cases();
    /// let edges = Facet::edges(&catalog, "totalAmountInDefaultCurrency", [0, 1_000, 10_000])?;
    /// assert_eq!(Facet::parse(&catalog, "totalAmountInDefaultCurrency:edges=0,1000,1e4")?, edges);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`ErrorKind::UnknownField`] for a name that is not in the catalogue.
    /// - [`ErrorKind::BadValue`] for a field of another type, for an empty list of edges, and for edges that are not strictly
    ///   ascending.
    /// - [`ErrorKind::BadNumber`] for an edge that is not a value of the field.
    pub fn edges<'v, V: Into<Value<'v>>>(
        catalog: &Catalog,
        field: &str,
        edges: impl IntoIterator<Item = V>,
    ) -> Result<Self, Error> {
        let field = resolve(catalog, field)?;
        let edges: Vec<String> = edges.into_iter().map(|edge| edge.into().to_string()).collect();
        Self::of_edges(catalog, field, edges.iter().map(|edge| (&**edge, 0)))
    }

    /// Creates a histogram with buckets of one width, for a field of numbers, integers or decimals. The edges are the multiples of
    /// the width. A string is parsed like a number in a criterion.
    ///
    /// In a field of doubles, an edge is the double nearest to the multiple.
    ///
    /// # Errors
    /// - [`ErrorKind::UnknownField`] for a name that is not in the catalogue.
    /// - [`ErrorKind::BadValue`] for a field of another type, and for a width that is not positive.
    /// - [`ErrorKind::BadNumber`] for a width that is not a value of the field.
    pub fn width<'v>(catalog: &Catalog, field: &str, width: impl Into<Value<'v>>) -> Result<Self, Error> {
        let field = resolve(catalog, field)?;
        Self::of_width(catalog, field, &width.into().to_string(), 0)
    }

    /// Creates a facet of statistics: the number, minimum, maximum, sum and mean of the values. The field must contain numbers,
    /// integers, decimals or timestamps. Each document adds its distinct values. The answer has [`FacetStats`](crate::FacetStats).
    ///
    /// # Errors
    /// Returns [`ErrorKind::UnknownField`] for a name that is not in the catalogue, and [`ErrorKind::BadValue`] for a field of
    /// another type.
    pub fn stats(catalog: &Catalog, field: &str) -> Result<Self, Error> {
        let field = resolve(catalog, field)?;
        match ValueClass::of_field(catalog.field(field).field_type()) {
            ValueClass::Ordered(_) => Ok(Self::of(catalog, field, FacetForm::Stats)),
            _ => Err(no_stats(catalog.field(field))),
        }
    }

    pub(super) fn of(catalog: &Catalog, field: FieldId, form: FacetForm) -> Self {
        Self { catalog: catalog.clone(), field, form, apart: false }
    }

    /// Creates a histogram with these edges. Each edge comes with its offset in the input, for errors.
    pub(super) fn of_edges<'e>(
        catalog: &Catalog,
        field: FieldId,
        edges: impl Iterator<Item = (&'e str, usize)>,
    ) -> Result<Self, Error> {
        let kind = of_numbers(catalog.field(field), "edges")?;
        let mut ordinals: Vec<i64> = Vec::new();
        for (text, offset) in edges {
            let ordinal = ordinal(catalog.field(field), kind, text, offset)?;
            if ordinals.last().is_some_and(|last| *last >= ordinal) {
                let found = format!("{} after an equal or greater edge", quote(text));
                return Err(Error::new(ErrorKind::BadValue, offset, found, "ascending edges"));
            }
            ordinals.push(ordinal);
        }
        if ordinals.is_empty() {
            return Err(Error::new(ErrorKind::BadValue, 0, "no edges", "at least one edge"));
        }
        Ok(Self::of(catalog, field, FacetForm::Histogram(Buckets::Edges(ordinals.into()))))
    }

    /// Creates a histogram of this width. `offset` is the offset of the width in the input, for errors.
    pub(super) fn of_width(
        catalog: &Catalog,
        field: FieldId,
        text: &str,
        offset: usize,
    ) -> Result<Self, Error> {
        let kind = of_numbers(catalog.field(field), "a width")?;
        let width = ordinal(catalog.field(field), kind, text, offset)?;
        if width <= 0 {
            return Err(Error::new(ErrorKind::BadValue, offset, quote(text), "a width greater than 0"));
        }
        let buckets = match kind {
            OrderedType::Number => Buckets::NumberWidth(Number::of_ordinal(width).unwrap_or(Number::MAX)),
            _ => Buckets::Width(width),
        };
        Ok(Self::of(catalog, field, FacetForm::Histogram(buckets)))
    }

    /// Sets the maximum number of values that the answer lists. It has an effect only on counts by value.
    ///
    /// A request checks that the limit is at most [`Limits::facet_values`].
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        if let FacetForm::Values(own) = &mut self.form {
            *own = limit;
        }
        self
    }

    /// Sets a fixed offset from UTC. Intervals then start in local time at this offset. For example, a day starts at local
    /// midnight. The offset has an effect only on histograms of timestamps.
    ///
    /// ```
    /// use casefilter::{Catalog, Facet, FacetInterval};
    /// let by_day = Facet::histogram(&Catalog::cases(), "createdAt", FacetInterval::Day)?;
    /// let in_berlin = by_day.with_utc_offset(chrono::FixedOffset::east_opt(3600).unwrap());
    /// assert_eq!(Facet::parse(&Catalog::cases(), "createdAt:day@+01:00")?, in_berlin);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    #[must_use]
    pub fn with_utc_offset(mut self, offset: FixedOffset) -> Self {
        if let FacetForm::Histogram(Buckets::Calendar { offset_s, .. }) = &mut self.form {
            *offset_s = offset.local_minus_utc();
        }
        self
    }

    /// Sets whether the counts ignore the criteria that name only this field. If `apart` is true, they do. A dashboard can then
    /// show the other values of a field beside the chosen value. The technique is known as multi-select or disjunctive faceting.
    ///
    /// Only criteria that are joined by `$and` are left out. Such criteria are in the list of criteria of the [request's
    /// filter](crate::FacetsRequest::filter), or in an `$and` in this list. An `$or` or a `$not` that also names other fields stays
    /// complete, and so do the `ids` of a body. If a criterion on the field stays,
    /// [`with_own_criteria`](crate::FacetAnswer::with_own_criteria) of the answer is true.
    ///
    /// A filter that was [joined](crate::Filter::and) stays complete. So does the filter that the request is
    /// [within](crate::FacetsRequest::within).
    #[must_use]
    pub fn with_own_criteria_apart(self, apart: bool) -> Self {
        Self { apart, ..self }
    }

    /// Returns the field whose values are counted.
    #[must_use]
    pub fn field(&self) -> &Field {
        self.catalog.field(self.field)
    }

    /// Returns the catalogue in which the field was looked up.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(crate) fn field_id(&self) -> FieldId {
        self.field
    }

    pub(crate) fn form(&self) -> &FacetForm {
        &self.form
    }

    /// Returns true if the counts of the facet ignore the criteria that name only its field.
    #[must_use]
    pub fn is_own_criteria_apart(&self) -> bool {
        self.apart
    }

    /// Checks that the facet fits the catalogue of a filter, and is within the limits.
    pub(super) fn check(&self, catalog: &Catalog, limits: &Limits) -> Result<(), Error> {
        let name = || quote(self.field().name());
        let mismatch = |found: String, expected: &str| {
            Err(Error::new(ErrorKind::CatalogMismatch, 0, found, expected).at("facets"))
        };
        if !self.catalog.is_akin(catalog) {
            let expected = "a facet for the catalogue of the filter";
            return mismatch(format!("a facet of {} of another catalogue", name()), expected);
        }
        if !catalog.is_visible(self.field) {
            let found =
                format!("a facet of {}, which the catalogue of the filter hides or does not contain", name());
            return mismatch(found, "a field of that catalogue");
        }
        self.check_limits(limits, 0)
    }

    /// Checks that the facet is within the limits. `offset` is the offset of the facet in the input, for errors.
    pub(super) fn check_limits(&self, limits: &Limits, offset: usize) -> Result<(), Error> {
        match &self.form {
            FacetForm::Values(limit) if *limit > limits.facet_values => {
                let expected = format!("at most {} values of a facet", limits.facet_values);
                Err(Error::new(ErrorKind::PageTooLarge, offset, limit.to_string(), expected))
            }
            FacetForm::Histogram(Buckets::Edges(edges)) if edges.len() as u64 > limits.facet_buckets => {
                let found = format!("{} edges", edges.len());
                let expected = format!("at most {} buckets of a facet", limits.facet_buckets);
                Err(Error::new(ErrorKind::TooManyBuckets, offset, found, expected))
            }
            _ => Ok(()),
        }
    }
}

/// Compares the fields, the forms of the counts, and the settings for own criteria.
impl PartialEq for Facet {
    fn eq(&self, other: &Self) -> bool {
        self.field == other.field
            && self.form == other.form
            && self.apart == other.apart
            && self.field() == other.field()
    }
}

impl Eq for Facet {}

/// Finds the field of a facet.
fn resolve(catalog: &Catalog, name: &str) -> Result<FieldId, Error> {
    catalog.resolve(name, 0).map_err(|error| error.at("field"))
}

/// Returns the error for a histogram by intervals, if the field is not a timestamp field.
fn no_intervals(field: &Field, class: ValueClass) -> Error {
    let found = of_kind(field, "intervals");
    let error = Error::new(ErrorKind::BadValue, 0, found, "a timestamp field");
    match class {
        ValueClass::Ordered(_) => error.suggest(Some(Suggestion::explain("`width` or `edges`"))),
        _ => error.suggest(Some(Suggestion::explain("counts by value"))),
    }
}

fn no_stats(field: &Field) -> Error {
    let found = of_kind(field, "statistics");
    Error::new(ErrorKind::BadValue, 0, found, "a number, integer, decimal or timestamp field")
        .suggest(Some(Suggestion::explain("counts by value")))
}

fn of_kind(field: &Field, form: &str) -> String {
    format!("{form} of {}, {} field", quote(field.name()), field.field_type().with_article())
}

/// Returns the ordered type of a field of numbers, integers or decimals. `form` names the form of the histogram in the error.
fn of_numbers(field: &Field, form: &str) -> Result<OrderedType, Error> {
    match ValueClass::of_field(field.field_type()) {
        ValueClass::Ordered(OrderedType::Timestamp) => {
            let error = Error::new(
                ErrorKind::BadValue,
                0,
                of_kind(field, form),
                "a number, integer or decimal field",
            );
            Err(error.suggest(Some(Suggestion::explain("an interval, such as `month`"))))
        }
        ValueClass::Ordered(kind) => Ok(kind),
        _ => {
            let expected = "a number, integer or decimal field";
            let error = Error::new(ErrorKind::BadValue, 0, of_kind(field, form), expected);
            Err(error.suggest(Some(Suggestion::explain("counts by value"))))
        }
    }
}

/// Parses an edge or a width.
fn ordinal(field: &Field, kind: OrderedType, text: &str, offset: usize) -> Result<i64, Error> {
    kind.parse(text)
        .ok_or_else(|| Error::new(ErrorKind::BadNumber, offset, quote(text), field.field_type().expected()))
}
