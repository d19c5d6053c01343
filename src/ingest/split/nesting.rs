//! Finding where a JSON value ends by its brackets and strings alone.

use crate::json::plain_len;

/// What is open where the next byte lies.
#[derive(Default)]
pub(super) struct Nesting {
    /// How many brackets.
    depth: usize,
    within: Within,
}

#[derive(Clone, Copy, Default)]
enum Within {
    #[default]
    Brackets,
    String,
    /// In a string, behind a backslash.
    Escape,
}

impl Nesting {
    /// The offset of the comma or bracket that ends the element which these bytes go on with.
    pub(super) fn end_of_element(&mut self, bytes: &[u8]) -> Option<usize> {
        self.scan(bytes, |depth, byte| *depth == 0 && matches!(byte, b']' | b','))
    }

    /// The offset of the bracket that closes the outermost one; for bytes that go on with an object or array.
    pub(super) fn end_of_value(&mut self, bytes: &[u8]) -> Option<usize> {
        self.scan(bytes, |depth, byte| *depth <= 1 && matches!(byte, b'}' | b']')).inspect(|_| self.depth = 0)
    }

    /// The offset of the bracket that closes the last of `open` objects, in which these bytes go on.
    pub(super) fn end_of_objects(&mut self, bytes: &[u8], open: &mut usize) -> Option<usize> {
        self.scan(bytes, |depth, byte| {
            if *depth == 0 && matches!(byte, b'}' | b']') {
                *open = open.saturating_sub(1);
            }
            *open == 0
        })
    }

    /// The offset of the first byte outside of strings that ends what is looked for, which `ends` tells by it and by the number
    /// of brackets that are open before it.
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
                        // A bracket that closes none is a fault of its own document, and must not take the next ones along.
                        b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                }
                Within::String => {
                    at = at.saturating_add(plain_len(bytes.get(at..).unwrap_or_default()));
                    match bytes.get(at)? {
                        // No string may span lines: one that has no end there ends with its line.
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
