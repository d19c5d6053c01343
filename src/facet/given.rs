//! `parse_facet`: parses a facet of a command line. `FacetDefaults` contains the limit and the offset from UTC for texts that do
//! not contain them. It also says if the counts of each facet ignore the criteria that name only its field.

use chrono::FixedOffset;

use super::definition::Facet;
use super::parse::split;
use crate::catalog::Catalog;
use crate::error::Error;

/// The settings for all facets of a command. A setting in the text of a facet takes precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FacetDefaults {
    /// The maximum number of values of a facet that counts by value.
    pub limit: Option<u64>,
    /// The offset from UTC of the intervals of histograms.
    pub utc_offset: Option<FixedOffset>,
    /// True if the counts of each facet ignore the criteria that name only its field; see [`Facet::with_own_criteria_apart`].
    pub own_criteria_apart: bool,
}

/// Parses the text form of a facet, and applies the defaults.
///
/// # Errors
/// Returns the errors of [`Facet::parse`].
pub fn parse_facet(catalog: &Catalog, text: &str, defaults: &FacetDefaults) -> Result<Facet, Error> {
    let mut facet = Facet::parse(catalog, text)?;
    // Only the form is searched, because the name of a field may contain `:limit=` or `@`.
    let form = split(catalog, text).1.unwrap_or_default();
    if let Some(limit) = defaults.limit.filter(|_| !form.starts_with("limit=")) {
        facet = facet.with_limit(limit);
    }
    if let Some(offset) = defaults.utc_offset.filter(|_| !form.contains('@')) {
        facet = facet.with_utc_offset(offset);
    }
    Ok(facet.with_own_criteria_apart(defaults.own_criteria_apart))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Field, FieldType};
    use crate::facet::FacetInterval;

    #[test]
    fn a_text_wins_over_the_defaults() {
        let catalog = Catalog::cases();
        let east = FixedOffset::east_opt(7200);
        let defaults = FacetDefaults { limit: Some(3), utc_offset: east, own_criteria_apart: true };
        let parse = |text| parse_facet(&catalog, text, &defaults).unwrap();
        let values = Facet::values(&catalog, "tags").unwrap().with_own_criteria_apart(true);
        assert_eq!(parse("tags"), values.clone().with_limit(3));
        assert_eq!(parse("tags:limit=5"), values.with_limit(5));
        let months = Facet::histogram(&catalog, "createdAt", FacetInterval::Month).unwrap();
        let months = months.with_own_criteria_apart(true);
        assert_eq!(parse("createdAt:month"), months.clone().with_utc_offset(east.unwrap()));
        assert_eq!(parse("createdAt:month@+00:00"), months);
    }

    #[test]
    fn the_name_of_a_field_may_look_like_a_form() {
        let fields = [("a@b", FieldType::Timestamp), ("a:limit=b", FieldType::String)];
        let catalog = Catalog::new(fields.map(|(name, kind)| Field::new(name, kind))).unwrap();
        let east = FixedOffset::east_opt(7200);
        let defaults = FacetDefaults { limit: Some(3), utc_offset: east, own_criteria_apart: false };
        let parse = |text| parse_facet(&catalog, text, &defaults).unwrap();
        let months = Facet::histogram(&catalog, "a@b", FacetInterval::Month).unwrap();
        assert_eq!(parse("a@b:month"), months.clone().with_utc_offset(east.unwrap()));
        assert_eq!(parse("a@b:month@+00:00"), months);
        let values = Facet::values(&catalog, "a:limit=b").unwrap();
        assert_eq!(parse("a:limit=b"), values.clone().with_limit(3));
        assert_eq!(parse("a:limit=b:limit=5"), values.with_limit(5));
    }
}
