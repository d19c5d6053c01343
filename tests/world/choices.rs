//! The source of the random choices from which a world is made: first the given bytes, then optionally a random generator.

/// A stream of choices. The bytes come first. After them, a seeded stream is random, and any other stream always chooses the
/// first option. So shorter inputs make simpler worlds.
pub(crate) struct Choices<'b> {
    bytes: &'b [u8],
    seed: Option<u64>,
}

impl<'b> Choices<'b> {
    /// Creates a stream from bytes only.
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, seed: None }
    }

    fn byte(&mut self) -> u8 {
        if let Some((first, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            return *first;
        }
        let Some(state) = &mut self.seed else { return 0 };
        // SplitMix64.
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as u8
    }

    /// Returns a number below `options`, which must not be 0.
    pub(crate) fn below(&mut self, options: usize) -> usize {
        let mut number = usize::from(self.byte());
        if options > 256 {
            number = (number << 8) | usize::from(self.byte());
        }
        if options > 65_536 {
            number = (number << 8) | usize::from(self.byte());
        }
        number % options
    }

    /// Returns true with the probability `times / of`, and false when the choices have run out.
    pub(crate) fn chance(&mut self, times: usize, of: usize) -> bool {
        self.below(of) >= of - times
    }

    /// Returns one of the options.
    pub(crate) fn pick<'o, T: ?Sized>(&mut self, options: &[&'o T]) -> &'o T {
        options[self.below(options.len())]
    }
}

impl Choices<'static> {
    /// Creates an endless stream, the same for the same seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { bytes: &[], seed: Some(seed) }
    }
}
