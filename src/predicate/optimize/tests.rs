//! Tests of each rule of the optimiser, and of laws on random trees.

mod bodies;
mod laws;

use crate::catalog::{Catalog, Field, FieldType};
use crate::filter::{Filter, FilterBuilder};

fn catalog() -> Catalog {
    Catalog::new([
        Field::new("s", FieldType::String),
        Field::new("r", FieldType::String),
        Field::new("n", FieldType::Number),
        Field::new("t", FieldType::Timestamp),
        Field::new("b", FieldType::Boolean),
        Field::new("ss[]", FieldType::String),
        Field::new("ns[]", FieldType::Number),
    ])
    .unwrap()
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    let catalog = catalog();
    let filter = Filter::compile_text(&catalog, before).unwrap();
    assert_eq!(filter.to_text(), after, "{before}");
    assert_eq!(Filter::compile_text(&catalog, after), Ok(filter), "{before}");
}

#[test]
fn nested_branches_of_one_sort_become_one() {
    becomes("(s = a and (n = 1 and (b = true)))", "s = a and n = 1 and b = true");
    becomes("(s = a or (n = 1 or (b = true)))", "s = a or n = 1 or b = true");
    becomes("(s = a or (r = x and (n = 1 and b = true)))", "s = a or r = x and n = 1 and b = true");
}

#[test]
fn constants_vanish_or_decide() {
    const NEVER: &str = "s all (a, b)";
    const ALWAYS: &str = "(s = a or s <> a)";
    becomes(&format!("n = 1 or {NEVER}"), "n = 1");
    becomes(&format!("n = 1 and {NEVER}"), "false");
    becomes(&format!("n = 1 and {ALWAYS}"), "n = 1");
    becomes(&format!("n = 1 or {ALWAYS}"), "true");
    becomes(NEVER, "false");
    becomes("n > 1.7976931348623157e308", "false");
    becomes("n < -1.7976931348623157e308", "false");
}

#[test]
fn repetitions_vanish() {
    becomes("s = a and s = a", "s = a");
    becomes("s in (b, a, b)", "s in (a, b)");
    becomes("s in (a, a)", "s = a");
    becomes("ss all (a, a)", "ss = a");
    becomes("(s = a or n = 1) and (n = 1 or s = a)", "s = a or n = 1");
    becomes("(s = a and n = 1) or (n = 1 and s = a)", "s = a and n = 1");
}

#[test]
fn equalities_become_sets() {
    becomes("s = c or s in (a, b)", "s in (a, b, c)");
    becomes("s in (a, b, c) and s in (b, c, d)", "s in (b, c)");
    becomes("s in (a, b) and s <> a", "s = b");
    becomes("s <> a and s <> b", "s <> a and s <> b");
    becomes("(s <> a and s <> b) or (s <> b and s <> c)", "s <> b");
    becomes("s <> a or s = a or n = 1", "true");
    becomes("s <> a or s = b", "s <> a");
    becomes("(s <> a and s <> b) or s = b", "s <> a");
    becomes("b = true or b = false", "b is present");
}

#[test]
fn bounds_become_ranges() {
    becomes("n >= 1 and n <= 5 and n >= 2", "n >= 2 and n <= 5");
    becomes("n > 1 or n > 2", "n > 1");
    becomes("n >= 1 and n <= 1", "n = 1");
    becomes("n > 1 and n < 1.0000000000000004", "n = 1.0000000000000002");
    becomes("n in (1, 2, 3) and n > 1", "n in (2, 3)");
    becomes("(n >= 1 and n <= 2) or (n >= 2 and n <= 3)", "n >= 1 and n <= 3");
    becomes("n < 1 or n = 1", "n <= 1");
    // Every number except 1. The printed filter does not nest deeper than the input.
    becomes("n < 1 or n > 1", "n >= -1.7976931348623157e308 and n <> 1");
    becomes("n >= 1 and n <> 2", "n >= 1 and n <> 2");
    becomes("n <= 1 or n >= 1", "n is present");
    becomes("t <= \"2024-01-01 00:00:00\" or t >= \"2023-01-01 00:00:00\"", "t is present");
    becomes(
        "t > \"2024-01-01 00:00:00\" and t < \"2024-01-01 00:00:02\" and t <> \"2024-01-01 00:00:01\"",
        "t > \"2024-01-01 00:00:00\" and t < \"2024-01-01 00:00:02\" and t <> \"2024-01-01 00:00:01\"",
    );
}

#[test]
fn contradictions_and_tautologies_are_found() {
    becomes("s = a and s = b", "false");
    becomes("s = a and s <> a", "false");
    becomes("n > 2 and n < 1", "false");
    becomes("ss = a and ss <> a", "false");
    becomes("ss all (a, b) and ss <> b", "false");
    becomes("ss in (a, b) and ss <> a and ss <> b", "false");
    becomes("s <> a or s <> b", "true");
    becomes("ss <> a or ss in (a, b)", "true");
    // `n <> 3` alone would also select cases without a value. The bound `n >= …` excludes these cases.
    becomes("(n <= 1 or n >= 1) and n <> 3", "n >= -1.7976931348623157e308 and n <> 3");
}

#[test]
fn many_valued_tests_merge_only_if_the_result_is_equivalent() {
    becomes("ss = a and ss = b", "ss all (a, b)");
    becomes("ss all (a, b) and ss = c", "ss all (a, b, c)");
    becomes("ss = a or ss = b", "ss in (a, b)");
    becomes("ss in (a, b) and ss = a", "ss = a");
    becomes("ss in (a, b) and ss in (a, b, c)", "ss in (a, b)");
    becomes("ss in (a, b) and ss in (b, c)", "ss in (a, b) and ss in (b, c)");
    becomes("ss in (a, b) and ss <> a", "ss = b and ss <> a");
    becomes("ss <> a or ss <> b", "ss <> a or ss <> b");
    becomes("ss all (a, b) or ss = a", "ss = a");
    becomes("ss all (a, b) or ss all (a, b, c)", "ss all (a, b)");
    becomes("ns > 5 and ns < 1", "ns < 1 and ns > 5");
    becomes("ns > 5 or ns < 1", "ns < 1 or ns > 5");
    becomes("ns > 5 and ns > 6", "ns > 6");
    becomes("ns > 5 and ns = 7", "ns = 7");
    // Each of the two sets is within the other set.
    becomes("(ns = 5 or ns > 5) and ns >= 5", "ns >= 5");
    becomes("(ns <> 0 or ns = 7) and (ns = 5 or ns > 5) and ns >= 5", "ns >= 5 and (ns = 7 or ns <> 0)");
}

#[test]
fn branches_are_absorbed() {
    becomes("s = a and (s = a or n = 1)", "s = a");
    becomes("s = a or (s = a and n = 1)", "s = a");
    // A test implies another test.
    becomes("s = a and (s in (a, b) or n = 1)", "s = a");
    becomes("n > 5 and (n > 3 or s = a)", "n > 5");
    becomes("n > 3 or (n > 5 and s = a)", "n > 3");
    becomes("ss all (a, b) and (ss in (b, c) or n = 1)", "ss all (a, b)");
    becomes("(s <> a and s <> b) and (s <> a or n = 1)", "s <> a and s <> b");
    // A branch has only some of the children of another branch.
    becomes("n = 7 and (s = a or r = x) and (s = a or r = x or b = true)", "n = 7 and (s = a or r = x)");
    becomes("n = 7 or s = a and r = x or s = a and r = x and b = true", "n = 7 or s = a and r = x");
}

#[test]
fn shared_children_are_factored_out() {
    becomes("(s = a and n = 1) or (s = a and b = true)", "s = a and (n = 1 or b = true)");
    becomes("(s = a or n = 1) and (s = a or b = true)", "s = a or n = 1 and b = true");
    becomes("(s = a and n = 1) or (s = a and n = 2)", "s = a and n in (1, 2)");
    becomes("(s = a and n = 1) or (s = a and n = 1 and b = true)", "s = a and n = 1");
    becomes(
        "(s = a and r = x and n = 1) or (s = a and r = x and b = true) or (s = a and r = x and ss = y)",
        "s = a and r = x and (n = 1 or b = true or ss = y)",
    );
    // No child is in all branches: no factoring.
    becomes(
        "(s = a and n = 1) or (s = a and b = true) or (n = 1 and b = true)",
        "s = a and n = 1 or s = a and b = true or n = 1 and b = true",
    );
}

/// Tests the known worst case of depth; see `Filter::to_json`.
#[test]
fn a_normal_form_nests_at_most_three_levels_deeper() {
    let catalog = catalog();
    let text = "(s = a or b = true or (r = x and (n < 3 or n > 5) and (n < 10 or n > 15))) and (s = a or r = z or b = false)";
    let filter = Filter::compile_text(&catalog, text).unwrap();
    let compile = |depth: usize, body: &str| {
        FilterBuilder::new(&catalog)
            .with_limits(crate::Limits { depth, ..crate::Limits::default() })
            .json(body.as_bytes())
    };
    assert!(
        FilterBuilder::new(&catalog)
            .with_limits(crate::Limits { depth: 4, ..crate::Limits::default() })
            .text(text)
            .is_ok()
    );
    assert!(compile(6, &filter.to_json()).is_err());
    assert_eq!(compile(7, &filter.to_json()), Ok(filter));
}

#[test]
fn nothing_is_distributed() {
    let text = (1..=20).map(|i| format!("(s = a{i} or n = {i})")).collect::<Vec<_>>().join(" and ");
    let filter = Filter::compile_text(&catalog(), &text).unwrap();
    assert_eq!(filter.size(), 61);
}

#[test]
fn equal_subtrees_are_one_node() {
    let text = "(b = true and (s = a or n = 1)) or (r = x and (s = a or n = 1))";
    let filter = Filter::compile_text(&catalog(), text).unwrap();
    // The factored form is (s = a or n = 1) and (r = x or b = true).
    assert_eq!(filter.plan(), "all of\n  any of\n    s = a\n    n = 1\n  any of\n    r = x\n    b = true\n");
    let text = format!("{text} or t = \"2024-01-01 00:00:00\"");
    let filter = Filter::compile_text(&catalog(), &text).unwrap();
    // Nine nodes: five tests, one shared disjunction, two conjunctions, and the root.
    assert_eq!(filter.size(), 9);
}

/// Returns filters of this depth in which the rules apply on every level.
fn towers(levels: usize) -> Vec<String> {
    let mut shared = "s = z".to_owned();
    let mut plain = "s = z".to_owned();
    let mut mixed = "s = z".to_owned();
    for level in 0..levels {
        let (outer, inner) = if level % 2 == 0 { ("and", "or") } else { ("or", "and") };
        shared = format!("((r = a{level} {inner} {shared}) {outer} (r = a{level} {inner} n = {level}))");
        plain = format!("(r = a{level} {outer} {plain})");
        mixed = format!("(s = a{level} {inner} (ss = a{level} {outer} (n > {level} {outer} {mixed})))");
    }
    vec![shared, plain, mixed]
}

#[test]
fn depth_costs_little_stack() {
    let work = || {
        let catalog = catalog();
        // The first limit is the default. The second limit stands for a host that sets no limit.
        for (levels, depth) in [(10, 32), (600, usize::MAX)] {
            let limits = crate::Limits { depth, ..crate::Limits::default() };
            for text in towers(levels) {
                let filter = FilterBuilder::new(&catalog).with_limits(limits.clone()).text(&text).unwrap();
                assert!(!filter.to_json().is_empty() && !filter.plan().is_empty());
                assert!(!filter.warnings().is_empty() || filter.clone().unoptimized().size() > 1);
            }
        }
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn equal_tests_of_a_field_that_is_never_absent_have_one_form() {
    use crate::catalog::{Catalog, Field, FieldType};
    let catalog = Catalog::new([
        Field::new("level", FieldType::Integer).with_default("1"),
        Field::new("other", FieldType::Integer),
    ]);
    let catalog = catalog.unwrap().extended();
    for (text, normal) in [
        ("level < 2 or level > 2", "level <> 2"),
        ("level < 2 or other = 1 or level > 2", "level <> 2 or other = 1"),
        ("level < 5 and level > 2", "level >= 3 and level <= 4"),
        ("not (level < 2 or level > 2)", "level = 2"),
        ("level >= -9223372036854775808 and level <> 2", "level <> 2"),
        ("level < 2 or level >= 2", "true"),
        ("other < 2 or other > 2", "other >= -9223372036854775808 and other <> 2"),
    ] {
        let filter = Filter::compile_text(&catalog, text).unwrap();
        assert_eq!(filter.to_text(), normal, "{text}");
        assert_eq!(Filter::compile(&catalog, filter.to_json().as_bytes()).unwrap(), filter, "{text}");
        assert_eq!(Filter::compile_text(&catalog, &filter.to_text()).unwrap(), filter, "{text}");
    }
}

/// Compiles filters with as many tests and values as the default limits allow. A pairwise comparison would take quadratic time.
#[test]
fn the_largest_filters_compile_fast() {
    let catalog = catalog();
    let list = |from: usize, to: usize| (from..to).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let join =
        |between: &str, part: &dyn Fn(usize) -> String| (0..1300).map(part).collect::<Vec<_>>().join(between);
    let long = list(0, 60_000);
    for text in [
        format!("n in ({long}) and {}", join(" and ", &|i| format!("n > {i}"))),
        format!("ns in ({long}) and {}", join(" and ", &|i| format!("ns <> {}", i * 7))),
        format!("s in ({long}) and {}", join(" and ", &|i| format!("s <> {}", i * 7))),
        format!("ns in ({long}) and {}", join(" and ", &|i| format!("(ns = {i} or s = x)"))),
        format!("n in ({long}) or {}", join(" or ", &|i| format!("(n = {} and s = x)", i + 60_000))),
        join(" and ", &|i| format!("(n < {i} or n > {})", i + 5000)),
        join(" or ", &|i| format!("(n > {} and n < {})", 3 * i, 3 * i + 2)),
        join(" or ", &|i| format!("(ns > {} and ss = {})", 3 * i, 3 * i + 2)),
        join(" and ", &|i| format!("ns in ({})", list(i, i + 40))),
        join(" or ", &|i| format!("ss all ({})", list(i, i + 40))),
    ] {
        let start = std::time::Instant::now();
        let filter = Filter::compile_text(&catalog, &text).unwrap();
        let compiled = start.elapsed();
        let warnings = filter.warnings().len();
        let took = start.elapsed();
        println!("{} … {compiled:?} {took:?} {warnings}", &text[..40]);
        assert!(took.as_secs() < 5, "{} took {took:?}", &text[..40]);
    }
}
