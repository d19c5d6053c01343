//! Parses the text form of a facet, such as `createdAt:month`.

use chrono::FixedOffset;

use super::definition::{Facet, FacetForm};
use super::interval::FacetInterval;
use crate::catalog::{Catalog, FieldId};
use crate::error::{Error, ErrorKind, Suggestion, nearest, quote, quote_all};
use crate::value::{OrderedType, Timestamp, ValueClass};

/// The words of all forms, without the names of intervals.
const WORDS: [&str; 4] = ["stats", "limit", "width", "edges"];

impl Facet {
    /// Parses the text form of a facet: the name of a field, optionally followed by a colon and a form.
    ///
    /// | text | facet |
    /// |---|---|
    /// | `status` | [counts by value](Self::values) |
    /// | `tags:limit=20` | counts by value, at most 20 values |
    /// | `createdAt:month` | a [histogram](Self::histogram) by `hour`, `day`, `week`, `month`, `quarter` or `year`, in UTC |
    /// | `createdAt:day@+01:00` | the same, in local time at this offset from UTC |
    /// | `amount:width=100` | a histogram with buckets of one [width](Self::width) |
    /// | `amount:edges=0,100,1000` | a histogram with given [edges](Self::edges) |
    /// | `amount:stats` | [statistics](Self::stats) |
    ///
    /// ```
    /// use casefilter::{Catalog, Facet};
    /// let catalog = Catalog::cases();
    /// assert_eq!(Facet::parse(&catalog, "tags:limit=20")?, Facet::values(&catalog, "tags")?.with_limit(20));
    /// let error = Facet::parse(&catalog, "createdAt:mont").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "facet (byte 10): found `mont`, expected `hour`, `day`, `week`, `month`, `quarter`, `year`, `stats` or `limit=N`; \
    ///      did you mean `month`?"
    /// );
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of the constructors, with the offset in the text. Returns [`ErrorKind::BadValue`] for an unknown form.
    pub fn parse(catalog: &Catalog, text: &str) -> Result<Self, Error> {
        let (name, form) = split(catalog, text);
        let field = catalog.resolve(name, 0).map_err(|error| error.at(PATH))?;
        match form {
            None => Ok(Self::of(catalog, field, FacetForm::Values(super::DEFAULT_FACET_VALUES))),
            Some(form) => {
                let offset = name.len().saturating_add(1);
                of_form(catalog, field, form, offset).map_err(|error| {
                    let offset = error.offset.max(offset);
                    Error { offset, ..error }.at(PATH)
                })
            }
        }
    }
}

/// The path of errors in the text form.
const PATH: &str = "facet";

/// Splits a text into the name of a field and the form. The name may contain colons, if the catalogue has such a field.
pub(super) fn split<'t>(catalog: &Catalog, text: &'t str) -> (&'t str, Option<&'t str>) {
    if catalog.find(text).is_some() {
        return (text, None);
    }
    let at = |place: usize| {
        let (name, form) = text.split_at_checked(place)?;
        Some((name, form.strip_prefix(':')?))
    };
    let mut colons = text.rmatch_indices(':').filter_map(|(place, _)| at(place));
    match colons.find(|(name, _)| catalog.find(name).is_some()).or_else(|| at(text.find(':')?)) {
        Some((name, form)) => (name, Some(form)),
        None => (text, None),
    }
}

/// Parses the form of a facet. `offset` is its offset in the text.
fn of_form(catalog: &Catalog, field: FieldId, form: &str, offset: usize) -> Result<Facet, Error> {
    let name = catalog.field(field).name();
    let (word, operand) = form.split_once('=').map_or((form, None), |(word, operand)| (word, Some(operand)));
    let at_operand = offset.saturating_add(word.len()).saturating_add(1);
    match (word, operand) {
        ("stats", None) => Facet::stats(catalog, name),
        ("limit", Some(limit)) => {
            let is_number = !limit.is_empty() && limit.bytes().all(|byte| byte.is_ascii_digit());
            let number = limit.parse().ok().filter(|_| is_number).ok_or_else(|| {
                let expected = "a non-negative decimal integer";
                Error::new(ErrorKind::BadInteger, at_operand, quote(limit), expected)
            })?;
            Ok(Facet::of(catalog, field, FacetForm::Values(number)))
        }
        ("width", Some(width)) => Facet::of_width(catalog, field, width, at_operand),
        ("edges", Some(edges)) => {
            let mut place = at_operand;
            let edges = edges.split(',').map(|edge| {
                let own = place;
                place = place.saturating_add(edge.len()).saturating_add(1);
                (edge, own)
            });
            Facet::of_edges(catalog, field, edges)
        }
        (word, None) => match word.split_once('@') {
            None => match FacetInterval::from_name(word) {
                Some(interval) => Facet::histogram(catalog, name, interval),
                None => Err(unknown_form(catalog, field, form, offset)),
            },
            Some((own, zone)) => {
                let at_zone = offset.saturating_add(own.len()).saturating_add(1);
                let Some(interval) = FacetInterval::from_name(own) else {
                    return Err(unknown_form(catalog, field, own, offset));
                };
                let zone = utc_offset(zone).ok_or_else(|| bad_utc_offset(zone, at_zone))?;
                Ok(Facet::histogram(catalog, name, interval)?.with_utc_offset(zone))
            }
        },
        _ => Err(unknown_form(catalog, field, form, offset)),
    }
}

/// Parses an offset from UTC such as `+01:00` or `+0100`, at most 18 hours.
pub(super) fn utc_offset(text: &str) -> Option<FixedOffset> {
    let local = Timestamp::parse(&format!("1970-01-01 00:00:00{text}")).ok().filter(|_| !text.is_empty())?;
    let seconds = i32::try_from(local.as_millis().checked_div(-1000)?).ok()?;
    FixedOffset::east_opt(seconds)
}

pub(super) fn bad_utc_offset(text: &str, offset: usize) -> Error {
    let expected = "an offset from UTC such as `+01:00`, from -18:00 to +18:00";
    Error::new(ErrorKind::BadValue, offset, quote(text), expected)
}

/// Returns the error for an unknown form. It lists the forms for the type of the field.
fn unknown_form(catalog: &Catalog, field: FieldId, form: &str, offset: usize) -> Error {
    let class = ValueClass::of_field(catalog.field(field).field_type());
    let mut forms: Vec<&str> = match class {
        ValueClass::Ordered(OrderedType::Timestamp) => FacetInterval::ALL.map(FacetInterval::name).to_vec(),
        ValueClass::Ordered(_) => vec!["width=W", "edges=A,B,…"],
        ValueClass::Strings | ValueClass::Booleans => Vec::new(),
    };
    if matches!(class, ValueClass::Ordered(_)) {
        forms.push("stats");
    }
    let all: Vec<&str> = FacetInterval::ALL.map(FacetInterval::name).into_iter().chain(WORDS).collect();
    let word = form.split(['=', '@']).next().unwrap_or(form);
    let near = nearest(word, all.into_iter());
    let suggestion = near.map(|near| match near {
        "limit" => Suggestion::explain("`limit=10`"),
        "width" => Suggestion::explain("`width=100`"),
        "edges" => Suggestion::explain("`edges=0,100,1000`"),
        near => Suggestion::replace_by(near),
    });
    let expected = match forms.as_slice() {
        [] => "`limit=N`".to_owned(),
        forms => format!("{} or `limit=N`", quote_all(forms.iter().copied())),
    };
    Error::new(ErrorKind::BadValue, offset, quote(form), expected).suggest(suggestion)
}
