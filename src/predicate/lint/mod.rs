//! Collects the warnings on a filter: parts of it that are valid, but that the author may not have meant.
//!
//! This file finds values outside the known values, rounded numbers, criteria that are never true, and filters that select all or
//! no cases. It also calls the other files:
//!
//! | file | warns about |
//! |---|---|
//! | `values` | one string of a criterion |
//! | `branch` | several criteria on one field in one branch |
//! | `elements` | criteria on two members of an array of objects |
//!
//! The time of a check must be linear, because a criterion may have 65,536 values. Collecting stops at [`MOST_WARNINGS`] warnings.
//!
//! `warning` defines the kinds of warnings, including the kinds for the hints in `engine/hints.rs` and `store/members.rs`.

mod branch;
mod elements;
#[cfg(test)]
mod tests;
mod values;
mod warning;

pub use self::warning::{Warning, WarningKind};
use super::optimize::test;
use super::places::Places;
use super::tree::{Leaf, Node, NodeId, Rounded, Tree, Written};
use crate::catalog::{Catalog, Field};
use crate::error::{nearest, quote, quote_all};
use crate::operator::{Complex, Connective, Language, Pattern};
use crate::value::{Number, Operand};

/// The maximum number of warnings on one filter. Further warnings are dropped.
pub(crate) const MOST_WARNINGS: usize = 100;

/// Returns the warnings on a tree as written, in document order. `normal` is its normal form, `rounded` contains its rounded
/// numbers, and `language` is the language of the request.
pub(crate) fn lint(
    written: &Written<'_>,
    normal: &Tree<Leaf>,
    rounded: &[Rounded],
    catalog: &Catalog,
    language: Language,
) -> Vec<Warning> {
    let places = Places::new(written);
    let presence = match language {
        Language::Interface => None,
        Language::Extended => Some("$exists"),
        Language::Text => Some("is absent"),
    };
    let mut found: Vec<(NodeId, Warning)> = Vec::new();
    elements::separate(written, catalog, language, &mut |id, message| {
        if found.len() < MOST_WARNINGS {
            found.push((id, Warning { kind: WarningKind::SeparateElements, path: places.path(id), message }));
        }
    });
    for Rounded { node, value, written, number } in rounded.iter().take(MOST_WARNINGS) {
        let message = format!(
            "{} has more digits than a double holds, and is rounded to {}, like all numbers nearest to this double",
            quote(written),
            quote(&of_all_digits(*number))
        );
        let path = places.value_path(*node, *value);
        found.push((*node, Warning { kind: WarningKind::RoundedNumber, path, message }));
    }
    for (id, node) in written.nodes().iter().enumerate() {
        if found.len() >= MOST_WARNINGS {
            break;
        }
        match node {
            Node::Leaf(comparison) => {
                let field = catalog.field(comparison.field);
                let is_whole =
                    matches!(comparison.operator.shape().pattern, Pattern::Points | Pattern::Ray(_));
                let whole_values = if is_whole { comparison.values.as_slice() } else { &[] };
                for (at, value) in whole_values.iter().enumerate().take(MOST_WARNINGS) {
                    if let Some((kind, message)) = values::unusual(field, value.first(), presence) {
                        found.push((id, Warning { kind, path: places.value_path(id, at), message }));
                    }
                }
                // An order comparison may have any operand. If the field is a string field, the operand was already checked when it
                // was parsed.
                let tested = if comparison.operator.ray().is_some() { &[] } else { whole_values };
                unknown_values(field, tested, &mut |at, message| {
                    let path = places.value_path(id, at);
                    found.push((id, Warning { kind: WarningKind::UnknownValue, path, message }));
                });
                if !comparison.values.is_empty() && test(comparison, catalog) == Err(false) {
                    let name = quote(field.name());
                    let message = format!("never true: {name} cannot have such a value");
                    found.push((
                        id,
                        Warning { kind: WarningKind::AlwaysFalse, path: places.path(id), message },
                    ));
                }
            }
            Node::Branch(operator @ (Complex::Join(_) | Complex::Elem(_)), children)
                if places.is_criterion(id) =>
            {
                let connective = match operator {
                    Complex::Join(connective) => *connective,
                    _ => Connective::And,
                };
                branch::branch(connective, children, written, catalog, &mut |child, kind, message| {
                    let path = places.path(child.unwrap_or(id));
                    found.push((child.unwrap_or(id), Warning { kind, path, message }));
                });
            }
            _ => {}
        }
    }
    let whole = |kind, message: &str| Warning { kind, path: String::new(), message: message.to_owned() };
    match normal.get(normal.root()) {
        Some(Node::Constant(true)) => {
            found.push((0, whole(WarningKind::AlwaysTrue, "the filter selects every case")));
        }
        Some(Node::Constant(false)) => {
            found.push((0, whole(WarningKind::AlwaysFalse, "the filter selects no case")));
        }
        _ => {}
    }
    found.sort_by_key(|(id, warning)| (warning.path.is_empty(), places.ranks.get(*id).copied()));
    found.into_iter().map(|(_, warning)| warning).take(MOST_WARNINGS).collect()
}

/// Prints the value of a double. An integer below 10^30 is printed exactly. Any other number is printed with the fewest digits that
/// identify the double.
fn of_all_digits(number: Number) -> String {
    let number = number.get();
    let has_all = number.trunc().to_bits() == number.to_bits() && number.abs() < 1e30;
    if has_all { format!("{number:.0}") } else { format!("{number:?}") }
}

fn unknown_values(field: &Field, values: &[Operand<'_>], warn: &mut impl FnMut(usize, String)) {
    if field.known_values().len() == 0 {
        return;
    }
    for (at, value) in values.iter().enumerate().take(MOST_WARNINGS) {
        // A span of time is not one value.
        let Some(value) = value.value() else { continue };
        if !field.is_known(value) {
            let text = &value.to_string();
            let known = quote_all(field.known_values());
            let mut message =
                format!("{} is not among the known values of {}: {known}", quote(text), quote(field.name()));
            if let Some(near) = nearest(text, field.known_values()) {
                message.push_str(&format!("; did you mean {}?", quote(near)));
            }
            warn(at, message);
        }
    }
}
