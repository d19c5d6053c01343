//! Splits lists of values that are too long for a dialect, and joins the tests of the parts. The files in `dialect/` write each
//! test.

use super::datum::Datum;
use super::statement::{OperandTest, Statement};

/// Writes one test for each list. Combines the tests by `AND` or `OR`, as `test` requires.
pub(super) fn write_lists(
    test: OperandTest,
    tested: &str,
    lists: Vec<Datum<'static>>,
    statement: &mut Statement,
) {
    let between = match test {
        OperandTest::NoMember | OperandTest::Includes | OperandTest::ContainsAll => " AND ",
        _ => " OR ",
    };
    let several = lists.len() > 1;
    if several {
        statement.push("(");
    }
    for (at, list) in lists.into_iter().enumerate() {
        if at > 0 {
            statement.push(between);
        }
        statement.push_test(test, tested, list);
    }
    if several {
        statement.push(")");
    }
}

/// Splits values of one type into lists. Each list has at most `most` values, and its estimated size is at most the dialect's
/// maximum number of bytes. A value with a greater estimated size has a list of its own.
pub(super) fn split(
    values: impl Iterator<Item = Datum<'static>>,
    most: usize,
    statement: &Statement,
) -> Vec<Datum<'static>> {
    let most_bytes = statement.syntax().list_bytes();
    let mut lists: Vec<Datum<'static>> = Vec::new();
    let mut bytes = 0_usize;
    for value in values {
        // At worst, every character is a quote or a backslash, which doubles the length. A number takes at most 24 bytes.
        let own = match &value {
            Datum::Text(text) => text.len().saturating_mul(2).saturating_add(4),
            _ => 28,
        };
        bytes = bytes.saturating_add(own);
        match lists.last_mut() {
            Some(last) if bytes <= most_bytes && last.len() < most => last.push(value),
            _ => {
                bytes = own;
                lists.push(value.into_list());
            }
        }
    }
    lists
}
