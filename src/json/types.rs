//! The types of JSON values, and the result type of the reader.

use crate::error::Error;

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonType {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl JsonType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
        }
    }
}

/// The result type of the reader. Errors are boxed to keep results small, because the reader returns a result for every token.
pub(crate) type Result<T> = std::result::Result<T, Box<Error>>;
