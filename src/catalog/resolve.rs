//! Finds fields by the names in requests and allow-lists, and suggests fields for unknown names.

use std::sync::Arc;

use super::catalogue::Catalog;
use super::error::CatalogError;
use super::id::FieldId;
use crate::error::{Error, ErrorKind, Suggestion, nearest_two, quote, quote_all};

/// Finds the field with this name or alias. Commands use this function for arguments that name fields. `offset` is the offset of
/// the name in its text, for errors.
///
/// # Errors
/// Returns an error if the name is not in the catalogue. The error suggests up to three fields.
pub fn resolve_field(catalog: &Catalog, name: &str, offset: usize) -> Result<FieldId, Error> {
    catalog.resolve(name, offset)
}

impl Catalog {
    /// Finds the field that a request names. The error for an unknown name contains suggestions.
    pub(crate) fn resolve(&self, name: &str, offset: usize) -> Result<FieldId, Error> {
        self.find(name).ok_or_else(|| {
            let suggestion = match self.meant_by(name).as_slice() {
                [] => None,
                [only] => Some(Suggestion::replace_by(*only)),
                [first @ .., last] => {
                    let first = quote_all(first.iter().copied());
                    Some(Suggestion::explain(format!("{first} or {}", quote(last))))
                }
            };
            Error::new(ErrorKind::UnknownField, offset, quote(name), "a field of the catalogue")
                .suggest(suggestion)
        })
    }

    /// Returns this catalogue narrowed to an allow-list of field names or aliases. An alias makes its field visible under all of
    /// its names.
    ///
    /// A request that uses a hidden field gets the same error as for a name that does not exist. Filters of a narrowed catalogue
    /// run on engines of the original catalogue. If this catalogue is [extended](Self::extended), the narrowed catalogue is also
    /// extended.
    ///
    /// ```
    /// let narrow = casefilter::Catalog::cases().allow(["caseReview.status", "createdAt"])?;
    /// assert!(narrow.find("priority").is_none());
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`CatalogError::UnknownField`] if a name is not in this catalogue.
    pub fn allow<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Self, CatalogError> {
        let mut visible = vec![false; self.inner.fields.len()];
        for name in names {
            let near = || self.meant_by(name).first().map(|near| String::from(*near));
            let id = self.find(name).ok_or_else(|| CatalogError::UnknownField(name.into(), near()))?;
            if let Some(slot) = visible.get_mut(id.index()) {
                *slot = true;
            }
        }
        let ancestors = self.inner.ancestors.clone();
        let (fields, root) = (Arc::clone(&self.inner.fields), Some(self.root().clone()));
        Self::assemble(fields, visible.into(), root, ancestors, self.grammar())
    }

    /// Suggests at most three fields for an unknown name.
    ///
    /// Tries these rules in order, and stops at the first rule that finds a field:
    ///
    /// - the fields in an object of that name, but at most three of them;
    /// - the fields with a similar name, but at most two of them;
    /// - the fields whose last key contains `name` as a word, if there are at most three.
    fn meant_by(&self, name: &str) -> Vec<&str> {
        const MOST: usize = 3;
        let is_inside = |field: &&str| {
            let front = field.get(..name.len()).unwrap_or_default();
            front.eq_ignore_ascii_case(name)
                && field.get(name.len()..).is_some_and(|rest| rest.starts_with('.'))
        };
        let inside: Vec<&str> = self.names().filter(is_inside).take(MOST).collect();
        if !inside.is_empty() {
            return inside;
        }
        let mut near = nearest_two(name, self.names()).to_vec();
        // If a field and its alias are both similar, suggests only the more similar name.
        near.dedup_by_key(|name| self.find(name));
        if !near.is_empty() {
            return near;
        }
        let has_word = |field: &&str| {
            let leaf = field.rsplit('.').next().unwrap_or(field);
            words_of(leaf).any(|word| word.eq_ignore_ascii_case(name))
        };
        let by_word: Vec<&str> = self.names().filter(has_word).collect();
        // If the word occurs in many fields, suggesting them does not help the user.
        if by_word.len() > MOST { Vec::new() } else { by_word }
    }
}

/// Splits a key such as `totalAmount` into words. Each word after the first starts with a capital letter.
fn words_of(key: &str) -> impl Iterator<Item = &str> {
    let mut rest = key;
    std::iter::from_fn(move || {
        let end = rest.char_indices().skip(1).find(|(_, c)| c.is_ascii_uppercase());
        let (word, behind) = rest.split_at_checked(end.map_or(rest.len(), |(at, _)| at))?;
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}
