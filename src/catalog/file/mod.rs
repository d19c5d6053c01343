//! Catalogue files: catalogues as text, in TOML or JSON.
//!
//! `json` and `toml` read a text as a tree of values with their offsets ([`node`]). `read`, `fields` and `values` convert the tree
//! to a catalogue, and report each error with its offset. `write` converts a catalogue to text, for databases and for
//! `Catalog::to_json`. The implementations of serde's traits, in `../serialized.rs`, use none of these files.
//!
//! To add a setting of fields (a key such as `known`), change `fields.rs`, `write.rs`, `../field.rs` and `../serialized.rs`.

mod bounds;
mod faults;
mod fields;
mod id;
mod json;
mod keys;
mod node;
mod read;
#[cfg(test)]
mod tests;
#[cfg(feature = "toml")]
mod toml;
mod values;
mod words;
mod write;

use super::catalogue::Catalog;
use crate::error::{Error, ErrorKind, Errors};
use crate::json::text;

use bounds::Bounds;
use read::catalog;

/// The largest catalogue file, in bytes.
const MOST_BYTES: usize = 1 << 20;

impl Catalog {
    /// Reads a catalogue file in TOML. [The guide](crate::guide::catalogues#catalogues-from-files) has all keys.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let orders = Catalog::from_toml(r#"
    ///     [[fields]]
    ///     path = "total"
    ///     type = "number"
    ///
    ///     [[fields]]
    ///     path = "items[].sku"
    ///     type = "string"
    /// "#)?;
    /// assert_eq!(orders.names().collect::<Vec<_>>(), ["id", "total", "items.sku"]);
    ///
    /// let errors = Catalog::from_toml("[[fields]]\npath = 'total'\ntype = 'nubmer'").unwrap_err();
    /// assert!(errors.to_string().ends_with("did you mean `number`?"));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns up to ten errors with their offsets: errors in the syntax, in keys and values, and fields that conflict with each
    /// other. A file has at most 1 MiB and 4,096 fields.
    ///
    /// # Complexity
    /// Linear in the length of the text.
    #[cfg(feature = "toml")]
    pub fn from_toml(text: impl AsRef<[u8]>) -> Result<Self, Errors> {
        let text = checked(text.as_ref())?;
        catalog(&toml::read(text)?, &Bounds::FILE)
    }

    /// Reads a catalogue file in JSON. [The guide](crate::guide::catalogues#catalogues-from-files) has all keys.
    ///
    /// ```
    /// use casefilter::Catalog;
    /// let grown = Catalog::from_json(r#"{
    ///     "extends": "cases",
    ///     "fields": [{"path": "riskScore", "type": "integer"}]
    /// }"#)?;
    /// assert!(Catalog::cases().is_within(&grown));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns up to ten errors with their offsets: errors in the syntax, in keys and values, and fields that conflict with each
    /// other. A file has at most 1 MiB and 4,096 fields.
    ///
    /// # Complexity
    /// Linear in the length of the text.
    pub fn from_json(text: impl AsRef<[u8]>) -> Result<Self, Errors> {
        let text = checked(text.as_ref())?;
        catalog(&json::read(text)?, &Bounds::FILE)
    }

    /// Reads a catalogue that [`to_json`](Self::to_json) wrote, of any size.
    #[cfg(feature = "store")]
    pub(crate) fn from_own_json(text: &str) -> Result<Self, Errors> {
        let own = catalog(&json::read(text)?, &Bounds::NONE)?;
        // Returns the shared catalogue of cases if it is equal. Comparisons with it are then comparisons of addresses.
        let cases = Self::cases();
        Ok(if own == cases && !own.is_extended() { cases } else { own })
    }

    /// Returns the catalogue as a catalogue file in JSON, in one line. The file lists every field of the catalogue. It does not use
    /// `extends`, even if the catalogue was grown from the catalogue of cases.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType};
    /// let tickets = Catalog::new([Field::new("cost", FieldType::Number)])?;
    /// let expected = r#"{"fields":[{"path":"id","type":"string","key":true},{"path":"cost","type":"number"}]}"#;
    /// assert_eq!(tickets.to_json(), expected);
    /// assert_eq!(Catalog::from_json(expected)?, tickets);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        write::json(self)
    }
}

/// Returns the text of a file. Returns an error if the file is too large or is not UTF-8.
fn checked(bytes: &[u8]) -> Result<&str, Errors> {
    if bytes.len() > MOST_BYTES {
        let found = format!("a file of {} bytes", bytes.len());
        let expected = format!("a catalogue of at most {MOST_BYTES} bytes");
        return Err(Error::new(ErrorKind::BadFile, 0, found, expected).into());
    }
    text(bytes).map_err(|at| {
        Error::new(ErrorKind::NotUtf8, at, "a byte that is not UTF-8", "a catalogue file in UTF-8").into()
    })
}
