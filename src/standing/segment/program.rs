//! The steps of a rule, encoded as words of 32 bits.
//!
//! ```text
//! head                the operation, flags, and the field
//! two offsets         only of a step with jumps: where to continue if the test holds, and if it does not
//! arguments           of the operation
//! ```
//!
//! Without jumps, the rule continues with the next step if the test holds, and is false otherwise. So a conjunction of tests has no
//! jumps. A rule whose steps have ended is true. Offsets are counted from the start of the rule and always lead forward.

use super::truths::Truths;

/// The offset of a jump that makes the rule false.
pub(super) const FALSE: u32 = u32::MAX;
/// The offset of a jump that makes the rule true. Every offset after the last step has this effect, except [`FALSE`].
pub(super) const TRUE: u32 = u32::MAX - 1;

/// The operation of a step, with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Operation {
    /// An atom holds. Argument: its id.
    Atom,
    /// At least one of several atoms holds. Arguments: their number, and their ids, ascending.
    Atoms,
    /// A value is in a range. Arguments: four words.
    Range,
    /// A value is in one of several ranges. Arguments: their number, and four words for each, ascending.
    Ranges,
    /// The field has a value. No arguments.
    Present,
    /// A test that the evaluator of documents evaluates. Argument: its index.
    Other,
}

impl Operation {
    const ALL: [Self; 6] = [Self::Atom, Self::Atoms, Self::Range, Self::Ranges, Self::Present, Self::Other];
    /// The number of words of a range.
    const RANGE: usize = 4;
}

const NEGATED: u32 = 1 << 8;
const JUMPS: u32 = 1 << 9;
const FIELD: u32 = 16;

/// One step, as read from the words of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'w> {
    pub(super) operation: Operation,
    /// The index of the field.
    pub(super) field: u16,
    pub(super) is_negated: bool,
    /// The offsets of the steps to continue with if the test holds, and if it does not.
    pub(super) jumps: Option<(u32, u32)>,
    /// The arguments. The word with their count is left out.
    pub(super) arguments: &'w [u32],
}

/// Reads the step at an offset of a rule. Returns it with the offset of the next step.
#[inline]
pub(super) fn read(words: &[u32], at: usize) -> Option<(Step<'_>, usize)> {
    let (head, mut rest) = words.get(at..)?.split_first()?;
    let before = rest.len();
    let mut jumps = None;
    if head & JUMPS != 0 {
        let ([if_true, if_false], after) = rest.split_first_chunk()?;
        (jumps, rest) = (Some((*if_true, *if_false)), after);
    }
    let operation = *Operation::ALL.get((head & 0xff) as usize)?;
    let len = match operation {
        Operation::Atom | Operation::Other => 1,
        Operation::Range => Operation::RANGE,
        Operation::Present => 0,
        Operation::Atoms | Operation::Ranges => {
            let (number, after) = rest.split_first()?;
            rest = after;
            let each = if operation == Operation::Ranges { Operation::RANGE } else { 1 };
            (*number as usize).saturating_mul(each)
        }
    };
    let (arguments, rest) = rest.split_at_checked(len)?;
    let next = at.saturating_add(1).saturating_add(before.saturating_sub(rest.len()));
    let field = (head >> FIELD) as u16;
    Some((Step { operation, field, is_negated: head & NEGATED != 0, jumps, arguments }, next))
}

/// Appends a step.
pub(super) fn write(step: &Step<'_>, words: &mut Vec<u32>) {
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    let flags = flag(step.is_negated, NEGATED) | flag(step.jumps.is_some(), JUMPS);
    words.push(u32::from(step.operation as u8) | flags | u32::from(step.field) << FIELD);
    if let Some((if_true, if_false)) = step.jumps {
        words.extend([if_true, if_false]);
    }
    let number = match step.operation {
        Operation::Atoms => step.arguments.len(),
        Operation::Ranges => step.arguments.len() / Operation::RANGE,
        _ => {
            words.extend_from_slice(step.arguments);
            return;
        }
    };
    words.push(super::count::count(number));
    words.extend_from_slice(step.arguments);
}

/// Returns the number of words of a step.
pub(super) fn len(step: &Step<'_>) -> usize {
    let number = usize::from(matches!(step.operation, Operation::Atoms | Operation::Ranges));
    let jumps = if step.jumps.is_some() { 2 } else { 0 };
    step.arguments.len().saturating_add(number).saturating_add(jumps).saturating_add(1)
}

/// Decodes the ranges in the arguments of a step. Returns the least and the greatest ordinal of each range.
pub(super) fn ranges(arguments: &[u32]) -> impl ExactSizeIterator<Item = (i64, i64)> {
    let (ranges, _) = arguments.as_chunks::<{ Operation::RANGE }>();
    ranges.iter().map(range)
}

#[inline]
fn range(words: &[u32; Operation::RANGE]) -> (i64, i64) {
    let [low, low_high, high, high_high] = *words;
    let join = |low: u32, high: u32| (u64::from(high) << 32 | u64::from(low)).cast_signed();
    (join(low, low_high), join(high, high_high))
}

/// Encodes a range.
pub(super) fn range_words((low, high): (i64, i64)) -> [u32; Operation::RANGE] {
    let split = |bound: i64| {
        let bound = bound.cast_unsigned();
        [bound as u32, (bound >> 32) as u32]
    };
    let ([low, low_high], [high, high_high]) = (split(low), split(high));
    [low, low_high, high, high_high]
}

/// A list of at most this number of atoms is searched linearly, a longer list by binary search.
const FEW: usize = 8;

fn has(sorted: &[u32], atom: u32) -> bool {
    if sorted.len() <= FEW { sorted.contains(&atom) } else { sorted.binary_search(&atom).is_ok() }
}

/// Evaluates a rule. `other` evaluates a test by its index.
#[inline]
pub(super) fn holds(words: &[u32], truths: &Truths, mut other: impl FnMut(u32) -> bool) -> bool {
    let mut at = 0;
    while let Some((step, next)) = read(words, at) {
        let field = usize::from(step.field);
        let holds = match step.operation {
            Operation::Atom => step.arguments.first().is_some_and(|atom| has(truths.atoms(field), *atom)),
            Operation::Atoms => truths.atoms(field).iter().any(|atom| has(step.arguments, *atom)),
            Operation::Range => match step.arguments.first_chunk() {
                Some(words) => {
                    let (low, high) = range(words);
                    truths.ordinals(field).iter().any(|ordinal| low <= *ordinal && *ordinal <= high)
                }
                None => false,
            },
            Operation::Ranges => {
                let (ranges, _) = step.arguments.as_chunks();
                truths.ordinals(field).iter().any(|ordinal| {
                    let before = ranges.partition_point(|words| range(words).1 < *ordinal);
                    ranges.get(before).is_some_and(|words| range(words).0 <= *ordinal)
                })
            }
            Operation::Present => truths.is_present(field),
            Operation::Other => step.arguments.first().is_some_and(|index| other(*index)),
        };
        at = match (holds != step.is_negated, step.jumps) {
            (true, None) => next,
            (false, None) | (false, Some((_, FALSE))) => return false,
            (true, Some((if_true, _))) => if_true as usize,
            (false, Some((_, if_false))) => if_false as usize,
        };
        if at == FALSE as usize {
            return false;
        }
    }
    true
}
