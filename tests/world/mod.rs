//! Random worlds, shared by the property tests and the fuzz targets `search`, `standing` and `writes`. A world is a catalogue,
//! documents and requests.

pub(crate) mod check;
pub(crate) mod choices;
pub(crate) mod generate;
pub(crate) mod plain;
pub(crate) mod writes;
