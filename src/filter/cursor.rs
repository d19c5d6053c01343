//! Cursors (keyset pagination): the position at the end of a page, as a text that clients send back to get the next page.
//!
//! The text is URL-safe base64 without padding of these bytes:
//!
//! | bytes | contents |
//! |---|---|
//! | 1 | version, 1 |
//! | 8 | checksum: the start of the SHA-256 of all following bytes |
//! | 8 | fingerprint of the order |
//! | rest | the position |
//!
//! A position begins with the byte `0` in insertion order, and with the byte `1` in any other order:
//!
//! - After `0`, the insertion-order number follows (8 bytes).
//! - After `1`, the number of values (1 byte), the values and the id follow. The id is a text.
//!
//! A value begins with a byte for its kind:
//!
//! - `0`: the value is absent.
//! - `1`: an ordinal follows (8 bytes).
//! - `2`: the value is false.
//! - `3`: the value is true.
//! - `4`: a text follows.
//!
//! A text is its length in bytes (4 bytes), followed by its bytes. Numbers are big-endian.
//!
//! The cursor contains the values, not only the id, because the document may be deleted before the next page is read. The checksum
//! detects damage, not attacks. A client may construct a cursor, but it can only choose where a page begins. The filter decides
//! which documents are on the page.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::identity::description;
use super::order::{Position, SortKey, SortValue, SortValues};
use crate::catalog::{Catalog, Field, FieldId};
use crate::error::{Error, ErrorKind, Found};
use crate::value::ValueClass;

/// The version of the format.
const VERSION: u8 = 1;
/// The start of the text whose hash is the fingerprint. When the meaning of a position changes, the number in this text must
/// change, too.
const FINGERPRINT: &str = "casefilter cursor 1\n";

/// The position directly after the last document of a page. A request [after](crate::SearchRequest::with_after) a cursor returns
/// the next page.
///
/// A cursor contains the id of that document, and the document's values in the sort fields. In insertion order, it contains the
/// document's insertion-order number instead. So it stays valid after a restart, and when the document is changed or deleted. A
/// document that no write touches between two pages is neither missed nor returned twice. The filter and the limit may change from
/// page to page. The order must not change.
///
/// Its text has only letters, digits, `-` and `_`. It is not encrypted.
///
/// ```
/// use casefilter::{Catalog, Cursor, Engine, Filter, Order, SearchRequest};
/// let engine = Engine::new(Catalog::cases());
/// engine.upsert_many(br#"[{"id":"a","name":"x"},{"id":"b","name":"y"},{"id":"c","name":"x"}]"#)?;
/// let request = SearchRequest::new(Filter::all(engine.catalog()))
///     .with_order(Order::parse(engine.catalog(), "name")?)
///     .with_limit(2)
///     .with_cursor(true);
/// let first = engine.search(&request)?;
/// assert_eq!(first.ids().collect::<Vec<_>>(), ["a", "c"]);
/// let text = first.next().unwrap().to_string();
/// engine.delete("c");
/// let second = engine.search(&request.with_after(text.parse::<Cursor>()?))?;
/// assert_eq!(second.ids().collect::<Vec<_>>(), ["b"]);
/// assert_eq!(second.next(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    fingerprint: [u8; 8],
    position: Arc<Position>,
}

impl Cursor {
    /// The maximum length of the text of a cursor in bytes.
    pub const MAX_BYTES: usize = 1 << 16;

    /// Creates the cursor of a position in the order of these keys.
    ///
    /// # Errors
    /// Returns [`ErrorKind::StringTooLong`] if its text would be longer than [`MAX_BYTES`](Self::MAX_BYTES).
    pub(crate) fn new(catalog: &Catalog, keys: &[SortKey], position: Position) -> Result<Self, Error> {
        let cursor = Self { fingerprint: fingerprint(catalog, keys), position: Arc::new(position) };
        let bytes = base64::encoded_len(cursor.bytes().len(), false).unwrap_or(usize::MAX);
        if bytes <= Self::MAX_BYTES {
            return Ok(cursor);
        }
        let found = format!("a document whose sort values need a cursor of {bytes} bytes");
        let expected = format!("at most {} bytes; order by fields with shorter values", Self::MAX_BYTES);
        Err(Error::new(ErrorKind::StringTooLong, 0, found, expected).at("order"))
    }

    /// Parses the text of a cursor.
    ///
    /// # Errors
    /// Returns [`ErrorKind::BadCursor`] if the text is not the complete, unchanged text of a cursor of this version.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let error = |expected: &str| {
            Error::new(ErrorKind::BadCursor, 0, Found::text(text), expected.to_owned()).at("after")
        };
        let unchanged = "the complete, unchanged text of `next` in the answer with the page before";
        if text.len() > Self::MAX_BYTES {
            return Err(error(unchanged));
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| error(unchanged))?;
        let mut rest = Bytes(&bytes);
        match rest.byte() {
            Some(VERSION) => {}
            _ => return Err(error("a cursor that this version of casefilter returned")),
        }
        let checksum = rest.eight().ok_or_else(|| error(unchanged))?;
        if checksum != self::checksum(rest.0) {
            return Err(error(unchanged));
        }
        let read = |rest: &mut Bytes<'_>| {
            let fingerprint = rest.eight()?;
            let position = position(rest)?;
            rest.0.is_empty().then(|| Self { fingerprint, position: Arc::new(position) })
        };
        read(&mut rest).ok_or_else(|| error(unchanged))
    }

    /// Returns the position.
    pub(crate) fn position(&self) -> &Position {
        &self.position
    }

    /// Checks that the cursor belongs to the order of these keys.
    ///
    /// # Errors
    /// Returns [`ErrorKind::BadCursor`] if it belongs to another order, or to a catalogue that defines a sort field or the id
    /// differently.
    pub(crate) fn check(&self, catalog: &Catalog, keys: &[SortKey]) -> Result<(), Error> {
        let is_of_type = |(key, value): (&SortKey, &SortValue)| {
            let class = ValueClass::of_field(catalog.field(key.field).field_type());
            match (value, class) {
                (SortValue::Absent, _)
                | (SortValue::Boolean(_), ValueClass::Booleans)
                | (SortValue::Text(_), ValueClass::Strings) => true,
                (SortValue::Ordinal(ordinal), ValueClass::Ordered(kind)) => {
                    let (least, greatest) = kind.range();
                    (least..=greatest).contains(ordinal)
                }
                _ => false,
            }
        };
        let fits = match &*self.position {
            Position::Inserted(_) => keys.is_empty(),
            Position::Sorted { values, .. } => {
                values.len() == keys.len() && !keys.is_empty() && keys.iter().zip(values).all(is_of_type)
            }
        };
        if fits && self.fingerprint == fingerprint(catalog, keys) {
            return Ok(());
        }
        let found = "a cursor of another order or of another catalogue";
        let expected = "the `order` of the page before, or no cursor";
        Err(Error::new(ErrorKind::BadCursor, 0, found, expected).at("after"))
    }

    /// Returns the bytes that the text encodes.
    fn bytes(&self) -> Vec<u8> {
        let mut body: Vec<u8> = self.fingerprint.into();
        let text = |text: &str, body: &mut Vec<u8>| {
            // A text whose length does not fit in 32 bits exceeds the maximum length of a cursor.
            body.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
            body.extend(text.as_bytes());
        };
        match &*self.position {
            Position::Inserted(place) => {
                body.push(0);
                body.extend(place.to_be_bytes());
            }
            Position::Sorted { values, id } => {
                body.push(1);
                body.push(u8::try_from(values.len()).unwrap_or(u8::MAX));
                for value in values {
                    match value {
                        SortValue::Absent => body.push(0),
                        SortValue::Ordinal(ordinal) => {
                            body.push(1);
                            body.extend(ordinal.to_be_bytes());
                        }
                        SortValue::Boolean(boolean) => body.push(if *boolean { 3 } else { 2 }),
                        SortValue::Text(value) => {
                            body.push(4);
                            text(value, &mut body);
                        }
                    }
                }
                text(id, &mut body);
            }
        }
        let mut bytes = vec![VERSION];
        bytes.extend(checksum(&body));
        bytes.extend(body);
        bytes
    }
}

/// Returns the checksum of `body`: all bytes of a cursor that follow its checksum.
fn checksum(body: &[u8]) -> [u8; 8] {
    Sha256::digest(body).first_chunk().copied().unwrap_or_default()
}

/// Returns the fingerprint of an order: a hash of its directions, its fields and the id field. The hash includes the types,
/// defaults and known values of these fields.
fn fingerprint(catalog: &Catalog, keys: &[SortKey]) -> [u8; 8] {
    let text = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(FINGERPRINT);
    let mut add = |sign: &str, field: &Field| {
        hash.update(sign);
        hash.update(description(field));
        field.known_values().for_each(|known| hash.update(text(known)));
        hash.update("\n");
    };
    for key in keys {
        add(if key.descending { "-" } else { "+" }, catalog.field(key.field));
    }
    add("id ", catalog.field(FieldId::ID));
    hash.finalize().first_chunk().copied().unwrap_or_default()
}

/// The bytes that have not been read.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn text(&mut self) -> Option<&'b str> {
        let (len, rest) = self.0.split_first_chunk()?;
        let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
        let (text, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

/// Reads a position.
fn position(rest: &mut Bytes<'_>) -> Option<Position> {
    match rest.byte()? {
        0 => Some(Position::Inserted(u64::from_be_bytes(rest.eight()?))),
        1 => {
            let mut values = SortValues::new();
            for _ in 0..rest.byte()? {
                values.push(match rest.byte()? {
                    0 => SortValue::Absent,
                    1 => SortValue::Ordinal(i64::from_be_bytes(rest.eight()?)),
                    2 => SortValue::Boolean(false),
                    3 => SortValue::Boolean(true),
                    4 => SortValue::Text(rest.text()?.into()),
                    _ => return None,
                });
            }
            Some(Position::Sorted { values, id: rest.text()?.into() })
        }
        _ => None,
    }
}

impl fmt::Display for Cursor {
    /// Prints the text that [`Cursor::parse`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64_URL_SAFE_NO_PAD.encode(self.bytes()))
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({self})")
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Cursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::catalog::FieldType;
    use crate::filter::Order;

    fn cursor(catalog: &Catalog, order: &str, position: Position) -> Cursor {
        let keys = Order::parse_list(catalog, order).unwrap();
        let keys = keys.map(|order| order.keys_in(catalog).unwrap()).unwrap_or_default();
        Cursor::new(catalog, &keys, position).unwrap()
    }

    fn positions() -> Vec<(&'static str, Position)> {
        let sorted = |values: &[SortValue], id: &str| Position::Sorted {
            values: values.iter().cloned().collect(),
            id: id.into(),
        };
        vec![
            ("", Position::Inserted(u64::MAX)),
            ("id", sorted(&[SortValue::Text("a".into())], "a")),
            ("name", sorted(&[SortValue::Text("\0é😀".into())], "")),
            ("-createdAt,name", sorted(&[SortValue::Ordinal(-1), SortValue::Absent], "x")),
        ]
    }

    #[test]
    fn a_cursor_is_printed_as_it_is_parsed() {
        let cases = Catalog::cases();
        for (order, position) in positions() {
            let cursor = cursor(&cases, order, position);
            let text = cursor.to_string();
            assert_eq!(Cursor::parse(&text), Ok(cursor));
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{text}");
        }
    }

    #[test]
    fn an_altered_or_truncated_cursor_is_rejected() {
        let cases = Catalog::cases();
        for (order, position) in positions() {
            let text = cursor(&cases, order, position).to_string();
            for at in 0..text.len() {
                let error = Cursor::parse(&text[..at]).unwrap_err();
                assert_eq!((error.kind, &*error.path), (ErrorKind::BadCursor, "after"));
                for other in ["A", "B", "_", "=", " ", "é"] {
                    let altered = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                    assert!(altered == text || Cursor::parse(&altered).is_err(), "{altered}");
                }
            }
            assert!(Cursor::parse(&format!("{text}A")).is_err());
        }
        assert!(Cursor::parse(&"A".repeat(1 << 20)).is_err());
    }

    #[test]
    fn a_forged_cursor_with_a_right_checksum_is_rejected() {
        // These positions are incomplete, or contain wrong lengths.
        let bodies: [&[u8]; 8] = [
            &[],
            &[1, 255],
            &[1, 1, 4, 255, 255, 255, 255, 65, 0, 0, 0, 0],
            &[1, 1, 4, 0, 0, 0, 1, 0xff, 0, 0, 0, 0],
            &[0, 1],
            &[2, 0, 0, 0, 0, 0, 0, 0, 0],
            &[1, 1, 5, 0, 0, 0, 0],
            &[1, 1, 0, 0, 0, 0, 0, 9],
        ];
        for body in bodies {
            let body: Vec<u8> = [0; 8].iter().chain(body).copied().collect();
            let bytes: Vec<u8> =
                std::iter::once(VERSION).chain(checksum(&body)).chain(body.iter().copied()).collect();
            assert_eq!(
                Cursor::parse(&BASE64_URL_SAFE_NO_PAD.encode(&bytes)).unwrap_err().kind,
                ErrorKind::BadCursor
            );
        }
    }

    #[test]
    fn a_cursor_belongs_to_one_order_and_to_its_fields() {
        let cases = Catalog::cases();
        let keys = |catalog: &Catalog, order: &str| {
            let order = Order::parse_list(catalog, order).unwrap();
            order.map(|order| order.keys_in(catalog).unwrap()).unwrap_or_default()
        };
        let orders =
            ["", "id", "-id", "name", "-name", "name,id", "-createdAt,name", "-createdAt,-name", "updatedAt"];
        for (order, position) in positions() {
            let cursor = cursor(&cases, order, position);
            for other in orders {
                let checked = cursor.check(&cases, &keys(&cases, other));
                assert_eq!(checked.is_ok(), order == other, "{order}, {other}");
                assert!(checked.is_ok_and(|()| true) || order != other);
            }
        }
        let level = |known: &[&'static str]| {
            let field = Field::new("level", FieldType::String).with_known(known.iter().copied());
            Catalog::new([field]).unwrap()
        };
        let [one, other] = [level(&["low", "high"]), level(&["high", "low"])];
        let position = Position::Sorted { values: smallvec![SortValue::Text("low".into())], id: "a".into() };
        let cursor = cursor(&one, "level", position);
        assert!(cursor.check(&one, &keys(&one, "level")).is_ok());
        assert!(cursor.check(&other, &keys(&other, "level")).is_err());
    }

    #[test]
    fn a_cursor_that_is_too_long_is_an_error() {
        let cases = Catalog::cases();
        let keys = Order::parse(&cases, "name").unwrap().unwrap().keys_in(&cases).unwrap();
        let position = |len: usize| Position::Sorted {
            values: smallvec![SortValue::Text("x".repeat(len).into())],
            id: "a".into(),
        };
        assert!(Cursor::new(&cases, &keys, position(40_000)).is_ok());
        let error = Cursor::new(&cases, &keys, position(50_000)).unwrap_err();
        assert_eq!((error.kind, &*error.path), (ErrorKind::StringTooLong, "order"));
    }
}
