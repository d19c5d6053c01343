//! Applicants, their verification steps, documents and AML cases: what four of the five operations answer from.
mod aml;
mod error;
mod import;
mod info;
mod profile;
mod records;
mod shape;
mod shapes;
mod steps;
#[cfg(test)]
mod tests;
mod transliterate;

pub use aml::aml_case;
pub use error::{DomainError, DomainErrorKind};
pub use import::{Imported, RecordImport, RecordKind, import_records};
pub use info::update_info;
pub use profile::{mint_share_token, preview, use_share_token};
pub use steps::step_status;
