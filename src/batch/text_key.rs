//! Keys of strings. Short strings are compared by their keys, without reading the strings.

/// The first eight bytes, the last eight bytes and the length of a string.
///
/// Strings with different keys are different. Strings of at most [`WHOLE_BYTES`](Self::WHOLE_BYTES) bytes with equal keys are
/// equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextKey {
    first: u64,
    last: u64,
    len: u32,
}

impl TextKey {
    /// The maximum length in bytes of a string that is completely contained in its key.
    pub(crate) const WHOLE_BYTES: usize = 16;

    /// Returns the key of a string. The string must be shorter than 4 GiB.
    #[inline]
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (first, last) = match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            // At most seven bytes.
            _ => (bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
        };
        Self { first, last, len: u32::try_from(text.len()).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_strings_have_equal_keys_exactly_if_they_are_equal() {
        let texts: Vec<String> =
            ["", "\0", "\0\0", "a", "a\0", "\0a", "ab", "ba", "client-0001", "client-0010"]
                .into_iter()
                .map(str::to_owned)
                .chain((0..=17).map(|len| "x".repeat(len)))
                .chain((0..16).map(|at| format!("{}y{}", "x".repeat(at), "x".repeat(15 - at))))
                .collect();
        for (at, text) in texts.iter().enumerate() {
            for (other_at, other) in texts.iter().enumerate() {
                let is_same = TextKey::of(text) == TextKey::of(other);
                assert_eq!(is_same, text == other, "{at} {text:?}, {other_at} {other:?}");
            }
        }
    }
}
