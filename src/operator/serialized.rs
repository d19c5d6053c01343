//! The serialised form of an operator: its name in JSON bodies.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::table::Operator;

impl Serialize for Operator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Operator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || D::Error::invalid_value(Unexpected::Str(&name), &"the name of an operator");
        Self::find(&name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_read_back() {
        for operator in Operator::ALL {
            let json = serde_json::to_string(&operator).unwrap();
            assert_eq!(json, format!("\"{}\"", operator.name()));
            assert_eq!(serde_json::from_str::<Operator>(&json).unwrap(), operator);
        }
        assert!(serde_json::from_str::<Operator>("\"is\"").is_err());
    }
}
