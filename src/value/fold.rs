//! Folds strings, for comparisons that ignore case and accents.
//!
//! ```text
//! LÓPEZ-GARCÍA, Ana     lopez-garcia, ana
//! Straße                strasse
//! Ångström              angstrom
//! ﬁn (a ligature)       fin
//! ```
//!
//! Decompositions and categories come from the tables of Unicode 18. Case folding comes from ICU4X. If a later version of Unicode
//! assigns a code point, this code point folds to itself until the crates are updated.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Folds a string in five steps: compatibility decomposition (NFKD), removal of nonspacing marks, full case folding, and again
/// decomposition and removal of marks.
///
/// Two strings that differ only in case, accents and compatibility forms have equal foldings. Takes linear time. The result has at
/// most eleven times as many bytes as the input. This maximum is reached by U+FDFA, a ligature whose 3 bytes fold to 33 bytes.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    let plain = without_marks(text);
    let folded = CaseMapper::new().fold_string(&plain);
    Cow::Owned(without_marks(&folded))
}

/// Folds a string, and drops all characters whose canonical combining class is not zero. The characters that are left are called
/// starters.
///
/// Unlike [`fold`], this function maps each character by itself: the result for `ab` is the result for `a`, followed by the result
/// for `b`. `column/substring_index.rs` has the proof.
pub(crate) fn folded_starters(text: &str) -> Cow<'_, str> {
    let folded = fold(text);
    if folded.is_ascii() || folded.chars().all(is_starter) {
        folded
    } else {
        Cow::Owned(folded.chars().filter(|c| is_starter(*c)).collect())
    }
}

fn is_starter(c: char) -> bool {
    canonical_combining_class(c) == 0
}

/// Decomposes a string and drops its nonspacing marks.
fn without_marks(text: &str) -> String {
    text.nfkd().filter(|c| c.general_category() != GeneralCategory::NonspacingMark).collect()
}

/// Returns the words of a string: the parts between white space after folding.
///
/// ```text
/// "García  LOPEZ"      garcia, lopez
/// " \t"                no word
/// ```
pub(crate) fn words(text: &str) -> Vec<String> {
    fold(text).split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The greatest factor by which folding lengthens a string, in bytes.
    const MOST_GROWTH: usize = 11;

    #[test]
    fn case_accents_and_compatibility_forms_are_folded() {
        for (text, folded) in [
            ("", ""),
            ("plain text", "plain text"),
            ("LÓPEZ-GARCÍA, Ana", "lopez-garcia, ana"),
            ("Jose\u{301}", "jose"),
            ("Straße STRASSE ẞ", "strasse strasse ss"),
            ("Ångström", "angstrom"),
            ("ﬁn", "fin"),
            ("Ⅷ ㎏ ½", "viii kg 1⁄2"),
            ("İstanbul ısı", "istanbul ısı"),
            ("ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ"),
            ("ΐ", "ι"),
            ("Щукин Й", "щукин и"),
            ("한국 ｶﾞ", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8} カ"),
            ("אַבָּ", "אב"),
            ("Ꭰ ꭰ", "Ꭰ Ꭰ"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn no_code_point_grows_by_more_than_the_bound() {
        let mut most = 0.0_f64;
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            let folded = fold(&text);
            assert!(folded.len() <= text.len() * MOST_GROWTH, "{c:?}");
            most = most.max(folded.len() as f64 / text.len() as f64);
            // Folding a folded string changes nothing.
            assert_eq!(fold(&folded), folded, "{c:?}");
            assert!(folded.chars().all(|c| c.general_category() != GeneralCategory::NonspacingMark), "{c:?}");
        }
        assert!(most > (MOST_GROWTH - 1) as f64, "{most}");
    }

    #[test]
    fn every_character_that_is_not_a_starter_folds_to_no_starter() {
        let mut kept = 0;
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            if !is_starter(c) {
                assert_eq!(folded_starters(&text), "", "{c:?}");
                kept += usize::from(!fold(&text).is_empty());
            }
            // Folding a folded character changes no starter.
            for folded in fold(&text).chars() {
                let starter = if is_starter(folded) { folded.to_string() } else { String::new() };
                assert_eq!(folded_starters(&folded.to_string()), starter, "{c:?}");
            }
        }
        // Some characters are neither starters nor nonspacing marks, so folding keeps them.
        assert!(kept > 0);
    }

    #[test]
    fn words_are_separated_by_white_space_alone() {
        assert_eq!(words(" García\u{a0}LOPEZ-Ruiz\t\u{2003}x "), ["garcia", "lopez-ruiz", "x"]);
        assert_eq!(words(" \u{3000} "), [""; 0]);
        // A string that consists of a single mark folds to an empty string.
        assert_eq!(words("\u{301}"), [""; 0]);
    }

    /// Generates texts with marks in any order, characters that decompose to several characters, and unassigned characters.
    fn hostile() -> impl Strategy<Value = String> {
        const HARD: &str = "aSσςΣßẞİıﬁﷺé각\u{1100}\u{1161}\u{11a8}\u{301}\u{323}\u{345}\u{302e}\u{302f}\u{16ff0}\u{1d165}\u{1d16d}\u{5b0}\u{f71}\u{0}\u{378}\u{1f600}";
        let hard: Vec<char> = HARD.chars().collect();
        prop::collection::vec(prop_oneof![prop::sample::select(hard), any::<char>()], 0..6)
            .prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn folding_is_idempotent(text in "\\PC{0,40}") {
            let folded = fold(&text).into_owned();
            prop_assert_eq!(fold(&folded), &*folded);
            prop_assert!(folded.len() <= text.len() * MOST_GROWTH);
        }

        #[test]
        fn composed_and_decomposed_text_fold_alike(text in "\\PC{0,40}") {
            let (composed, decomposed): (String, String) = (text.nfc().collect(), text.nfd().collect());
            prop_assert_eq!(fold(&composed), fold(&decomposed));
            prop_assert_eq!(fold(&text), fold(&composed));
        }

        #[test]
        fn the_starters_of_a_text_are_those_of_its_parts(parts in prop::collection::vec(hostile(), 0..6)) {
            let each: String = parts.iter().map(|part| folded_starters(part).into_owned()).collect();
            let whole = parts.concat();
            prop_assert_eq!(folded_starters(&whole), each);
        }

        #[test]
        fn ascii_folds_alike_on_both_paths(text in "[ -~]{0,40}") {
            let slow = without_marks(&CaseMapper::new().fold_string(&without_marks(&text)));
            prop_assert_eq!(fold(&text), slow);
        }
    }
}
