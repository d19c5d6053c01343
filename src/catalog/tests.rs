//! Tests creating, narrowing, growing and comparing catalogues.

use std::sync::Arc;

use super::catalogue::MOST_ANCESTORS;
use super::*;
use crate::error::ErrorKind;

#[test]
fn the_case_resource_has_its_43_fields() {
    let catalog = Catalog::cases();
    assert_eq!(catalog.fields().len(), 43);
    assert_eq!(catalog.find("id"), Some(FieldId::ID));
    assert_eq!(catalog.find("status"), catalog.find("caseReview.status"));
    assert_eq!(catalog.find("caseReview"), None);
    assert_eq!(catalog.find("amlCases[].amlCaseId"), None);
    assert_eq!(catalog.names().count(), 44);
}

#[test]
fn narrowing_hides_names_and_keeps_numbers() {
    let all = Catalog::cases();
    let narrow = all.allow(["status", "tags"]).unwrap();
    assert_eq!(narrow.find("tags"), all.find("tags"));
    assert_eq!(narrow.find("id"), None);
    assert_eq!(narrow.names().collect::<Vec<_>>(), ["caseReview.status", "status", "tags"]);
    assert!(narrow.is_within(&all));
    assert!(!all.is_within(&narrow));
    assert_eq!(
        all.allow(["tagz"]).unwrap_err(),
        CatalogError::UnknownField("tagz".into(), Some("tags".into()))
    );
}

#[test]
fn a_grown_catalogue_accepts_the_filters_of_those_that_it_grew_from() {
    let all = Catalog::cases();
    let field = |name: &str| Field::new(name, FieldType::Number);
    let narrow = all.allow(["status"]).unwrap();
    let grown = all.with([field("x")]).unwrap();
    let again = grown.with([field("y")]).unwrap();
    for (smaller, larger) in [(&all, &grown), (&all, &again), (&grown, &again), (&narrow, &again)] {
        assert!(smaller.is_within(larger) && !larger.is_within(smaller));
        assert!(smaller.is_akin(larger) && larger.is_akin(smaller));
    }
    // Fields are compared by content, not only by descent.
    let twin = Catalog::new(all.fields().iter().cloned().chain([field("x")])).unwrap();
    assert!(all.is_within(&twin) && twin.is_within(&grown) && grown.is_within(&twin));
    let mut old = all.clone();
    for number in 0..3 * MOST_ANCESTORS {
        old = old.with([field(&format!("f{number}"))]).unwrap();
    }
    assert!(all.is_within(&old) && old.inner.ancestors.len() == MOST_ANCESTORS);
    // Two catalogues that grew from the same catalogue by different fields are unrelated.
    let sibling = all.with([field("y")]).unwrap();
    assert!(!sibling.is_akin(&grown) && sibling.common(&grown).is_none());
    let error = sibling.check_within(&grown, "engine").unwrap_err();
    assert_eq!(error.kind, ErrorKind::CatalogMismatch);
    assert!(
        error.to_string().starts_with("filter: found a filter of a catalogue whose field 43 is `y`"),
        "{error}"
    );
    assert!(narrow.check_within(&grown, "engine").is_ok());
}

#[test]
fn the_common_catalogue_of_two_narrowings_is_their_root() {
    let all = Catalog::cases();
    let [status, tags] = [["status", "id"], ["tags", "id"]].map(|names| all.allow(names).unwrap());
    let is = |found: Option<&Catalog>, expected: &Catalog| {
        found.is_some_and(|found| Arc::ptr_eq(&found.inner, &expected.inner))
    };
    assert!(is(status.common(&tags), &all));
    assert!(is(status.common(&all), &all) && is(all.common(&status), &all));
    let twice = status.allow(["status"]).unwrap();
    assert!(is(twice.common(&tags), &all), "narrowed twice");
    let grown = all.with([Field::new("x", FieldType::Number)]).unwrap();
    let of_grown = grown.allow(["x"]).unwrap();
    assert!(is(of_grown.common(&tags), &grown) && is(tags.common(&of_grown), &grown));
    let twin = Catalog::new(all.fields().to_vec()).unwrap().allow(["name"]).unwrap();
    assert!(twin.common(&tags).is_some_and(|found| found.is_within(&all)));
    let other = Catalog::new([Field::new("tags[]", FieldType::String)]).unwrap();
    assert!(other.common(&tags).is_none() && other.common(&all).is_none());
}

#[test]
fn conflicting_fields_are_rejected() {
    let text = |path: &str| Field::new(path, FieldType::String);
    let err = |fields: Vec<Field>| Catalog::new(fields).unwrap_err();
    assert_eq!(err(vec![text("a"), text("a")]), CatalogError::DuplicateName("a".into()));
    assert_eq!(err(vec![text("a"), text("b").with_alias("a")]), CatalogError::DuplicateName("a".into()));
    assert_eq!(err(vec![text("a"), text("a.b")]), CatalogError::PathConflict("a.b".into()));
    assert_eq!(err(vec![text("a.b"), text("a")]), CatalogError::PathConflict("a".into()));
    assert_eq!(err(vec![text("a.b"), text("a[].c")]), CatalogError::PathConflict("a[].c".into()));
    assert_eq!(err(vec![text("a[]"), text("a[].c")]), CatalogError::PathConflict("a[].c".into()));
    assert_eq!(err(vec![text("id[]")]), CatalogError::BadIdField);
    assert_eq!(err(vec![text("id").with_default("a")]), CatalogError::BadIdField);
    let searchable = Catalog::new([text("a"), text("id").searchable()]).unwrap();
    assert_eq!(searchable.field(FieldId::ID), &text("id").searchable().key());
    assert_eq!(Catalog::from_json(searchable.to_json()).unwrap().to_json(), searchable.to_json());
    assert_eq!(err(vec![text("")]), CatalogError::BadPath("".into()));
    assert_eq!(err(vec![text("a..b")]), CatalogError::BadPath("a..b".into()));
    assert_eq!(err(vec![text("[].b")]), CatalogError::BadPath("[].b".into()));
}

#[test]
fn a_setting_is_rejected_by_its_name_on_fields_that_do_not_have_it() {
    use FieldType::{Boolean, Number, String as Text, Timestamp};
    const PLAIN: &str = "single-valued string fields";
    type Set = fn(Field) -> Field;
    let settings: [(&str, &str, Set); 2] =
        [("key", PLAIN, Field::key), ("unix_millis", "timestamp fields", Field::unix_millis)];
    for kind in [Text, Number, Timestamp, Boolean] {
        for path in ["f", "f[]", "a[].f"] {
            let field = Field::new(path, kind);
            let (name, is_many) = (field.name().to_owned(), field.is_many());
            assert!(Catalog::new([field.clone()]).is_ok(), "{kind} at {path} without a setting");
            for (setting, expected, set) in settings {
                let fits =
                    if setting == "unix_millis" { kind == Timestamp } else { kind == Text && !is_many };
                let error =
                    CatalogError::NotForType { field: name.clone(), setting, expected, kind, is_many };
                let wanted = if fits { None } else { Some(error) };
                assert_eq!(Catalog::new([set(field.clone())]).err(), wanted, "{setting} of {kind} at {path}");
                assert_eq!(Catalog::cases().with([set(field.clone())]).err(), wanted);
            }
        }
    }
    let error = Catalog::new([Field::new("n", Number).key()]).unwrap_err();
    assert_eq!(error.to_string(), "`key` is only for single-valued string fields, but `n` is a number field");
    let error = Catalog::new([Field::new("at", Text).unix_millis()]).unwrap_err();
    assert_eq!(error.to_string(), "`unix_millis` is only for timestamp fields, but `at` is a string field");
    let error = Catalog::new([Field::new("tags[]", Text).key()]).unwrap_err();
    assert!(error.to_string().ends_with("but `tags` is a multi-valued string field"), "{error}");
}

/// Two valid values of each type except decimals, as they are written in criteria, and a value that is malformed for the type.
/// Every value of a string field is valid, so the malformed value is `None`.
const VALUES: [(FieldType, [&str; 2], Option<&str>); 5] = [
    (FieldType::String, ["a", "b"], None),
    (FieldType::Number, ["1.5", "-2"], Some("x")),
    (FieldType::Integer, ["7", "9223372036854775807"], Some("1.5")),
    (FieldType::Timestamp, ["2024-01-01 00:00:00", "2024-01-02 00:00:00"], Some("2024-01-01")),
    (FieldType::Boolean, ["true", "false"], Some("yes")),
];

#[test]
fn fields_of_every_type_have_known_values_and_a_default() {
    for (kind, known, malformed) in VALUES {
        for path in ["f", "f[]", "f[][]", "a[].f", "a.f"] {
            let field = || Field::new(path, kind).with_known(known);
            assert!(Catalog::new([field()]).is_ok(), "{kind} at {path}");
            let made = Catalog::new([field().with_default(known[1])]);
            match path {
                "a[].f" => {
                    let error = made.unwrap_err().to_string();
                    assert!(
                        error.starts_with("`with_default` is only for fields outside arrays of objects"),
                        "{error}"
                    );
                }
                _ => {
                    let catalog = made.unwrap();
                    let (_, default) = &catalog.defaults()[0];
                    assert_eq!((default.field_type(), default.to_string().as_str()), (kind, known[1]));
                    assert!(catalog.field(FieldId(1)).is_known(default));
                }
            }
            let repeated =
                Catalog::new([Field::new(path, kind).with_known([known[0], known[0]])]).unwrap_err();
            assert!(repeated.to_string().ends_with("expected each known value once"), "{repeated}");
            let Some(malformed) = malformed else { continue };
            for field in
                [field().with_known([known[0], malformed]), Field::new("f", kind).with_default(malformed)]
            {
                let error = Catalog::new([field]).unwrap_err().to_string();
                assert!(error.starts_with(&format!("found `{malformed}` in `with_")), "{error}");
            }
        }
        let error =
            Catalog::new([Field::new("f", kind).with_known([known[0]]).with_default(known[1])]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("found `{}` in `with_default` of `f`, expected one of the known values", known[1])
        );
    }
}

#[test]
fn known_values_and_defaults_have_one_spelling() {
    let field = |known: &str, default: &str| {
        Field::new("n", FieldType::Number).with_known([known, "5"]).with_default(default)
    };
    assert_eq!(field("1e2", "100.0"), field("100", "100"));
    let at = Field::new("t", FieldType::Timestamp).with_default("2024-01-01 02:00:00+0200");
    assert_eq!(at.default_value(), Some("2024-01-01 00:00:00"));
}
