//! A word of a command line with its quotes, as a shell passes it for completion.

use crate::commands::completions::Shell;

/// The quote with which a word begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    /// The word does not begin with a quote. A completion adds a quote, because most filters contain spaces.
    None,
    Single,
    Double,
}

/// A word that is being written.
#[derive(Debug)]
pub(super) struct Word {
    quote: Quote,
    text: String,
}

impl Word {
    /// Reads a word that is being written. Returns `None` if the word begins with a quote that is closed again. Also returns `None`
    /// if the word does not begin with a quote, but contains a quote, `\`, `$` or a backtick.
    pub(super) fn read(word: &str) -> Option<Self> {
        if let Some(rest) = word.strip_prefix('\'') {
            return (!rest.contains('\'')).then(|| Self { quote: Quote::Single, text: rest.to_owned() });
        }
        if let Some(rest) = word.strip_prefix('"') {
            let (text, after) = in_double_quotes(rest);
            return after.is_none().then_some(Self { quote: Quote::Double, text });
        }
        let is_plain = !word.contains(['\'', '"', '\\', '$', '`']);
        is_plain.then(|| Self { quote: Quote::None, text: word.to_owned() })
    }

    /// Returns the text of a complete word. Returns `None` if the word begins with a quote that is not closed exactly at its end.
    /// Also returns `None` if an unquoted word ends in a `\` that escapes nothing.
    pub(super) fn read_whole(word: &str) -> Option<String> {
        if let Some(rest) = word.strip_prefix('\'') {
            return rest.strip_suffix('\'').filter(|text| !text.contains('\'')).map(str::to_owned);
        }
        if let Some(rest) = word.strip_prefix('"') {
            return match in_double_quotes(rest) {
                (text, Some("")) => Some(text),
                _ => None,
            };
        }
        let mut text = String::new();
        let mut chars = word.chars();
        while let Some(char) = chars.next() {
            text.push(if char == '\\' { chars.next()? } else { char });
        }
        Some(text)
    }

    /// Returns the text within the quotes.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the word with another text, in the form in which the shell inserts it. Bash keeps an opening quote itself, and fish
    /// adds quotes itself. Returns `None` if the text cannot be in these quotes.
    pub(super) fn with_text(&self, text: &str, shell: Shell) -> Option<String> {
        if shell == Shell::Fish {
            return Some(text.to_owned());
        }
        let is_open = self.quote != Quote::None;
        let opening = match (shell, self.quote) {
            (Shell::Bash, _) if is_open => "",
            (_, Quote::Double) => "\"",
            (_, Quote::Single | Quote::None) => "'",
        };
        let text = match self.quote {
            Quote::Double => {
                let mut escaped = String::with_capacity(text.len());
                for char in text.chars() {
                    if matches!(char, '"' | '\\' | '$' | '`') {
                        escaped.push('\\');
                    }
                    escaped.push(char);
                }
                escaped
            }
            Quote::Single | Quote::None if text.contains('\'') => return None,
            Quote::Single | Quote::None => text.to_owned(),
        };
        Some(format!("{opening}{text}"))
    }
}

/// Reads the text after a double quote. Also returns the rest of the word after the closing quote, or `None` if there is no closing
/// quote.
fn in_double_quotes(rest: &str) -> (String, Option<&str>) {
    let mut text = String::new();
    let mut chars = rest.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return (text, Some(chars.as_str())),
            '\\' => match chars.next() {
                Some(escaped @ ('"' | '\\' | '$' | '`')) => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => {}
            },
            other => text.push(other),
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_words_are_read_and_written_in_their_quotes() {
        for (word, text, bash, zsh) in [
            ("'status = o", Some("status = o"), "a \"b\"", "'a \"b\""),
            ("\"name = \\\"x", Some("name = \"x"), "a \\\"b\\\"", "\"a \\\"b\\\""),
            ("sta", Some("sta"), "'a \"b\"", "'a \"b\""),
            ("", Some(""), "'a \"b\"", "'a \"b\""),
            ("'closed'", None, "", ""),
            ("\"closed\"", None, "", ""),
            ("part'ly", None, "", ""),
            ("status\\ =", None, "", ""),
        ] {
            let read = Word::read(word);
            assert_eq!(read.as_ref().map(Word::text), text, "{word}");
            if let Some(read) = read {
                assert_eq!(read.with_text("a \"b\"", Shell::Bash).as_deref(), Some(bash));
                assert_eq!(read.with_text("a \"b\"", Shell::Zsh).as_deref(), Some(zsh));
                assert_eq!(read.with_text("a \"b\"", Shell::Fish).as_deref(), Some("a \"b\""));
            }
        }
        assert_eq!(Word::read("'x").unwrap().with_text("it's", Shell::Bash), None);
        for (word, text) in [
            ("a\\ b.db", Some("a b.db")),
            ("'a b'", Some("a b")),
            ("\"a\\\"\"", Some("a\"")),
            ("'a", None),
            ("\"a\"b\"", None),
            ("\"a\"b", None),
        ] {
            assert_eq!(Word::read_whole(word).as_deref(), text, "{word}");
        }
    }
}
