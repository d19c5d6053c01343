//! The limits on the contents of catalogue files, such as the number of fields.

/// The limits on the contents of a catalogue file. The limit on its length is separate.
pub(super) struct Bounds {
    pub(super) fields: usize,
    /// The maximum number of aliases of all fields together.
    pub(super) aliases: usize,
    /// The maximum number of known values of one field.
    pub(super) known: usize,
    /// The maximum length of a name, an alias or a value, in bytes.
    pub(super) bytes: usize,
    /// The maximum number of keys and arrays in a path.
    pub(super) depth: usize,
}

impl Bounds {
    /// The limits for catalogue files from users.
    pub(super) const FILE: Self = Self { fields: 4096, aliases: 4096, known: 1024, bytes: 1024, depth: 32 };
    /// No limits, for catalogues that this library wrote into a database.
    #[cfg(feature = "store")]
    pub(super) const NONE: Self = Self {
        fields: usize::MAX,
        aliases: usize::MAX,
        known: usize::MAX,
        bytes: usize::MAX,
        depth: usize::MAX,
    };
}
