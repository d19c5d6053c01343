//! URL-safe base64 without padding (RFC 4648, section 5). Only the shortest text of given bytes is accepted.

/// The character of each value of six bits.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the length of the text of a number of bytes.
pub(super) const fn encoded_len(bytes: usize) -> usize {
    bytes.saturating_mul(4).div_ceil(3)
}

/// Encodes bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(encoded_len(bytes.len()).saturating_add(3));
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for shift in [18, 12, 6, 0].into_iter().take(group.len().saturating_add(1)) {
            let six = usize::try_from(word >> shift & 63).unwrap_or(0);
            text.push(ALPHABET.get(six).copied().map_or('A', char::from));
        }
    }
    text
}

/// Decodes a text. Returns `None` if it is not the text of any bytes.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    for group in text.as_bytes().chunks(4) {
        let mut word: u32 = 0;
        for at in 0..4 {
            word = word << 6 | group.get(at).map_or(Some(0), |character| six_bits(*character))?;
        }
        let [_, decoded @ ..] = word.to_be_bytes();
        // A group of n characters has n - 1 bytes. The bits behind them are zero.
        let len = group.len().checked_sub(1).filter(|len| *len > 0)?;
        let (own, rest) = decoded.split_at_checked(len)?;
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend(own);
    }
    Some(bytes)
}

fn six_bits(character: u8) -> Option<u32> {
    let value = match character {
        b'A'..=b'Z' => character.wrapping_sub(b'A'),
        b'a'..=b'z' => character.wrapping_sub(b'a').wrapping_add(26),
        b'0'..=b'9' => character.wrapping_sub(b'0').wrapping_add(52),
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decoded_as_they_were_encoded() {
        for (bytes, text) in [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        for len in 0..all.len() {
            let text = encode(&all[..len]);
            assert_eq!(text.len(), encoded_len(len));
            assert_eq!(decode(&text).as_deref(), Some(&all[..len]));
        }
        for text in ["Z", "Zh", "Zm9", "Zg==", "Zm+v", "Zm/v", "Zm9vY", "Zm 9v", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
