//! The serialised form of an operator: its name in JSON bodies.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::table::Operator;

impl Serialize for Operator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Operator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
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
        let error = serde_json::from_str::<Operator>("\"$substrng\"").unwrap_err().to_string();
        assert!(error.contains("did you mean `$substring`?"), "{error}");
    }
}
