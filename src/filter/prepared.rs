//! Filters that are prepared to test many documents one by one: the searchers of their patterns are built once.

use super::compiled::Filter;
use super::elements::passes;
use super::patterns::Patterns;
use crate::batch::OwnedRow;
use crate::catalog::Catalog;
use crate::predicate::{Leaf, Node};

/// A filter that is prepared to test many documents one by one.
///
/// [`Filter::selects`] searches each string for each value of a pattern. A prepared filter searches for many values at once. If a
/// pattern has more than a few values, the time for a document does not depend on their number.
pub(crate) struct PreparedFilter {
    filter: Filter,
    /// The searchers for the patterns of the filter. They are found by the addresses of the leaves, which are not moved while the
    /// filter exists.
    patterns: Patterns,
}

impl PreparedFilter {
    pub(crate) fn new(filter: &Filter) -> Self {
        Self { filter: filter.clone(), patterns: Patterns::of(filter.predicate()) }
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns true if the filter selects a document with these values. The row needs only the values of the fields that the filter
    /// tests, and all elements of arrays if it tests elements. `catalog` is the catalogue that the row was read for; the catalogue
    /// of the filter must be within it.
    #[inline]
    pub(crate) fn selects(&self, row: &OwnedRow, catalog: &Catalog) -> bool {
        let predicate = self.filter.predicate();
        let passes = |leaf: &Leaf| passes(leaf, row, catalog, &self.patterns);
        match self.filter.program() {
            Some(program) => program.selects(
                row,
                |node| matches!(predicate.get(node as usize), Some(Node::Leaf(leaf)) if passes(leaf)),
            ),
            None => predicate.decides(passes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Document;

    #[test]
    fn a_prepared_filter_selects_what_the_filter_selects() {
        let cases = Catalog::cases().extended();
        let many: Vec<String> = (0..50).map(|n| format!("x{n}y")).collect();
        let filters = [
            "true".to_owned(),
            "name includes arc".to_owned(),
            "not name includes (arc, x7y)".to_owned(),
            format!("name includes ({})", many.join(", ")),
            format!("not (name includes ({}) or tags starts with v)", many.join(", ")),
            "name matches 'GARCIA lopez' and tags starts with (v, c)".to_owned(),
            "caseReview.checklistState.checklist has (name includes arc and not name matches lopez)"
                .to_owned(),
            "name is present and status = open".to_owned(),
        ]
        .map(|text| Filter::compile_text(&cases, &text).unwrap());
        for document in [
            r#"{"id":"1"}"#,
            r#"{"id":"2","name":"García López","tags":["vip","cash"]}"#,
            r#"{"id":"3","name":"x7y","tags":["other"]}"#,
            r#"{"id":"4","name":"x49","tags":["v"],"caseReview":{"status":"open"}}"#,
            r#"{"id":"5","name":"-x49y-","caseReview":{"checklistState":{"checklist":[{"name":"x"},{"name":"arc"}]}}}"#,
            r#"{"id":"6","caseReview":{"checklistState":{"checklist":[{"name":"arc Lopez"},{"checked":true}]}}}"#,
        ] {
            let parsed = Document::parse(&cases, document.as_bytes()).unwrap();
            for filter in filters.iter().flat_map(|filter| [filter.clone(), filter.unoptimized()]) {
                let prepared = PreparedFilter::new(&filter);
                let expected = filter.selects(&parsed).unwrap();
                assert_eq!(prepared.selects(parsed.row(), &cases), expected, "{filter} {document}");
            }
        }
    }
}
