//! The bounds of catalogue files.

/// The bounds of a file, beside its length.
pub(super) struct Bounds {
    pub(super) fields: usize,
    /// The number of aliases of all fields.
    pub(super) aliases: usize,
    /// The number of known values of one field.
    pub(super) known: usize,
    /// The length of a name, an alias or a value in bytes.
    pub(super) bytes: usize,
    /// The number of keys and arrays in a path.
    pub(super) depth: usize,
}

impl Bounds {
    /// The bounds of files that people write.
    pub(super) const FILE: Self = Self { fields: 4096, aliases: 4096, known: 1024, bytes: 1024, depth: 32 };
    /// No bounds, for files that this library wrote.
    #[cfg(feature = "store")]
    pub(super) const NONE: Self = Self {
        fields: usize::MAX,
        aliases: usize::MAX,
        known: usize::MAX,
        bytes: usize::MAX,
        depth: usize::MAX,
    };
}
