//! The types that the ids of documents may have in JSON.

/// The type of the id in documents.
///
/// The type affects how a document contains its id. In the library, in criteria and in answers, an id is always a string. An
/// integer becomes its digits, and a UUID its lower-case form. Ids are sorted as strings, so that `10` comes before `9`.
///
/// ```
/// use casefilter::{Catalog, Engine, Field, FieldType, IdType};
/// let tickets = Catalog::new([Field::new("subject", FieldType::String)])?.with_id("ticketId", IdType::Integer)?;
/// let engine = Engine::new(tickets);
/// engine.upsert(br#"{"ticketId":9007199254740993,"subject":"No light"}"#)?;
/// assert!(engine.get("9007199254740993").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IdType {
    /// A string of 1 to 1,024 bytes.
    #[default]
    String,
    /// A JSON integer of 64 bits, without a fraction or an exponent.
    Integer,
    /// A string that contains a UUID: 32 hexadecimal digits in five groups that are separated by `-`, optionally after `urn:uuid:`
    /// (RFC 9562). Letters may have any case.
    Uuid,
}

impl IdType {
    /// All types.
    pub(crate) const ALL: [Self; 3] = [Self::String, Self::Integer, Self::Uuid];

    /// Returns the name of the type in catalogue files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Uuid => "uuid",
        }
    }

    /// Returns a description of the valid ids in documents, for error messages.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Self::String => "a string of 1 to 1024 bytes",
            Self::Integer => "an integer of 64 bits, without fraction and exponent",
            Self::Uuid => "a UUID, a string such as `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`",
        }
    }
}
