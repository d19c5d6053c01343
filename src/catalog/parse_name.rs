//! Parses the names of field types, types of ids and timestamp forms. The parsers of other names, such as the names of operators,
//! return the same error type.

use std::fmt;
use std::str::FromStr;

use super::timestamp_form::TimestampForm;
use crate::error::{nearest, quote, quote_all};
use crate::value::{FieldType, IdType, MAX_SCALE};

/// The error for an unknown name, such as the name of a field type that does not exist.
///
/// Its message lists the valid names, and suggests the name that was probably meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParseNameError {
    found: String,
    allowed: Box<[&'static str]>,
}

impl ParseNameError {
    /// Returns the first of `all` whose name is `text`.
    pub(crate) fn find<T: Copy>(
        text: &str,
        all: impl IntoIterator<Item = T>,
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, Self> {
        let mut allowed = Vec::new();
        for own in all {
            if name(own) == text {
                return Ok(own);
            }
            allowed.push(name(own));
        }
        Err(Self { found: text.to_owned(), allowed: allowed.into() })
    }
}

impl fmt::Display for ParseNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = || self.allowed.iter().copied();
        write!(f, "found {}, expected one of {}", quote(&self.found), quote_all(allowed()))?;
        match nearest(&self.found, allowed()) {
            Some(meant) => write!(f, "; did you mean {}?", quote(meant)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ParseNameError {}

impl FromStr for FieldType {
    type Err = ParseNameError;

    /// Parses a [name](FieldType::name). The scale of a decimal follows in parentheses.
    ///
    /// ```
    /// use casefilter::FieldType;
    /// assert_eq!("integer".parse(), Ok(FieldType::Integer));
    /// assert_eq!("decimal(2)".parse(), Ok(FieldType::Decimal { scale: 2 }));
    /// let error = "nubmer".parse::<FieldType>().unwrap_err();
    /// assert!(error.to_string().ends_with("did you mean `number`?"));
    /// ```
    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        let scale = name.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')'));
        if let Some(scale) = scale.and_then(|scale| scale.parse().ok())
            && scale <= MAX_SCALE
        {
            return Ok(Self::Decimal { scale });
        }
        let others = Self::ALL.into_iter().filter(|own| !matches!(own, Self::Decimal { .. }));
        let decimal = Self::Decimal { scale: 2 };
        ParseNameError::find(name, others.chain([decimal]), |own| match own {
            Self::Decimal { .. } => "decimal(2)",
            _ => own.name(),
        })
    }
}

impl FromStr for TimestampForm {
    type Err = ParseNameError;

    /// Parses a [name](TimestampForm::name).
    ///
    /// ```
    /// use casefilter::TimestampForm;
    /// assert_eq!("unix_millis".parse(), Ok(TimestampForm::UnixMillis));
    /// assert!("iso".parse::<TimestampForm>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        ParseNameError::find(name, Self::ALL, Self::name)
    }
}

impl FromStr for IdType {
    type Err = ParseNameError;

    /// Parses a [name](IdType::name).
    ///
    /// ```
    /// use casefilter::IdType;
    /// assert_eq!("uuid".parse(), Ok(IdType::Uuid));
    /// assert!("guid".parse::<IdType>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        ParseNameError::find(name, Self::ALL, Self::name)
    }
}

impl fmt::Display for IdType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for TimestampForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_parsed_and_other_texts_are_errors() {
        for kind in FieldType::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for form in TimestampForm::ALL {
            assert_eq!(form.to_string().parse(), Ok(form));
        }
        for text in ["", "String", "string ", "text", "decimal", "decimal(19)", "decimal(-1)", "decimal(2) "]
        {
            let error = text.parse::<FieldType>().unwrap_err().to_string();
            assert!(error.contains("expected one of `string`, `number`, `integer`"), "{error}");
        }
    }
}
