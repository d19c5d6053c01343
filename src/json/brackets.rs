//! A stack of the objects and arrays that are open at a position of a JSON text. Uses one bit of memory for each of them.

/// A stack of the open brackets around a position. Each open bracket is one bit: 1 for `{` and 0 for `[`.
#[derive(Default)]
pub(super) struct Brackets {
    words: Vec<u64>,
    pub(super) depth: usize,
}

impl Brackets {
    pub(super) fn push(&mut self, object: bool) {
        let bit = 1_u64 << (self.depth % 64);
        if self.depth.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word = if object { *word | bit } else { *word & !bit };
        }
        self.depth = self.depth.saturating_add(1);
    }

    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.words.pop();
        }
    }

    /// Returns true if the innermost open bracket is `{`, false if it is `[`, and `None` if no bracket is open.
    pub(super) fn top(&self) -> Option<bool> {
        let last = self.depth.checked_sub(1)?;
        self.words.last().map(|word| word >> (last % 64) & 1 == 1)
    }
}
