//! Writes tests of a text against a pattern: prefixes, substrings and words.

use std::collections::BTreeMap;

use super::datum::Datum;
use super::lists::split;
use super::statement::{OperandTest, Statement};
use crate::predicate::TextPattern;

/// The maximum number of values with a separate SQL condition for each value. Up to this number, the conditions can use an index of
/// the database. Above it, one condition takes a whole list of values, because the database evaluates a condition with a list
/// faster.
const FEW: usize = 8;

/// The tests that match one text against a pattern.
pub(super) struct PatternTests {
    /// Each test, with the part of the text that it reads, and its operand.
    tests: Vec<(OperandTest, Tested, Datum<'static>)>,
    /// The connective between the tests: ` AND ` or ` OR `.
    between: &'static str,
}

/// The part of a text that a test reads.
enum Tested {
    All,
    /// The first part of the text. Its length is in the unit of `Syntax::length`.
    First(usize),
}

impl PatternTests {
    /// Returns the tests of a pattern. Returns `None` if the column can store no string that matches.
    ///
    /// The pattern must not be [`TextPattern::Every`].
    pub(super) fn new(pattern: &TextPattern, statement: &Statement) -> Option<Self> {
        let syntax = statement.syntax();
        let mut values: Vec<&str> = pattern.values().iter().map(|value| &**value).collect();
        let all = values.len();
        values.retain(|value| syntax.can_hold(value));
        let is_all = pattern.has_words();
        if values.is_empty() || (is_all && values.len() < all) {
            return None;
        }
        let few = values.len() <= FEW;
        let whole = |test, operand| (test, Tested::All, operand);
        let substrings = || values.iter().map(|value| Datum::Text(syntax.substring(value).into()));
        let lists = || split(substrings(), syntax.most_substrings(), statement).into_iter();
        let tests = match pattern {
            TextPattern::Prefixes(_) if few => {
                let prefixes = values.iter().map(|prefix| Datum::Text((*prefix).to_owned().into()));
                prefixes.map(|prefix| whole(OperandTest::StartsWith, prefix)).collect()
            }
            TextPattern::Prefixes(_) => by_length(&values, statement),
            TextPattern::Substrings(_) | TextPattern::Words(_) if few => {
                substrings().map(|substring| whole(OperandTest::Contains, substring)).collect()
            }
            TextPattern::Substrings(_) => lists().map(|list| whole(OperandTest::ContainsAny, list)).collect(),
            TextPattern::Words(_) => lists().map(|list| whole(OperandTest::ContainsAll, list)).collect(),
            // Not reached: this pattern has no values.
            TextPattern::Every => return None,
        };
        Some(Self { tests, between: if is_all { " AND " } else { " OR " } })
    }

    /// Returns the length of the longest list of prefixes that is tested by `IN`.
    pub(super) fn longest(&self) -> usize {
        let members = self.tests.iter().filter(|(test, ..)| *test == OperandTest::Member);
        members.map(|(.., list)| list.len()).max().unwrap_or(0)
    }

    /// Writes the tests of `text`, which is an SQL expression. The condition is null only if the value of `text` is null.
    pub(super) fn write(self, text: &str, in_parentheses: bool, statement: &mut Statement) {
        let has_parentheses = in_parentheses && self.tests.len() > 1;
        if has_parentheses {
            statement.push("(");
        }
        for (at, (test, tested, operand)) in self.tests.into_iter().enumerate() {
            if at > 0 {
                statement.push(self.between);
            }
            match tested {
                Tested::All => statement.push_test(test, text, operand),
                Tested::First(length) => {
                    let first = statement.syntax().first(text, length);
                    statement.push_test(test, &first, operand);
                }
            }
        }
        if has_parentheses {
            statement.push(")");
        }
    }
}

/// Returns a list of tests. At least one of them is true if and only if the text starts with one of the prefixes. For each length
/// of prefixes, a test looks up the first characters of the text in a list. A long list is split into several tests.
///
/// The database looks these characters up in a hash table, instead of comparing every text with every prefix.
fn by_length(prefixes: &[&str], statement: &Statement) -> Vec<(OperandTest, Tested, Datum<'static>)> {
    let mut lengths: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for prefix in prefixes {
        lengths.entry(statement.syntax().length(prefix)).or_default().push(prefix);
    }
    let mut tests = Vec::new();
    for (length, prefixes) in lengths {
        let texts = prefixes.into_iter().map(|prefix| Datum::Text(prefix.to_owned().into()));
        let lists = split(texts, usize::MAX, statement);
        tests.extend(lists.into_iter().map(|list| (OperandTest::Member, Tested::First(length), list)));
    }
    tests
}
