//! Serialises numbers as doubles, decimals as strings, and timestamps as milliseconds since the Unix epoch (feature `serde`).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::datetime::Timestamp;
use super::decimal::Decimal;
use super::number::Number;

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Timestamp {
    /// Serialises the milliseconds since the Unix epoch, because the text form cannot express every instant.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.as_millis())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_millis)
    }
}

impl Serialize for Decimal {
    /// Serialises the text, because a double could round the number.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_back() {
        let values =
            (Number::parse("-0.5").unwrap(), Timestamp::from_millis(-1_500), Decimal::new(-150, 2).unwrap());
        let json = serde_json::to_string(&values).unwrap();
        assert_eq!(json, "[-0.5,-1500,\"-1.50\"]");
        assert_eq!(serde_json::from_str::<(Number, Timestamp, Decimal)>(&json).unwrap(), values);
        assert_eq!(serde_json::from_str::<Number>("3").unwrap(), Number::from(3));
        assert!(serde_json::from_str::<Number>("\"3\"").is_err());
        assert!(serde_json::from_str::<Timestamp>("1.5").is_err());
    }
}
