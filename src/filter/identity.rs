//! Compares and identifies filters: equality, hashes and fingerprints, which are all computed from the normal form.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::compiled::Filter;
use crate::catalog::{Field, FieldId, TimestampForm};

/// The start of the text that is hashed. The number must change when the normal form or the hashed properties of fields change.
const VERSION: &str = "casefilter fingerprint 1\n";

impl Filter {
    /// Returns the fields that the normal form tests, in the order of the catalogue. Fields that it tests in the elements of arrays
    /// are included.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let catalog = Catalog::cases();
    /// let filter = Filter::compile_text(&catalog, "tags in (vip) or name = a and name = a")?;
    /// let names = filter.fields().into_iter().filter_map(|id| catalog.get(id)).map(|field| field.name());
    /// assert_eq!(names.collect::<Vec<_>>(), ["name", "tags"]);
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn fields(&self) -> Vec<FieldId> {
        let mut fields = self.predicate().fields();
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// Returns a fingerprint of 128 bits. Equal filters have equal fingerprints, and filters with equal fingerprints select the
    /// same documents.
    ///
    /// It can be the key of a cache or of a saved filter, also across processes and machines. It is computed from the
    /// [normal form](Self::to_json) and from the name, path, type and default of its fields. It does not depend on the spelling of
    /// criteria, but it can depend on the order of the fields in the catalogue. A release that changes fingerprints says so in its
    /// changelog; store the original body next to the fingerprint.
    ///
    /// It is the first half of a SHA-256 hash, so clients cannot construct two different filters with the same fingerprint.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let [one, same, other] = ["name = a or name = b", "name in (b, a)", "name = a"]
    ///     .map(|text| Filter::compile_text(&Catalog::cases(), text).map(|filter| filter.fingerprint()));
    /// assert_eq!(one, same);
    /// assert_ne!(one, other);
    /// ```
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        let mut hash = Sha256::new();
        hash.update(VERSION);
        for field in self.fields().into_iter().filter_map(|id| self.catalog().get(id)) {
            // Names in the catalogue may contain any characters. Encoding them as JSON strings separates them.
            hash.update(description(field));
            hash.update("\n");
        }
        hash.update(self.to_json());
        let digest = hash.finalize();
        digest.first_chunk().copied().map_or(0, u128::from_be_bytes)
    }
}

#[cfg(feature = "service")]
impl Filter {
    /// Returns the text that `print` returned when it was first called for this filter or one of its clones. `print` gets the
    /// normal form in the text syntax, and the fingerprint as 32 hexadecimal digits.
    pub(crate) fn printed_members(&self, print: impl FnOnce(&str, &str) -> String) -> &str {
        let print = || print(&self.to_text(), &format!("{:032x}", self.fingerprint())).into();
        self.inner.printed.get_or_init(print)
    }
}

/// Returns a line with all properties of a field that affect the result of a test.
pub(super) fn description(field: &Field) -> String {
    let text = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let default = field.default_value().map(text).unwrap_or_default();
    let form = match field.form() {
        TimestampForm::Interface => String::new(),
        form => format!(" {}", form.name().replace('_', " ")),
    };
    format!("{} {} {}{form} {default}", text(field.name()), text(field.path()), field.field_type())
}

/// Compares the normal forms and the fields that they test.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        let have_equal_fields = || {
            let fields = self.fields().into_iter();
            fields.into_iter().all(|field| self.catalog().get(field) == other.catalog().get(field))
        };
        Arc::ptr_eq(&self.inner, &other.inner)
            || self.predicate() == other.predicate()
                && (self.catalog().is_same(other.catalog()) || have_equal_fields())
    }
}

impl Eq for Filter {}

impl Hash for Filter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.predicate().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::catalog::{Catalog, FieldType};

    #[test]
    fn filters_of_different_fields_are_different() {
        let catalogs = [
            Field::new("level", FieldType::String),
            Field::new("grade", FieldType::String),
            Field::new("level[]", FieldType::String),
            Field::new("level", FieldType::String).with_default("low"),
        ]
        .map(|field| Catalog::new([field]).unwrap());
        let mut filters: Vec<Filter> = Vec::new();
        for (catalog, name) in catalogs.iter().zip(["level", "grade", "level", "level"]) {
            filters.push(Filter::compile_text(catalog, &format!("{name} <> low")).unwrap());
        }
        let fingerprints: HashSet<u128> = filters.iter().map(Filter::fingerprint).collect();
        assert_eq!(fingerprints.len(), filters.len());
        for (place, filter) in filters.iter().enumerate() {
            assert_eq!(filters.iter().position(|other| other == filter), Some(place));
        }
    }

    #[test]
    fn the_fields_of_tests_of_elements_are_fields_of_the_filter() {
        let [first, second] = ["legs[].mode", "legs[].kind"].map(|other| {
            let fields = ["legs[].carrier", other].map(|path| Field::new(path, FieldType::String));
            Catalog::new(fields).unwrap()
        });
        let compile = |catalog, text| Filter::compile_text(catalog, text).unwrap();
        let one = compile(&first, "legs has (carrier = a and mode = b)");
        let two = compile(&second, "legs has (carrier = a and kind = b)");
        assert_eq!(one.fields().len(), 2);
        assert!(one != two && one.fingerprint() != two.fingerprint());
    }

    #[test]
    fn a_grown_or_narrowed_catalogue_keeps_the_fingerprint() {
        let cases = Catalog::cases();
        let grown = cases.with([Field::new("riskScore", FieldType::Number)]).unwrap();
        let narrow = cases.allow(["tags"]).unwrap();
        let filters =
            [&cases, &grown, &narrow].map(|catalog| Filter::compile_text(catalog, "tags in (vip)").unwrap());
        assert_eq!(filters.iter().collect::<HashSet<_>>().len(), 1);
        assert_eq!(filters.iter().map(Filter::fingerprint).collect::<HashSet<_>>().len(), 1);
    }

    /// Filters with their fingerprints. Hosts store fingerprints, so the fingerprints must not change.
    const GOLDEN: [(&str, &str); 12] = [
        ("true", "d15bbec4db449385b7fb4429715295dd"),
        ("ids (a, b) or count in (1, 9007199254740993)", "1e4425f9dc6684571d613aeffb1a06ce"),
        ("not (count >= 5 and count < 10)", "7e37f3b20b117988c83437f8b9602523"),
        ("at >= 2025-12-01T10:00:00Z and at on 2025-12-01", "196c284be0c37e91290df98cc35062c9"),
        ("level <> low", "2140c1816e73757269ac01186b8d7e8a"),
        ("marks all (1, 2.5)", "0c3d91832028a5977ea838fb5307d55e"),
        ("not marks all (1, 2.5) or marks > 100", "30ccdc313a2ba2fdef06e1aea57303a3"),
        ("seen.at in (2025-12-01, 2025-12-03)", "7eea4a16a8fc3cf9134ff09e376b70ee"),
        ("flags.set = true and flags.set = false", "81729c39aae5e132e6032395725cab5f"),
        ("text starts with (A, B) or text includes ab", "5b894202c761b33e3763a4c5994fb7ce"),
        ("text matches 'Ana García' and not text includes x", "9335947723513a248af6bd6477e2c42a"),
        (
            "text is absent and (marks is present or level = high and at is absent)",
            "d61a437f5bcd63311a82b34f32026d57",
        ),
    ];

    #[test]
    fn a_fingerprint_stays_the_same_across_releases() {
        // If this fails, the fingerprints that hosts have stored are invalid: raise VERSION and add a line to the changelog.
        let filter =
            Filter::compile_text(&Catalog::cases(), "status = open and createdAt >= '2024-01-01 00:00:00'")
                .unwrap();
        assert_eq!(format!("{:032x}", filter.fingerprint()), "19857c1be67b2efae439c0ecb4b7388a");
        assert_eq!(
            format!("{:032x}", Filter::none(&Catalog::cases()).fingerprint()),
            "3d0868ec447c9ff9ce31a7db4e77f797"
        );
        // Every kind of test and every type.
        let own = Catalog::new([
            Field::new("count", FieldType::Integer).with_alias("n"),
            Field::new("at", FieldType::Timestamp).with_form(TimestampForm::Rfc3339),
            Field::new("level", FieldType::String).with_known(["low", "high"]).with_default("low"),
            Field::new("marks[]", FieldType::Number),
            Field::new("seen[].at", FieldType::Timestamp),
            Field::new("flags[].set", FieldType::Boolean),
            Field::new("text", FieldType::String),
        ])
        .unwrap();
        let found = GOLDEN.map(|(text, _)| {
            let filter = Filter::compile_text(&own, text).unwrap();
            (text, format!("{:032x}", filter.fingerprint()))
        });
        assert_eq!(found, GOLDEN.map(|(text, stored)| (text, stored.to_owned())));
    }
}
