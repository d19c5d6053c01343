//! Finds the end of a JSON value by looking only at brackets and strings.

use crate::json::plain_len;

/// The state of the bracket scanner: the nesting depth, and whether the next byte is inside a string.
#[derive(Default)]
pub(super) struct Nesting {
    /// The number of open brackets.
    depth: usize,
    within: Within,
}

#[derive(Clone, Copy, Default)]
enum Within {
    #[default]
    Brackets,
    String,
    /// In a string, after a backslash.
    Escape,
}

impl Nesting {
    /// Returns the offset of the comma or closing bracket that ends the current element of an array.
    pub(super) fn end_of_element(&mut self, bytes: &[u8]) -> Option<usize> {
        self.scan(bytes, |depth, byte| *depth == 0 && matches!(byte, b']' | b','))
    }

    /// Returns the offset of the bracket that closes the current object or array. `bytes` starts at its opening bracket or inside
    /// it.
    pub(super) fn end_of_value(&mut self, bytes: &[u8]) -> Option<usize> {
        self.scan(bytes, |depth, byte| *depth <= 1 && matches!(byte, b'}' | b']')).inspect(|_| self.depth = 0)
    }

    /// Returns the offset of the bracket that closes the outermost of several nested objects. `bytes` starts inside the innermost
    /// object. `open` is the number of these objects that have not been closed yet.
    pub(super) fn end_of_objects(&mut self, bytes: &[u8], open: &mut usize) -> Option<usize> {
        self.scan(bytes, |depth, byte| {
            if *depth == 0 && matches!(byte, b'}' | b']') {
                *open = open.saturating_sub(1);
            }
            *open == 0
        })
    }

    /// Calls `ends` for each closing bracket and each comma outside strings. Returns the offset of the first byte for which `ends`
    /// returns true. The arguments of `ends` are the number of brackets that are open before the byte, and the byte.
    fn scan(&mut self, bytes: &[u8], mut ends: impl FnMut(&usize, u8) -> bool) -> Option<usize> {
        let mut at = 0_usize;
        loop {
            match self.within {
                Within::Brackets => {
                    let byte = *bytes.get(at)?;
                    match byte {
                        b'"' => self.within = Within::String,
                        b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                        b'}' | b']' | b',' if ends(&self.depth, byte) => return Some(at),
                        // An extra closing bracket is a fault of its own document, and must not affect later documents.
                        b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                }
                Within::String => {
                    at = at.saturating_add(plain_len(bytes.get(at..).unwrap_or_default()));
                    match bytes.get(at)? {
                        // A JSON string cannot contain a line end, so a string without a closing quote ends at the end of its line.
                        b'"' | b'\n' => self.within = Within::Brackets,
                        b'\\' => self.within = Within::Escape,
                        _ => {}
                    }
                }
                Within::Escape => {
                    bytes.get(at)?;
                    self.within = Within::String;
                }
            }
            at = at.saturating_add(1);
        }
    }
}
