//! Decides if a member of documents that is not a field looks like a misspelt field of the catalogue (`Stray`). Imports call this
//! code in `ingest/members.rs`, which caches the results.

use super::catalogue::Catalog;
use super::id::FieldId;
use super::paths::PathId;

/// A member of documents that is not a field, but looks like a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    /// The path of the member: its keys, joined by dots.
    pub(crate) path: Box<str>,
    /// The fields that the member looks like. There are one to three.
    pub(crate) fields: Box<[FieldId]>,
}

/// The maximum length of a path that is compared with the fields, in bytes. A longer path counts as different from every field,
/// because computing the edit distance takes quadratic time.
const LONGEST: usize = 64;
/// The maximum number of fields that are listed for one member. Further fields are left out.
const MOST_MEANT: usize = 3;

impl Catalog {
    /// Finds the fields that the member `key` of an object looks like. The member must not be a field.
    ///
    /// A member looks like a field if at least one of these conditions is true. Only the letters and digits of paths and names are
    /// compared, without regard to capitals. So `created_at` matches `createdAt`.
    ///
    /// - Its path matches the name or an alias of the field, or the path of an object that contains the field.
    /// - It is a member of the document itself, and its key matches the last key of the field.
    /// - Its path is one typing error away from the name or an alias of the field. This condition is tested only if the others
    ///   are true for no field.
    ///
    /// Returns `None` if the object is within an array. The objects in an array often have different members, so a member that is
    /// not a field is probably not misspelt.
    pub(crate) fn stray(&self, object: PathId, key: &str) -> Option<Stray> {
        let path = self.paths().path_in_objects(object)?;
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let own = folded(&path);
        let leads_on = self.paths().child(object, key).is_some();
        if leads_on || path.len() > LONGEST || own.len() < 2 {
            return None;
        }
        let is_top = path == key;
        let is_near = |name: &str| {
            let around = name.match_indices('.').filter_map(|(at, _)| name.get(..at));
            let leaf = name.rsplit('.').next().filter(|_| is_top);
            leaf.into_iter().chain(around).chain([name]).any(|part| folded(part) == own)
        };
        let is_mistyped = |name: &str| {
            let name = folded(name);
            own.len().min(name.len()) > 2
                && own.len().abs_diff(name.len()) < 2
                && strsim::damerau_levenshtein(&own, &name) == 1
        };
        let fields = |is_meant: &dyn Fn(&str) -> bool| {
            let mut fields: Vec<FieldId> = self
                .visible_fields()
                .filter(|(_, field)| std::iter::once(field.name()).chain(field.aliases()).any(is_meant))
                .map(|(id, _)| id)
                .collect();
            fields.truncate(MOST_MEANT);
            fields
        };
        let near = fields(&is_near);
        let meant = if near.is_empty() { fields(&is_mistyped) } else { near };
        (!meant.is_empty()).then(|| Stray { path: path.into(), fields: meant.into() })
    }
}

/// Returns the letters and digits of a name, in lower case.
fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Paths;
    use super::*;

    fn near(object: &[&str], key: &str) -> Vec<String> {
        let catalog = Catalog::cases();
        let node = object.iter().fold(Paths::ROOT, |node, key| catalog.paths().child(node, key).unwrap().1);
        let stray = catalog.stray(node, key);
        stray.map_or_else(Vec::new, |stray| {
            stray.fields.iter().map(|id| catalog.field(*id).name().to_owned()).collect()
        })
    }

    #[test]
    fn members_that_look_like_fields_are_found() {
        for (key, field) in [
            ("status", "caseReview.status"),
            ("Status", "caseReview.status"),
            ("caseReview_status", "caseReview.status"),
            ("case_review_status", "caseReview.status"),
            ("assignee", "caseReview.assignee"),
            ("created_at", "createdAt"),
            ("CreatedAt", "createdAt"),
            ("creatdAt", "createdAt"),
            ("tag", "tags"),
            ("pirority", "priority"),
            ("dob", "applicantInfo.dob"),
        ] {
            assert_eq!(near(&[], key), [field], "{key}");
        }
        assert_eq!(near(&["applicantInfo"], "Country"), ["applicantInfo.country"]);
        assert_eq!(near(&[], "CaseReview"), ["caseReview.status", "caseReview.stage", "caseReview.assignee"]);
        assert_eq!(near(&[], "title"), ["createdByRule.title", "createdByWorkflowRef.title"]);
    }

    #[test]
    fn other_members_are_not() {
        for key in ["createdBy", "notes", "email", "type", "externalUserId", "x", "", "_", "id", "caseReview"]
        {
            assert_eq!(near(&[], key), [""; 0], "{key}");
        }
        assert_eq!(near(&["applicantInfo"], "status"), [""; 0]);
        assert_eq!(near(&[], &"status".repeat(1000)), [""; 0]);
        assert_eq!(near(&["amlCases", ""], "AmlCaseId"), [""; 0]);
        let narrow = Catalog::cases().allow(["tags"]).unwrap();
        assert_eq!(narrow.stray(Paths::ROOT, "status"), None);
    }
}
