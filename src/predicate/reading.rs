//! Parses the operands of ordered types (numbers, integers, decimals and timestamps) by the rules of the request's language.

use crate::operator::{Grammar, Language};
use crate::value::{Clock, OrderedType, OrdinalRange, parse_printed};

/// The language of a request, and the clock for its relative times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) language: Language,
    /// The operators that the request was allowed to use.
    pub(crate) grammar: Grammar,
    pub(crate) clock: Clock,
}

impl Reading {
    /// Parses an operand of an ordered type. Returns its smallest and its greatest ordinal, which differ only for spans of time.
    ///
    /// The text syntax has more forms of times than JSON bodies. Extended JSON bodies also accept the two forms of times that only
    /// printed bodies contain: an instant with a fraction of a second, and an interval.
    #[inline]
    pub(super) fn range(self, kind: OrderedType, text: &str) -> Option<OrdinalRange> {
        let point = || kind.parse(text).map(|ordinal| (ordinal, ordinal));
        if kind != OrderedType::Timestamp {
            return point();
        }
        let moment = match self.language {
            Language::Interface => return point(),
            Language::Extended => match point() {
                Some(point) => return Some(point),
                None => parse_printed(text),
            },
            Language::Text => self.clock.parse(text).ok(),
        };
        moment.map(|(first, last)| (first.as_millis(), last.as_millis()))
    }
}
