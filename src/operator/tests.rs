//! Tests that the columns of the operator table agree with each other, and that the Markdown documentation lists every operator of
//! the table.

use std::collections::BTreeSet;

use super::shape::Types;
use super::*;
use crate::value::{Number, Value, ValueClass};

/// Returns all lists of at most two numbers from a small fixed set, including the empty list. The tests use each list both as
/// operands and as the values of a case.
fn operands() -> Vec<Vec<Value<'static>>> {
    let number = |number: f64| Value::Number(Number::new(number).unwrap());
    let values = [-1.0, 0.0, 0.5, 1.0, 2.0].map(number);
    let mut all = vec![Vec::new()];
    for a in &values {
        all.push(vec![a.clone()]);
        all.extend(values.iter().map(|b| vec![a.clone(), b.clone()]));
    }
    all
}

/// Evaluates an operator by the definitions of its quantifier and its pattern.
fn holds_by_shape(operator: Operator, operands: &[Value<'_>], set: &[Value<'_>]) -> bool {
    let Shape { quantifier, pattern } = operator.shape();
    let is_in_pattern = |value: &Value<'_>| match pattern {
        Pattern::Points => operands.contains(value),
        Pattern::Present | Pattern::Prefixes | Pattern::Substrings | Pattern::Words => {
            unreachable!("{operator}")
        }
        Pattern::Ray(Ray { side, inclusive }) => operands.iter().all(|end| match side {
            Side::Above => value > end || inclusive && value == end,
            Side::Below => value < end || inclusive && value == end,
        }),
    };
    match quantifier {
        Quantifier::Any => set.iter().any(is_in_pattern),
        Quantifier::None => !set.iter().any(is_in_pattern),
        Quantifier::All => operands.iter().all(|operand| set.contains(operand)),
    }
}

#[test]
fn holds_and_shape_agree() {
    for operator in Operator::ALL {
        for operands in operands() {
            if operator.is_extended()
                || operands.is_empty()
                || operator.arity().is_exceeded_by(operands.len())
            {
                continue;
            }
            for set in self::operands() {
                let asked: Vec<crate::value::Operand<'_>> =
                    operands.iter().cloned().map(Into::into).collect();
                let holds = operator.holds(&asked, &ValueSet::new(&set));
                assert_eq!(
                    holds,
                    holds_by_shape(operator, &operands, &set),
                    "{set:?} {operator} {operands:?}"
                );
            }
        }
    }
}

#[test]
fn spellings_are_found_and_belong_to_one_operator() {
    let mut spellings = BTreeSet::new();
    for operator in Operator::ALL {
        assert_eq!(Operator::find(operator.name()), Some(operator));
        assert_eq!(operator.spelled(Syntax::Text), operator.words()[0]);
        for word in operator.words() {
            assert!(spellings.insert(word.to_lowercase()), "{word}");
            assert_eq!(Operator::find_word(&word.to_uppercase()), Some(operator));
        }
        for synonym in operator.row().synonyms {
            assert_eq!(Operator::meant_by(synonym), Some(operator), "{synonym} stands twice");
        }
    }
    for connective in Connective::ALL {
        assert_eq!(Complex::find(connective.name(), Grammar::Interface), Some(connective.into()));
        assert_eq!(Connective::find_word(&connective.word().to_uppercase()), Some(connective));
        assert_eq!(connective.dual().dual(), connective);
        assert!(spellings.insert(connective.word().to_owned()));
    }
    assert_eq!(Operator::find("in"), None);
    assert_eq!(Operator::find("$Contains"), None);
    assert_eq!(Complex::find("and", Grammar::Extended), None);
    assert_eq!(Complex::find("$not", Grammar::Extended), Some(Complex::Not));
    assert_eq!(Complex::find("$not", Grammar::Interface), None);
    assert_eq!(Complex::find("$elem", Grammar::Extended), Some(Complex::ELEM));
    assert_eq!(Complex::find("$elem", Grammar::Interface), None);
}

#[test]
fn words_that_printers_write_cannot_be_unquoted_values() {
    // Only the operators of the interface are tested: their words `in` and `all` are reserved. The words of extended operators,
    // such as `includes`, are not reserved. They may be unquoted values, because the parser reads an operator only directly after
    // a field.
    for operator in Operator::allowed(Grammar::Interface) {
        assert!(!crate::value::is_bare_word(operator.spelled(Syntax::Text)), "{operator}");
    }
    for connective in Connective::ALL {
        assert!(!crate::value::is_bare_word(connective.word()));
    }
}

#[test]
fn an_operator_is_found_by_its_ray() {
    for operator in Operator::ALL {
        assert_eq!(operator.ray().map(Operator::of_ray), operator.ray().map(|_| operator));
        let is_for_strings = operator.fits(ValueClass::Strings, false);
        assert!(operator.fits(ValueClass::Strings, true), "known strings have ranks");
        assert_eq!(operator.ray().is_some(), !is_for_strings, "rays need an order");
    }
}

/// Finds the rows of Markdown tables in which the first cell starts with a backtick. Returns the cells of each such row.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let lines = document.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn the_readme_lists_every_operator_with_its_types_and_values() {
    let readme = include_str!("../../README.md");
    let rows = rows(readme);
    for operator in Operator::ALL {
        let code = format!("`{}`", operator.name());
        let of_operator = |row: &&Vec<&str>| row.len() == 5 && row[0].split(' ').any(|cell| cell == code);
        let row = rows.iter().find(of_operator).unwrap_or_else(|| panic!("no row for {operator}"));
        let types = match operator.row().types {
            Types::All => "all",
            Types::Ordered => "number, integer, decimal, timestamp",
            Types::Strings => "string",
        };
        let values = match operator.arity() {
            Arity::One => "one",
            Arity::OneOrMore => "one or more",
        };
        assert_eq!((row[3], row[4]), (types, values), "{operator}");
        let is_shared = row[0].contains(' ');
        let text = row[1].replace('`', " ");
        assert!(is_shared || text.contains(&format!(" {} ", operator.words()[0])), "{operator}: {row:?}");
    }
    for operator in [Complex::Not, Complex::ELEM] {
        assert!(readme.contains(&format!("\"op\": \"{}\"", operator.name())));
    }
}

/// Tests that the examples of the README compile and select the cases that the remarks beside them describe.
#[test]
fn the_examples_of_the_readme_are_valid() {
    use crate::catalog::Catalog;
    use crate::filter::Filter;
    let readme = include_str!("../../README.md");
    let (_, after) = readme.split_once("Three examples:").unwrap();
    let block = after.split("```").nth(1).unwrap().strip_prefix("text\n").unwrap();
    let texts: Vec<&str> = block.lines().map(|line| line.split("   ").next().unwrap()).collect();
    let catalog = Catalog::cases();
    let cases = [
        (
            r#"{"id":"1","caseReview":{"status":"open"},"name":"x","totalAmountInDefaultCurrency":1}"#,
            "yes no no",
        ),
        (
            r#"{"id":"2","caseReview":{"status":"resolvedFalsePositive"},"name":"GARCÍA LÓPEZ, Ana"}"#,
            "no yes yes",
        ),
        (r#"{"id":"3","caseReview":{"status":"open","assignee":"o1"},"tags":["vip"]}"#, "no no no"),
    ];
    for (case, expected) in cases {
        let found = texts.iter().map(|text| {
            let filter =
                Filter::compile_text(&catalog, text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
            if filter.matches(case.as_bytes()).unwrap() { "yes" } else { "no" }
        });
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{case}");
    }
}

#[cfg(feature = "service")]
#[test]
fn the_openapi_document_lists_every_operator() {
    let document: serde_json::Value = serde_json::from_str(include_str!("../service/openapi.json")).unwrap();
    let listed = |schemas: &[&str]| -> BTreeSet<&str> {
        let names = schemas.iter().flat_map(|schema| {
            let names = &document["components"]["schemas"][schema]["properties"]["op"]["enum"];
            names.as_array().unwrap_or_else(|| panic!("no operators in {schema}"))
        });
        names.map(|name| name.as_str().unwrap()).collect()
    };
    for (grammar, of_fields, of_criteria) in [
        (Grammar::Interface, "FieldCriterion", &["ComplexCriterion"][..]),
        (
            Grammar::Extended,
            "ExtendedFieldCriterion",
            &["ExtendedComplexCriterion", "NegatedCriterion", "ElementCriterion"],
        ),
    ] {
        assert_eq!(listed(&[of_fields]), Operator::allowed(grammar).map(Operator::name).collect());
        assert_eq!(listed(of_criteria), Complex::allowed(grammar).map(Complex::name).collect());
    }
}

#[test]
fn the_dictionary_of_the_fuzzer_has_every_operator() {
    let fuzz = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    // The published package does not contain the folder `fuzz`.
    if !fuzz.exists() {
        return;
    }
    let dictionary = std::fs::read_to_string(fuzz.join("criteria.dict")).unwrap();
    let of_fields = Operator::ALL.map(Operator::name);
    for name in of_fields.into_iter().chain(Complex::ALL.map(Complex::name)) {
        assert!(dictionary.contains(&format!("\"\\\"{name}\\\"\"")), "{name}");
    }
}
