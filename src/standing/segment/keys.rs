//! Chooses the keys of each rule. The keys are the tests by which the rule is found, the most selective test first.
//!
//! The chance that a case has a value is estimated from the rules themselves: a value that few rules contain is probably a value
//! that few cases have. A range is estimated by the share of all bounds that it contains.

use std::collections::BTreeMap;

use super::program::{self, Operation, Step};

/// The factor by which the share of a range is multiplied before the comparison with the shares of atoms. A range is less useful
/// than an atom: no key of the rule can follow it in the tree, and a search of ranges takes longer.
const RANGE_COST: f64 = 4.0;

/// A test that holds for a greater share of cases than this is a key only if it is the first key of its rule.
const MOST_SHARE: f64 = 0.5;

/// The number that is added to the divisor of each share. Without it, the share of a test would be 1 if no other rule tests its
/// field, as if the test held for every case.
const UNSEEN: f64 = 8.0;

/// The maximum number of bounds that are kept for the estimates of each field.
const MOST_BOUNDS: usize = 4096;

/// The first key of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The rule has no key: it is evaluated for every case.
    None,
    /// The first of the `atoms` of the rule.
    Atom,
    /// Each of the atoms of the step at this offset.
    Atoms(u32),
    /// Each of the ranges of the step at this offset.
    Ranges(u32),
}

/// The keys of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleKeys {
    pub(super) first: First,
    /// The start and the end of the keys of the rule that are single atoms, in [`Keys::atoms`]. The most selective atom is first.
    pub(super) atoms: (u32, u32),
    /// The offset of the step with the range that comes after all atoms, if any.
    pub(super) range: Option<u32>,
}

/// The keys of all rules of a segment.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) rules: Vec<RuleKeys>,
    pub(super) atoms: Vec<u32>,
}

/// Returns steps that must hold for the rule to hold, with their offsets. Leaves out negated steps, and all steps from the first
/// jump on.
fn necessary(words: &[u32]) -> impl Iterator<Item = (u32, Step<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (step, next) = program::read(words, at).filter(|(step, _)| step.jumps.is_none())?;
        let own = super::count::count(at);
        at = next;
        Some((own, step))
    })
    .filter(|(_, step)| !step.is_negated)
}

/// The numbers from which shares are estimated.
#[derive(Default)]
struct Shares {
    /// By the id of an atom: the number of rules with the atom.
    atoms: Vec<f64>,
    /// By field: the sum of the numbers in `atoms` for the atoms of the field.
    fields: BTreeMap<u16, f64>,
    /// By field: bounds of ranges, ascending.
    bounds: BTreeMap<u16, Vec<i64>>,
}

impl Shares {
    fn new<'w>(rules: impl Iterator<Item = &'w [u32]>, atoms: usize) -> Self {
        let mut own = Self { atoms: vec![0.0; atoms], ..Self::default() };
        for words in rules {
            for (_, step) in necessary(words) {
                match step.operation {
                    Operation::Atom | Operation::Atoms => {
                        for atom in step.arguments {
                            if let Some(count) = own.atoms.get_mut(*atom as usize) {
                                *count += 1.0;
                            }
                        }
                        *own.fields.entry(step.field).or_default() += step.arguments.len() as f64;
                    }
                    Operation::Range | Operation::Ranges => {
                        let bounds = own.bounds.entry(step.field).or_default();
                        bounds.extend(program::ranges(step.arguments).flat_map(|(low, high)| [low, high]));
                    }
                    Operation::Present | Operation::Other => {}
                }
            }
        }
        for bounds in own.bounds.values_mut() {
            let step = bounds.len().div_ceil(MOST_BOUNDS).max(1) | 1;
            *bounds = bounds.iter().copied().step_by(step).collect();
            bounds.sort_unstable();
        }
        own
    }

    /// Estimates the share of cases for which a step holds. Returns `None` for a step that cannot be a key.
    fn share(&self, step: &Step<'_>) -> Option<f64> {
        match step.operation {
            Operation::Atom | Operation::Atoms => {
                let all = self.fields.get(&step.field).copied().unwrap_or_default() + UNSEEN;
                let own = step.arguments.iter().filter_map(|atom| self.atoms.get(*atom as usize));
                Some(own.sum::<f64>() / all)
            }
            Operation::Range | Operation::Ranges => {
                let bounds = self.bounds.get(&step.field)?;
                let within = |(low, high): (i64, i64)| {
                    let from = bounds.partition_point(|bound| *bound < low);
                    bounds.partition_point(|bound| *bound <= high).saturating_sub(from) as f64
                };
                let own: f64 = program::ranges(step.arguments).map(within).sum();
                Some((own + 1.0) / (bounds.len() as f64 + UNSEEN))
            }
            Operation::Present | Operation::Other => None,
        }
    }
}

impl Keys {
    /// Chooses the keys of all rules. `atoms` is the number of atoms of the segment.
    pub(super) fn of<'w>(rules: impl Iterator<Item = &'w [u32]> + Clone, atoms: usize) -> Self {
        let shares = Shares::new(rules.clone(), atoms);
        let mut keys = Self::default();
        let mut singles: Vec<(f64, u32)> = Vec::new();
        for words in rules {
            singles.clear();
            // The best step with several atoms, and the best step with ranges.
            let mut several: Option<(f64, u32)> = None;
            let mut ranges: Option<(f64, u32, bool)> = None;
            for (offset, step) in necessary(words) {
                let Some(share) = shares.share(&step) else { continue };
                match (step.operation, step.arguments) {
                    (Operation::Atom, [atom]) => singles.push((share, *atom)),
                    (Operation::Atoms, _) if several.is_none_or(|(least, _)| share < least) => {
                        several = Some((share, offset));
                    }
                    (Operation::Range | Operation::Ranges, _)
                        if ranges.is_none_or(|(least, ..)| share < least) =>
                    {
                        ranges = Some((share, offset, step.operation == Operation::Range));
                    }
                    _ => {}
                }
            }
            singles.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            singles.dedup_by_key(|(_, atom)| *atom);
            let single = singles.first().map(|(share, _)| (*share, First::Atom));
            let several = several.map(|(share, offset)| (share, First::Atoms(offset)));
            let range = ranges.map(|(share, offset, _)| (share * RANGE_COST, First::Ranges(offset)));
            let best = [single, several, range].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
            let first = best.map_or(First::None, |(_, first)| first);
            // If the first key is a range, no edge of the tree follows it, so the rule needs no atoms.
            let wanted = |place: usize, share: f64| match first {
                First::Atom => place == 0 || share <= MOST_SHARE,
                First::Atoms(_) => share <= MOST_SHARE,
                First::None | First::Ranges(_) => false,
            };
            let start = super::count::count(keys.atoms.len());
            let own = singles.iter().enumerate().filter(|(place, (share, _))| wanted(*place, *share));
            keys.atoms.extend(own.map(|(_, (_, atom))| *atom));
            let atoms = (start, super::count::count(keys.atoms.len()));
            let is_last = |(share, _, is_one): &(f64, u32, bool)| {
                *is_one && *share <= MOST_SHARE && matches!(first, First::Atom | First::Atoms(_))
            };
            let range = ranges.filter(is_last).map(|(_, offset, _)| offset);
            keys.rules.push(RuleKeys { first, atoms, range });
        }
        keys
    }
}
