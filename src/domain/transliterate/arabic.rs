//! Transliterates Arabic and Persian letters.

/// Transliterates an Arabic or Persian letter by its sound. Returns `None` for other letters.
///
/// A short vowel is written only if the text has a mark for it.
pub(super) fn arabic(c: char, before: Option<char>, next: Option<char>) -> Option<&'static str> {
    // و and ي are consonants at the start of a word, after an alef, and before a vowel. Otherwise they are vowels.
    let is_vowel = before.is_some_and(|before| is_arabic(before) && !matches!(before, 'ا' | 'آ' | 'أ'))
        && !next.is_some_and(|next| matches!(next, 'ا' | 'و' | 'ي' | 'ی' | '\u{64e}'..='\u{650}'));
    Some(match c {
        'ا' | 'أ' | 'ٱ' | 'آ' | 'ع' | 'ى' | '\u{64e}' | '\u{670}' => {
            // If an alef or ain has a vowel mark, only the vowel of the mark is written. An alef after the mark `a` only lengthens
            // that vowel.
            let is_said = matches!(next, Some('\u{64e}'..='\u{650}'))
                || c == 'ا' && before == Some('\u{64e}')
                || before.is_some_and(|before| matches!(before, 'ا' | 'ع')) && c == 'ا';
            if is_said { "" } else { "a" }
        }
        'إ' | '\u{650}' => "i",
        '\u{64f}' => "u",
        'ب' => "b",
        'پ' => "p",
        'ت' | 'ط' => "t",
        'ث' => "th",
        'ج' => "j",
        'چ' => "ch",
        'ح' | 'ه' => "h",
        // This letter sounds like an a at the end of a word.
        'ة' => {
            if before == Some('\u{64e}') {
                ""
            } else {
                "a"
            }
        }
        'خ' => "kh",
        'د' | 'ض' => "d",
        'ذ' => "dh",
        'ر' => "r",
        'ز' | 'ظ' => "z",
        'ژ' => "zh",
        'س' | 'ص' => "s",
        'ش' => "sh",
        'غ' => "gh",
        'ف' => "f",
        'ق' => "q",
        'ك' | 'ک' => "k",
        'گ' => "g",
        'ل' => "l",
        'م' => "m",
        'ن' => "n",
        'و' | 'ؤ' if before == Some('\u{64f}') && is_vowel => "",
        'و' | 'ؤ' => {
            if is_vowel {
                "u"
            } else {
                "w"
            }
        }
        'ي' | 'ی' | 'ئ' if before == Some('\u{650}') && is_vowel => "",
        'ي' | 'ی' | 'ئ' => {
            if is_vowel {
                "i"
            } else {
                "y"
            }
        }
        // The doubling mark itself is not written. `is_doubled` handles it: the consonant before it is written twice.
        'ء' | 'ـ' | '\u{651}' | '\u{652}' => "",
        _ => return None,
    })
}

fn is_arabic(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}')
}

/// Returns true if the first letter of `rest` has the doubling mark, before or after its vowel mark.
pub(super) fn is_doubled(rest: &[char]) -> bool {
    let mut marks = rest.iter().skip(1).take(2).take_while(|c| matches!(c, '\u{64b}'..='\u{652}'));
    rest.first().is_some_and(|c| matches!(c, '\u{620}'..='\u{64a}' | '\u{671}'..='\u{6d3}'))
        && marks.any(|c| *c == '\u{651}')
}
