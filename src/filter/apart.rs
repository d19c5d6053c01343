//! `Filter::apart_from`: a filter without the criteria on one field, for facets whose counts ignore the criteria on their field. A
//! joined filter stays unchanged. `predicate/apart.rs` finds the criteria.

use super::compiled::{Filter, Origin};
use crate::catalog::FieldId;
use crate::operator::{Complex, Connective};
use crate::predicate;

/// A filter without the criteria that name only a given field.
pub(crate) struct FilterApart {
    pub(crate) filter: Filter,
    /// True if criteria on the field could not be removed from the filter, for example because they also name other fields.
    pub(crate) has_others: bool,
}

impl Filter {
    /// Returns this filter without the criteria that name only `field`; see [`predicate::apart`].
    ///
    /// A filter that was joined or negated is returned unchanged. Some of its parts may be criteria of the host, such as the
    /// restriction to one tenant, which must always apply.
    pub(crate) fn apart_from(&self, field: FieldId) -> FilterApart {
        let written = self.written();
        if self.is_joined() {
            let has_others = predicate::names_of(&written, field);
            return FilterApart { filter: self.clone(), has_others };
        }
        let predicate::Apart { tree, is_changed, has_others } = predicate::apart(&written, field);
        if !is_changed {
            return FilterApart { filter: self.clone(), has_others };
        }
        let normal = predicate::normalize(&tree, self.catalog());
        let operator = Complex::from(Connective::And);
        let predicate = predicate::joined(operator, std::iter::once(&normal), self.catalog());
        let origin = Origin::Apart(Box::new(self.clone()), field);
        FilterApart { filter: Self::new(self.catalog(), predicate, origin), has_others }
    }
}
