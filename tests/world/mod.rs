//! Random worlds, shared by the property tests and the fuzz target `search`.

pub(crate) mod check;
pub(crate) mod choices;
pub(crate) mod generate;
pub(crate) mod plain;
