//! Converts a filter to a text from which it can be compiled again. The segments of a `FilterSet` keep these texts instead of the
//! trees of their filters.

use super::builder::{of_json, of_text};
use super::compiled::{Filter, Origin};
use super::limits::no_limits;
use crate::catalog::Catalog;
use crate::error::{Error, Errors};
use crate::operator::Grammar;
use crate::predicate::{Leaf, Node, Tree};
use crate::value::Clock;

/// The first character of a kept JSON body.
const JSON: char = 'J';
/// The first character of a kept filter in the text syntax. The offset from UTC in seconds, a semicolon and the filter follow.
const TEXT: char = 'T';

impl Filter {
    /// Creates the filter of one leaf. It has no [criteria as written](Self::written).
    pub(crate) fn of_leaf(catalog: &Catalog, leaf: Leaf) -> Self {
        Self::new(catalog, Tree::from_nodes([Node::Leaf(leaf)]), Origin::Constant(true))
    }

    /// Appends the text from which [`of_kept`](Self::of_kept) compiles the filter again: its source, or its normal form if it has
    /// no source.
    pub(crate) fn keep(&self, out: &mut String) {
        match &self.inner.origin {
            Origin::Json(body) => {
                out.push(JSON);
                out.push_str(body);
            }
            Origin::Text(text, clock) => {
                out.push_str(&format!("{TEXT}{};", clock.offset_s));
                out.push_str(text);
            }
            Origin::Constant(_) | Origin::Joined(..) | Origin::Apart(..) => {
                out.push(JSON);
                out.push_str(&self.to_json());
            }
        }
    }

    /// Compiles a filter from the text that [`keep`](Self::keep) appended.
    ///
    /// # Errors
    /// Returns errors if the text does not compile for the catalogue. This can happen for a text that `keep` did not append, or for
    /// another catalogue than that of the filter.
    pub(crate) fn of_kept(catalog: &Catalog, kept: &str) -> Result<Self, Errors> {
        if let Some(body) = kept.strip_prefix(JSON) {
            return of_json(catalog, Grammar::Extended, &no_limits(), body.as_bytes());
        }
        let (offset, text) =
            kept.strip_prefix(TEXT).and_then(|kept| kept.split_once(';')).unwrap_or_default();
        let clock = Clock { now: None, offset_s: offset.parse().unwrap_or_default() };
        of_text(catalog, clock, &no_limits(), text)
    }

    /// Compiles the text of a normal form, as [`to_text`](Self::to_text) prints it.
    ///
    /// # Errors
    /// Returns errors for a text that `to_text` did not print, or for another catalogue.
    #[cfg(feature = "store")]
    pub(crate) fn of_stored_text(catalog: &Catalog, text: &str) -> Result<Self, Errors> {
        of_text(catalog, Clock::default(), &no_limits(), text)
    }

    /// Returns an error if the filter text contains a time that depends on the current time: `now` or `today`. The offset of the
    /// error is the position of this time in the text. Returns `None` for any other filter.
    pub(crate) fn relative_time(&self) -> Option<Error> {
        let of_part = |part: &Self| match &part.inner.origin {
            Origin::Text(text, clock) if clock.now.is_some() => {
                let clock = Clock { now: None, ..*clock };
                let errors = of_text(part.catalog(), clock, &no_limits(), text).err()?;
                errors.as_slice().first().cloned()
            }
            _ => None,
        };
        if self.is_joined() { self.parts().into_iter().find_map(of_part) } else { of_part(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::FilterBuilder;
    use crate::value::Timestamp;

    #[test]
    fn a_kept_filter_is_compiled_again() {
        let cases = Catalog::cases().extended();
        let offset = chrono::FixedOffset::east_opt(7200).unwrap();
        let builder = FilterBuilder::new(&cases).utc_offset(offset);
        let text = builder.text("createdAt < 2025-12-01").unwrap();
        let json = Filter::compile(&cases, br#"{"ids":["a","b"]}"#).unwrap();
        let joined = text.clone().and(&json).unwrap();
        for filter in [text, json, joined, Filter::all(&cases), Filter::none(&cases)] {
            let mut kept = String::new();
            filter.keep(&mut kept);
            let again = Filter::of_kept(&cases, &kept).unwrap();
            assert_eq!(again, filter);
            assert!(filter.source().is_none() || again.source() == filter.source());
        }
    }

    #[test]
    fn relative_times_are_found() {
        let cases = Catalog::cases();
        let builder = FilterBuilder::new(&cases).now(Timestamp::parse("2025-12-08 09:30:00").unwrap());
        let relative = builder.text("name = now and createdAt >= now - 7d").unwrap();
        assert_eq!(relative.relative_time().map(|error| error.offset), Some(28));
        let joined = Filter::all(&cases).and(&relative).unwrap();
        assert!((!joined).relative_time().is_some());
        assert_eq!(builder.text("name = today and createdAt on 2025-01-01").unwrap().relative_time(), None);
    }
}
