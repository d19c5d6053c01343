//! Tests of `docs/operations.md`: imports its examples, and compares its tables with the schemas.

use std::collections::BTreeMap;

use super::*;
use crate::domain::schema::{Kind, Need, Schema, Visibility};
use crate::domain::schemas;

const PAGE: &str = include_str!("../../../docs/operations.md");

/// Returns the fenced JSON blocks of the page. Each block comes with the words that follow `json`.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let blocks = PAGE.split("\n```json ").skip(1).map(|block| block.split_once("\n```").unwrap().0);
    blocks.map(|block| block.split_once('\n').unwrap()).collect()
}

/// Returns the rows of the table in a section. Each row is a list of cells.
fn rows(section: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let section = PAGE.split_once(&format!("\n## {section}\n")).unwrap().1.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells =
        |row: &'static str| row.strip_prefix('|').and_then(|row| row.strip_suffix('|')).unwrap().split('|');
    rows.map(move |row| cells(row).map(str::trim).collect())
}

#[test]
fn the_examples_are_imported_unchanged_and_answered_as_the_page_says() {
    let world = World::empty();
    let mut kinds = Vec::new();
    for (words, text) in blocks() {
        let kind = match words.split_once(' ') {
            Some(("status", id)) => {
                assert_eq!(parsed(&step_status(&world, id).unwrap()), parsed(text));
                continue;
            }
            Some(_) => panic!("{words}"),
            None => match words {
                "levels" => RecordKind::Levels,
                "applicants" => RecordKind::Applicants,
                "documents" => RecordKind::Documents,
                "aml-cases" => RecordKind::AmlCases,
                other => panic!("{other}"),
            },
        };
        kinds.push(kind);
        let imported = import(&world, kind, text).unwrap_or_else(|error| panic!("{words}: {error}"));
        let mut records: Vec<Value> =
            serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect();
        let counts = (imported.stored, imported.replaced, imported.times_without_zone, imported.notes.len());
        assert_eq!(counts, (records.len() as u64, 0, 0, 0), "{words}: {imported:?}");
        let stored = world.records().unwrap().with_prefix(kind.table(), "").unwrap();
        let mut stored: Vec<Value> = stored.iter().map(|(_, text)| parsed(text)).collect();
        records.sort_by_key(Value::to_string);
        stored.sort_by_key(Value::to_string);
        assert_eq!(stored, records);
    }
    use RecordKind::{AmlCases, Applicants, Documents, Levels};
    assert_eq!(kinds, [Levels, Applicants, Documents, AmlCases]);
    let case = blocks().into_iter().find(|(words, _)| *words == "aml-cases").unwrap().1;
    assert_eq!(parsed(&aml_case(&world, "anna", true).unwrap()), parsed(case));
}

/// Returns the words that the page uses for the values of a kind, in the singular and the plural.
fn in_words(kind: &Kind) -> (String, String) {
    let (one, many) = match kind {
        Kind::Id => ("id", "ids"),
        Kind::LooseId => ("label", "labels"),
        Kind::Step => ("step", "steps"),
        Kind::Text => ("text", "texts"),
        Kind::Country => ("country", "countries"),
        Kind::Date => ("date", "dates"),
        Kind::DateOrYear => ("date or year", "dates or years"),
        Kind::Moment => ("time", "times"),
        Kind::ZonedMoment => ("time with offset", "times with offset"),
        Kind::Boolean => ("boolean", "booleans"),
        Kind::Integer => ("integer", "integers"),
        Kind::Count => ("count", "counts"),
        Kind::Number => ("number", "numbers"),
        Kind::Object(_) => ("object", "objects"),
        Kind::Any => ("any", "any"),
        Kind::OneOf(values) => {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            return (values.join(", "), values.join(", "));
        }
        Kind::List(kind) => return (format!("list of {}", in_words(kind).1), String::new()),
        Kind::Map(kind) => return (format!("object of {}", in_words(kind).1), String::new()),
    };
    (one.to_owned(), many.to_owned())
}

/// Collects the members of a schema by path. For each member: its kind in words, its need, and its visibility.
fn collect(schema: &Schema, prefix: &str, found: &mut BTreeMap<String, (String, Need, Visibility)>) {
    for member in schema.members {
        let path = format!("{prefix}{}", member.name);
        found.insert(path.clone(), (in_words(&member.kind).0, member.need, member.visibility));
        match &member.kind {
            // `fixedInfo` has the same schema as `info`, so the page describes only `info`.
            Kind::Object(_) if path == "fixedInfo" => {}
            Kind::Object(inner) => collect(inner, &format!("{path}."), found),
            Kind::List(Kind::Object(inner)) => collect(inner, &format!("{path}[]."), found),
            _ => {}
        }
    }
}

#[test]
fn the_tables_have_the_members_of_the_schemas_with_value_need_and_visibility() {
    for (section, schema) in [
        ("Levels", &schemas::LEVEL),
        ("Applicants", &schemas::APPLICANT),
        ("Documents", &schemas::DOCUMENT),
        ("AML cases", &schemas::AML_CASE),
    ] {
        let mut expected = BTreeMap::new();
        collect(schema, "", &mut expected);
        for row in rows(section) {
            let [path, value, need, meaning] = row[..] else { panic!("{row:?}") };
            let Some((own, own_need, visibility)) = expected.remove(path.trim_matches('`')) else {
                panic!("{section}: {path} is no member, or is there twice");
            };
            let own_need = match own_need {
                Need::Required => "required",
                Need::Decisive => "decides",
                Need::Optional => "",
            };
            assert_eq!((value, need), (&*own, own_need), "{section}: {path}");
            assert_eq!(meaning.contains("viewPersonalData"), visibility == Visibility::Personal, "{path}");
            assert_eq!(
                meaning.to_lowercase().contains("not served"),
                visibility == Visibility::Internal,
                "{path}"
            );
        }
        assert!(expected.is_empty(), "{section}: {:?}", expected.keys());
    }
}
