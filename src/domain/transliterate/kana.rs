//! Transliterates kana by the Hepburn romanisation that Japanese passports use.

use any_ascii::any_ascii_char;
use unicode_normalization::UnicodeNormalization;

/// Transliterates a sequence of kana.
pub(super) fn kana(run: &[char]) -> String {
    let mut out = String::new();
    // True after a small tsu, which doubles the next consonant.
    let mut doubles = false;
    // In half-width kana, marks are separate characters. The normalisation NFKC joins each mark with its kana.
    let run: Vec<char> = run.iter().copied().nfkc().collect();
    for c in run {
        let syllable = match c {
            'っ' | 'ッ' => {
                doubles = true;
                continue;
            }
            'ー' => continue,
            'ゃ' | 'ャ' => contracted(&mut out, "ya"),
            'ゅ' | 'ュ' => contracted(&mut out, "yu"),
            'ょ' | 'ョ' => contracted(&mut out, "yo"),
            'ぁ' | 'ァ' => replaced(&mut out, "a"),
            'ぃ' | 'ィ' => replaced(&mut out, "i"),
            'ぅ' | 'ゥ' => replaced(&mut out, "u"),
            'ぇ' | 'ェ' => replaced(&mut out, "e"),
            'ぉ' | 'ォ' => replaced(&mut out, "o"),
            // These kana are written by their sound.
            'ぢ' | 'ヂ' => "ji",
            'づ' | 'ヅ' => "zu",
            'を' | 'ヲ' => "o",
            _ => any_ascii_char(c),
        };
        // In the output, only the syllable n ends with the letter n. Before b, m and p it becomes m.
        if out.ends_with('n') && syllable.starts_with(['b', 'm', 'p']) {
            out.pop();
            out.push('m');
        }
        if std::mem::take(&mut doubles)
            && let Some(first) = syllable.chars().next()
        {
            out.push(if syllable.starts_with("ch") { 't' } else { first });
        }
        out.push_str(syllable);
    }
    short_vowels(&out)
}

/// Removes the vowel of the syllable before a small ya, yu or yo: ki-ya becomes kya, and shi-ya becomes sha.
fn contracted<'s>(out: &mut String, small: &'s str) -> &'s str {
    if !out.ends_with('i') {
        return small;
    }
    out.pop();
    let is_palatal = out.ends_with("sh") || out.ends_with("ch") || out.ends_with('j');
    if is_palatal { small.strip_prefix('y').unwrap_or(small) } else { small }
}

/// Removes the vowel of the syllable before a small vowel: fu-a becomes fa, shi-e becomes she, and vu-a becomes va.
fn replaced<'s>(out: &mut String, small: &'s str) -> &'s str {
    if out.ends_with(['u', 'i', 'e', 'o']) && out.len() > 1 {
        out.pop();
    }
    small
}

/// Shortens long vowels: ou and oo become o, and uu becomes u. Before an e, the second vowel belongs to a separate syllable, so it
/// is kept.
fn short_vowels(latin: &str) -> String {
    let letters: Vec<char> = latin.chars().collect();
    let mut out = String::new();
    let mut last = ' ';
    for (at, c) in letters.iter().enumerate() {
        let next = at.checked_add(1).and_then(|next| letters.get(next));
        let is_long = matches!((last, *c), ('o', 'u' | 'o') | ('u', 'u')) && next != Some(&'e');
        if is_long {
            last = ' ';
            continue;
        }
        out.push(*c);
        last = *c;
    }
    out
}
