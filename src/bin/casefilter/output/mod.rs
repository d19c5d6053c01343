//! Where answers go: standard output, files, and what is told on standard error.

pub(crate) mod array;
pub(crate) mod diagnostics;
pub(crate) mod ending;
pub(crate) mod escape;
pub(crate) mod failure;
pub(crate) mod file;
pub(crate) mod interrupt;
pub(crate) mod parquet;
pub(crate) mod progress;
pub(crate) mod rows;
pub(crate) mod spool;
pub(crate) mod stdout;
pub(crate) mod table;
