//! Checks verification levels: their steps must be consistent. Also finds the steps that applicants of a type cannot have.

use super::records::{ApplicantKind, Level, PAYMENT_METHODS};
use super::schemas::ACTIONS_LEVEL;
use crate::error::{Error, ErrorKind, Found, quote};

/// Checks that the steps of a level are consistent with each other and with the type of the level.
pub(super) fn check_level(level: &Level) -> Result<(), Error> {
    let unfit = |at: usize, member: &str, found: Found, expected: &str| {
        Error::new(ErrorKind::BadValue, 0, found, expected).at(format!("docSets[{at}].{member}"))
    };
    let steps: Vec<&str> = level.steps().map(|step| &*step.name).collect();
    let successor = steps.iter().find(|step| step.starts_with("COMPANY_"));
    for (at, step) in level.steps().enumerate() {
        let name = "idDocSetType";
        if steps.get(..at).unwrap_or_default().contains(&&*step.name) {
            return Err(unfit(at, name, format!("{} again", quote(&step.name)).into(), "each step once"));
        }
        if step.name == "COMPANY"
            && let Some(successor) = successor
        {
            let found = format!("`COMPANY` beside {}", quote(successor));
            let expected = "either `COMPANY` (KYB 1.0) or the three steps that replace it (KYB 2.0)";
            return Err(unfit(at, name, found.into(), expected));
        }
        if step.name == PAYMENT_METHODS && !level.is_for_actions() {
            let found = format!("`{PAYMENT_METHODS}` in a level that is not for applicant actions");
            let expected = format!("that step only in a level with `\"type\":\"{ACTIONS_LEVEL}\"`");
            return Err(unfit(at, name, found.into(), &expected));
        }
        // If a chain of dependencies is longer than the number of steps, it has a cycle.
        let mut dependency = step.depends_on.as_deref();
        let mut length: usize = 0;
        while let Some(name) = dependency {
            let next = level.steps().find(|other| other.name == name);
            length = length.saturating_add(1);
            if next.is_none() || length > steps.len() {
                let found = Found::text(step.depends_on.as_deref().unwrap_or_default());
                let expected = "a step of this level that does not depend on this one";
                return Err(unfit(at, "dependsOn", found, expected));
            }
            dependency = next.and_then(|next| next.depends_on.as_deref());
        }
    }
    Ok(())
}

/// Returns the steps of a level that applicants of a type cannot have, as a list in words. Returns `None` if they can have every
/// step.
pub(super) fn excluded_steps(level: &Level, kind: ApplicantKind) -> Option<String> {
    let steps = level.steps().map(|step| &*step.name).filter(|step| !level.has_step_for(step, kind));
    let steps: Vec<String> = steps.map(|step| format!("`{step}`")).collect();
    (!steps.is_empty()).then(|| steps.join(", "))
}

/// Returns a sentence for a note. It says that answers leave out `steps`, because applicants of this type cannot have them. `level`
/// is a phrase that names the level.
pub(super) fn sentence(level: &str, kind: ApplicantKind, steps: &str) -> String {
    let whose = kind.in_words();
    let (noun, they_are) = if steps.contains(", ") { ("steps", "they are") } else { ("step", "it is") };
    format!(
        "found {level}, with the {noun} {steps}, which {whose} does not have; {they_are} left out of the answers"
    )
}
