//! The set of operators that JSON bodies may use: only the operators of the interface document, or also the extended operators.

/// The set of operators that a filter in JSON may use. A filter in the text syntax may use every operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// The operators of the interface document, which specifies the HTTP interface of the service.
    #[default]
    Interface,
    /// The operators of the interface document and the [extended](crate::Catalog::extended) operators.
    Extended,
}

impl Grammar {
    /// Returns true if JSON bodies may use an operator. `is_extended` must be true if the operator is extended.
    pub(crate) const fn allows(self, is_extended: bool) -> bool {
        !is_extended || matches!(self, Self::Extended)
    }
}
