//! The language that JSON bodies speak: the operators of the interface document, or the extended ones too.

/// The operators that JSON bodies may use. Texts may use all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// The operators of the interface document.
    #[default]
    Interface,
    /// The operators of the interface document and the [extended](crate::Catalog::extended) ones.
    Extended,
}

impl Grammar {
    /// Returns true if bodies may use an operator that is extended or not.
    pub(crate) const fn allows(self, is_extended: bool) -> bool {
        !is_extended || matches!(self, Self::Extended)
    }
}
