//! Checks of levels: that their steps fit together, and which applicants can have them.

use super::records::{ApplicantKind, Level, PAYMENT_METHODS};
use super::schemas::ACTIONS_LEVEL;
use crate::error::{Error, ErrorKind, quote};

/// Checks that the steps of a level fit together.
pub(super) fn check_level(level: &Level) -> Result<(), Error> {
    let unfit = |at: usize, member: &str, found: String, expected: &str| {
        Error::new(ErrorKind::BadValue, 0, found, expected).at(format!("docSets[{at}].{member}"))
    };
    let steps: Vec<&str> = level.steps().map(|step| &*step.name).collect();
    let successor = steps.iter().find(|step| step.starts_with("COMPANY_"));
    for (at, step) in level.steps().enumerate() {
        let name = "idDocSetType";
        if steps.get(..at).unwrap_or_default().contains(&&*step.name) {
            return Err(unfit(at, name, format!("{} again", quote(&step.name)), "each step once"));
        }
        if step.name == "COMPANY"
            && let Some(successor) = successor
        {
            let found = format!("`COMPANY` beside {}", quote(successor));
            let expected = "either `COMPANY` (KYB 1.0) or the three steps that replace it (KYB 2.0)";
            return Err(unfit(at, name, found, expected));
        }
        if step.name == PAYMENT_METHODS && !level.is_for_actions() {
            let found = format!("`{PAYMENT_METHODS}` in a level that is not for applicant actions");
            let expected = format!("that step only in a level with `\"type\":\"{ACTIONS_LEVEL}\"`");
            return Err(unfit(at, name, found, &expected));
        }
        // A chain of dependencies longer than the level has a cycle.
        let mut dependency = step.depends_on.as_deref();
        let mut length: usize = 0;
        while let Some(name) = dependency {
            let next = level.steps().find(|other| other.name == name);
            length = length.saturating_add(1);
            if next.is_none() || length > steps.len() {
                let found = quote(step.depends_on.as_deref().unwrap_or_default());
                let expected = "a step of this level that does not depend on this one";
                return Err(unfit(at, "dependsOn", found, expected));
            }
            dependency = next.and_then(|next| next.depends_on.as_deref());
        }
    }
    Ok(())
}

/// Lists the steps of a level that applicants of a type cannot have. Returns `None` if there are none.
pub(super) fn excluded_steps(level: &Level, kind: ApplicantKind) -> Option<String> {
    let steps = level.steps().map(|step| &*step.name).filter(|step| !level.has_step_for(step, kind));
    let steps: Vec<String> = steps.map(|step| format!("`{step}`")).collect();
    (!steps.is_empty()).then(|| steps.join(", "))
}

/// Returns a sentence: the `steps` are left out of the answers, since applicants of this type cannot have them. `level` is the level in
/// words.
pub(super) fn sentence(level: &str, kind: ApplicantKind, steps: &str) -> String {
    let whose = kind.in_words();
    let (noun, they_are) = if steps.contains(", ") { ("steps", "they are") } else { ("step", "it is") };
    format!(
        "found {level}, with the {noun} {steps}, which {whose} does not have; {they_are} left out of the answers"
    )
}
