//! Serialises filters and orders as strings. Deserialises filters for a given catalogue and limits.

use std::fmt;

use serde::de::{DeserializeSeed, Error, Visitor};
use serde::{Deserializer, Serialize, Serializer};

use super::builder::FilterBuilder;
use super::compiled::Filter;
use super::order::Order;

impl Serialize for Filter {
    /// Serialises the normal form, as [`to_text`](Filter::to_text) prints it. The text can be larger than the criteria as
    /// written, so deserialise it with greater limits than the limits for clients.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

/// Reads a filter from a string: the text syntax, or a JSON body if it begins with `{`.
///
/// ```
/// use casefilter::{Catalog, Filter, FilterBuilder};
/// use serde::de::DeserializeSeed;
/// let catalog = Catalog::cases();
/// let filter = Filter::compile_text(&catalog, "status = open and tags in (vip)")?;
/// let json = serde_json::to_string(&filter)?;
/// assert_eq!(json, r#""caseReview.status = open and tags = vip""#);
///
/// let builder = FilterBuilder::new(&catalog);
/// assert_eq!(builder.deserialize(&mut serde_json::Deserializer::from_str(&json))?, filter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> DeserializeSeed<'de> for &FilterBuilder {
    type Value = Filter;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Filter, D::Error> {
        deserializer.deserialize_str(Text(self))
    }
}

/// A visitor of the text of a filter.
struct Text<'b>(&'b FilterBuilder);

impl Visitor<'_> for Text<'_> {
    type Value = Filter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a filter in the text syntax or as a JSON body, in a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Filter, E> {
        let is_json = text.trim_start().starts_with('{');
        let filter = if is_json { self.0.json(text.as_bytes()) } else { self.0.text(text) };
        filter.map_err(E::custom)
    }
}

impl Serialize for Order {
    /// Serialises the text that [`Order::parse_list`] parses.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::filter::{Direction, SearchParams, SearchRequest};

    fn read(builder: &FilterBuilder, json: &str) -> Result<Filter, String> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        builder.deserialize(&mut deserializer).map_err(|error| error.to_string())
    }

    #[test]
    fn a_filter_is_read_from_its_text_and_from_a_body() {
        let cases = Catalog::cases();
        let builder = FilterBuilder::new(&cases);
        for text in
            ["true", "false", "ids (a, b) or tags all (x, y)", r#"name = "a \" b" or priority <> high"#]
        {
            let filter = builder.text(text).unwrap();
            assert_eq!(
                read(&builder, &serde_json::to_string(&filter).unwrap()),
                Ok(filter.clone()),
                "{text}"
            );
            let body = serde_json::to_string(&filter.to_json()).unwrap();
            assert_eq!(read(&builder, &body), Ok(filter), "{text}");
        }
        let error = read(&builder, r#""statsu = open""#).unwrap_err();
        assert!(error.contains("did you mean `status`?"), "{error}");
        assert!(read(&builder, "{}").unwrap_err().contains("a filter in the text syntax or as a JSON body"));
        let narrow = FilterBuilder::new(&cases.allow(["tags"]).unwrap());
        assert!(read(&narrow, r#""name = x""#).is_err());
    }

    #[test]
    fn requests_are_serialised_with_their_texts() {
        let cases = Catalog::cases();
        let request = SearchRequest::new(Filter::compile_text(&cases, "tags in (vip)").unwrap())
            .with_order(Order::by(&cases, "createdAt", Direction::Descending).unwrap());
        let expected = r#"{"filter":"tags = vip","order":"-createdAt","offset":0,"limit":100,"count":false}"#;
        assert_eq!(serde_json::to_string(&request).unwrap(), expected);

        let params = SearchParams::new().order("-createdAt").limit("20").count("true");
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(json, r#"{"limit":"20","order":"-createdAt","countTotalItems":"true"}"#);
        assert_eq!(serde_json::from_str::<SearchParams<'_>>(&json).unwrap(), params);
        assert_eq!(serde_json::to_string(&Direction::Descending).unwrap(), r#""descending""#);
    }
}
