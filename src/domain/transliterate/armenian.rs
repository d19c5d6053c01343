//! Transliterates Armenian letters by Regulation 220-N of the Armenian Government (3 March 2011) on geographical names in English.
//!
//! The regulation names eight letters: `ծ` ts, `ձ` dz, `ղ` gh, `ճ` ch, `ք` k, `փ` p, `խ` kh, `ժ` zh. The UNGEGN Working Group on
//! Romanization Systems deduced the other letters from the place names in the regulation (*Romanization of Armenian*, 8 November
//! 2011). The result is BGN/PCGN 1981 without apostrophes, and with r for `ռ`.

use super::letters::small;

/// The vowels after which `ե` and `և` begin with a y. `ւ` is in the list because it is the second half of the vowel `ու`.
const VOWELS: &str = "աեէըիոօւ";

/// Transliterates an Armenian letter. Also returns the number of characters that were read. Returns `None` for other scripts.
///
/// `letter` is the lower-case form of the first character of `rest`. `before` is the lower-case form of the character before
/// `letter`.
pub(super) fn armenian(
    letter: char,
    before: Option<char>,
    rest: &[char],
    starts_word: bool,
) -> Option<(&'static str, usize)> {
    let next = |at: usize| rest.get(at).map(|next| small(*next));
    let begins_with_y = starts_word || before.is_some_and(|before| VOWELS.contains(before));
    // The standard makes an exception for the word ով.
    let is_ov = next(1) == Some('վ') && !next(2).is_some_and(char::is_alphabetic);
    let latin = match letter {
        'ա' => "a",
        'բ' => "b",
        'գ' => "g",
        'դ' => "d",
        'ե' if begins_with_y => "ye",
        'ե' | 'է' => "e",
        'զ' => "z",
        'ը' | 'յ' => "y",
        'թ' | 'տ' => "t",
        'ժ' => "zh",
        'ի' => "i",
        'լ' => "l",
        'խ' => "kh",
        'ծ' | 'ց' => "ts",
        'կ' | 'ք' => "k",
        'հ' => "h",
        'ձ' => "dz",
        'ղ' => "gh",
        'ճ' | 'չ' => "ch",
        'մ' => "m",
        'ն' => "n",
        'շ' => "sh",
        'ո' if next(1) == Some('ւ') => return Some(("u", 2)),
        'ո' if starts_word && !is_ov => "vo",
        'ո' | 'օ' => "o",
        'պ' | 'փ' => "p",
        'ջ' => "j",
        // BGN/PCGN writes rr for ռ. Here it is r.
        'ռ' | 'ր' => "r",
        'ս' => "s",
        'վ' | 'ւ' => "v",
        'և' if begins_with_y => "yev",
        'և' => "ev",
        'ֆ' => "f",
        _ => return None,
    };
    Some((latin, 1))
}
