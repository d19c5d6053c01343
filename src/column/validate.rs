//! Checks the invariants of a column.

use super::index_values;
use super::sealed::{Column, ColumnData, ColumnLayout};
use super::search_index::SearchIndex;
use super::sorted::{Sorted, is_exact};
use crate::rows::Selection;

impl Column {
    /// Checks the invariants by reading the complete column. Returns a description of the first violated invariant.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let values = self.data.len();
        match &self.layout {
            ColumnLayout::Single(present) => {
                present.validate(self.rows)?;
                if values != self.rows && !(values == 0 && *present == Selection::None) {
                    return Err(format!("{values} values in {} rows", self.rows));
                }
            }
            ColumnLayout::Many(ends) => {
                if ends.len() != self.rows
                    || !ends.is_sorted()
                    || ends.last().is_none_or(|end| *end == 0 || *end as usize != values)
                {
                    return Err("offsets that do not divide the values among the rows".into());
                }
            }
        }
        if let Some(elements) = &self.elements {
            elements.validate(self.rows, |row| self.places(row))?;
        }
        let present = |at: usize| match &self.layout {
            ColumnLayout::Single(present) => present.contains(at),
            ColumnLayout::Many(_) => true,
        };
        match &self.data {
            ColumnData::Strings { dictionary, codes, postings, search } => {
                dictionary.validate()?;
                let mut used = vec![false; dictionary.len()];
                for at in (0..codes.len()).filter(|at| present(*at)) {
                    match used.get_mut(codes.get(at)) {
                        Some(flag) => *flag = true,
                        None => return Err("a code that the dictionary lacks".into()),
                    }
                }
                if used.contains(&false) {
                    return Err("a string in the dictionary that no row has".into());
                }
                let same_search = |own: &SearchIndex| {
                    let has_postings = postings.is_some();
                    index_values::search(self.rows, &self.layout, dictionary, codes, has_postings) == *own
                };
                if search.as_ref().is_some_and(|search| !same_search(search)) {
                    return Err("a search index that is not that of the strings".into());
                }
                match postings {
                    Some(postings)
                        if *postings
                            != index_values::plain_postings(self.rows, &self.layout, dictionary, codes) =>
                    {
                        Err("postings that are not those of the codes".into())
                    }
                    _ => Ok(()),
                }
            }
            ColumnData::Ordered { kind, values, zone, sorted } => {
                let places = || (0..values.len()).filter(|at| present(*at));
                is_exact(Sorted::new(sorted, self), places(), |row| values.get(row))?;
                let all: Vec<i64> = places().map(|at| values.get(at)).collect();
                let (least, greatest) = kind.range();
                if all.iter().any(|ordinal| !(least..=greatest).contains(ordinal)) {
                    return Err("an ordinal outside the range of its type".into());
                }
                if *zone == all.iter().min().copied().zip(all.iter().max().copied()) {
                    Ok(())
                } else {
                    Err("a zone map that is not the range of the values".into())
                }
            }
            ColumnData::Booleans { values, holders } => {
                values.validate()?;
                if **holders == index_values::holders(self.rows, &self.layout, values) {
                    Ok(())
                } else {
                    Err("rows of booleans that are not those of the values".into())
                }
            }
        }
    }
}
