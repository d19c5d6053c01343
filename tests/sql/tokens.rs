//! Tokenisers of the four SQL dialects, for the tests of statements. They follow the manuals of the databases, and share no code
//! with the library, which writes the statements.

use casefilter::sql::{Datum, Dialect, Statement};

/// A token of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A string, decoded.
    Text(String),
    /// A name in quotes, decoded.
    Name(String),
    /// A keyword, function or type.
    Word(String),
    /// A number as written, with its sign.
    Number(String),
    /// The placeholder of a parameter, as written.
    Parameter(String),
    Symbol(char),
}

/// Splits a text into tokens.
///
/// # Errors
/// Returns an error if the text contains something that is not a token, such as a comment.
pub(crate) fn tokens(dialect: Dialect, sql: &str) -> Result<Vec<Token>, String> {
    let mut rest = sql.chars().peekable();
    let mut found: Vec<Token> = Vec::new();
    let name_quote = match dialect {
        Dialect::Postgres | Dialect::DuckDb => '"',
        Dialect::ClickHouse | Dialect::Spark => '`',
        _ => panic!("no test of {dialect}"),
    };
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match c {
            ' ' => {}
            '\'' => found.push(Token::Text(text(dialect, false, &mut rest)?)),
            c if c == name_quote => found.push(Token::Name(name(c, &mut rest)?)),
            'E' if dialect == Dialect::Postgres && next == Some('\'') => {
                rest.next();
                found.push(Token::Text(text(dialect, true, &mut rest)?));
            }
            '-' if next == Some('-') => return Err("a comment".into()),
            '/' if next == Some('*') => return Err("a comment".into()),
            '#' | ';' | '\\' | '"' | '`' => return Err(format!("the character {c}")),
            '$' if dialect == Dialect::Spark => return Err("a variable".into()),
            '?' if dialect == Dialect::Spark => found.push(Token::Parameter("?".into())),
            '$' | '{' => {
                let mut spelled = String::from(c);
                while let Some(more) = rest.next_if(|more| match c {
                    '$' => more.is_ascii_digit(),
                    _ => *more != '}',
                }) {
                    spelled.push(more);
                }
                if c == '{' {
                    rest.next();
                    spelled.push('}');
                }
                found.push(Token::Parameter(spelled));
            }
            c if c.is_ascii_digit() || (c == '-' && next.is_some_and(|next| next.is_ascii_digit())) => {
                let mut spelled = String::from(c);
                while let Some(more) = rest.next_if(|more| more.is_ascii_alphanumeric() || *more == '.') {
                    spelled.push(more);
                    if more == 'e'
                        && let Some(sign) = rest.next_if_eq(&'-')
                    {
                        spelled.push(sign);
                    }
                }
                found.push(Token::Number(spelled));
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let mut word = String::from(c);
                while let Some(more) = rest.next_if(|more| more.is_ascii_alphanumeric() || *more == '_') {
                    word.push(more);
                }
                found.push(Token::Word(word));
            }
            '(' | ')' | '[' | ']' | ',' | '.' | '=' | '<' | '>' | ':' | '*' | '&' | '@' | '|' | '-' => {
                found.push(Token::Symbol(c));
            }
            other => return Err(format!("the character {other:?}")),
        }
    }
    Ok(found)
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads a string after its opening quote.
fn text(dialect: Dialect, has_escapes: bool, rest: &mut Chars<'_>) -> Result<String, String> {
    let mut decoded = String::new();
    while let Some(c) = rest.next() {
        match (dialect, c) {
            (_, '\0') => return Err("a zero byte".into()),
            (Dialect::Postgres | Dialect::DuckDb, '\'') => {
                if rest.next_if_eq(&'\'').is_none() {
                    return Ok(decoded);
                }
                decoded.push('\'');
            }
            (_, '\'') => return Ok(decoded),
            (Dialect::Postgres, '\\') if has_escapes => match rest.next() {
                Some(same @ ('\\' | '\'')) => decoded.push(same),
                other => return Err(format!("the escape {other:?}")),
            },
            (Dialect::ClickHouse, '\\') => match rest.next() {
                Some('0') => decoded.push('\0'),
                Some(same @ ('\\' | '\'' | '`')) => decoded.push(same),
                other => return Err(format!("the escape {other:?}")),
            },
            (Dialect::Spark, '\\') => match rest.next() {
                Some(same @ ('\\' | '\'')) => decoded.push(same),
                Some('u') => {
                    let digits: String = rest.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).map_err(|fault| fault.to_string())?;
                    decoded.push(char::from_u32(code).ok_or("a surrogate")?);
                }
                other => return Err(format!("the escape {other:?}")),
            },
            (Dialect::Spark, '$') if rest.peek() == Some(&'{') => return Err("a variable".into()),
            (_, c) => decoded.push(c),
        }
    }
    Err("a string without an end".into())
}

fn name(quote: char, rest: &mut Chars<'_>) -> Result<String, String> {
    let mut decoded = String::new();
    while let Some(c) = rest.next() {
        if c != quote {
            decoded.push(c);
        } else if rest.next_if_eq(&quote).is_some() {
            decoded.push(quote);
        } else {
            return Ok(decoded);
        }
    }
    Err("a name without an end".into())
}

/// Joins strings and calls of `chr` that are concatenated.
fn joined(tokens: Vec<Token>) -> Vec<Token> {
    let joint = |tokens: &[Token]| match tokens {
        [
            Token::Symbol('|'),
            Token::Symbol('|'),
            Token::Word(call),
            Token::Symbol('('),
            Token::Number(number),
            Token::Symbol(')'),
            Token::Symbol('|'),
            Token::Symbol('|'),
            Token::Text(next),
            ..,
        ] if call == "chr" => Some(format!("{}{next}", char::from(number.parse::<u8>().unwrap()))),
        _ => None,
    };
    let mut out: Vec<Token> = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        match (out.last_mut(), joint(rest)) {
            (Some(Token::Text(last)), Some(joined)) => {
                last.push_str(&joined);
                rest = rest.split_at(9).1;
            }
            _ => {
                out.push(first.clone());
                rest = behind;
            }
        }
    }
    out
}

/// Removes the numbers that are part of a test in ClickHouse and not values: the numbers in `> 0` and `= 1` (a value would be
/// inside a call), in the range of `substring`, and in the index of `tupleElement`.
fn without_constants(dialect: Dialect, tokens: Vec<Token>) -> Vec<Token> {
    if dialect != Dialect::ClickHouse {
        return tokens;
    }
    let number =
        |token: &Token| matches!(token, Token::Number(number) if number.bytes().all(|b| b.is_ascii_digit()));
    let mut out: Vec<Token> = Vec::new();
    let mut in_substring = false;
    for token in tokens {
        let is_constant = number(&token)
            && match out.last() {
                Some(Token::Symbol('>' | '=')) => true,
                _ => in_substring,
            };
        if !is_constant {
            in_substring = match &token {
                Token::Word(word) if word == "substring" || word == "tupleElement" => true,
                Token::Symbol(')') => false,
                _ => in_substring,
            };
            out.push(token);
        }
    }
    out
}

/// Checks both forms of a statement without an order: each is one statement of valid tokens, and the literals are the parameters.
///
/// # Panics
/// A check fails.
pub(crate) fn check(statement: &Statement) {
    let dialect = statement.dialect();
    let bound = statement.to_sql();
    let places = tokens(dialect, &bound).unwrap_or_else(|fault| panic!("{dialect}: {fault}: {bound}"));
    assert!(!places.iter().any(|token| matches!(token, Token::Text(_))), "{dialect}: {bound}");
    let places: Vec<&str> = places
        .iter()
        .filter_map(|token| match token {
            Token::Parameter(spelled) => Some(spelled.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(places.len(), statement.params().len(), "{dialect}: {bound}");
    for (number, place) in (1..).zip(places) {
        match dialect {
            Dialect::Postgres | Dialect::DuckDb => assert_eq!(place, format!("${number}")),
            Dialect::ClickHouse => assert!(place.starts_with(&format!("{{p{number}:"))),
            Dialect::Spark => assert_eq!(place, "?"),
            _ => panic!("no test of {dialect}"),
        }
    }

    let literal = statement.to_literal();
    // The literals add no character that is special to a command-line tool.
    assert!(dialect != Dialect::Spark || !literal.contains(char::is_control), "{literal:?}");
    assert!(dialect != Dialect::DuckDb || !literal.contains(['\r', '\0']), "{literal:?}");
    let found = tokens(dialect, &literal).unwrap_or_else(|fault| panic!("{dialect}: {fault}: {literal}"));
    let mut literals =
        without_constants(dialect, joined(found)).into_iter().filter(|token| match (dialect, token) {
            (_, Token::Text(_)) | (Dialect::ClickHouse, Token::Number(_)) => true,
            // Other numbers are a limit, an offset, or the rank of a known value.
            (Dialect::Spark, Token::Number(spelled)) => spelled.ends_with(['D', 'L']),
            _ => false,
        });
    let mut next = || match literals.next() {
        Some(Token::Text(text) | Token::Number(text)) => text,
        other => panic!("{dialect}: {other:?} in {literal}"),
    };
    for datum in statement.params() {
        match datum {
            Datum::Text(text) => assert_eq!(next(), *text),
            Datum::Texts(texts) => texts.iter().for_each(|text| assert_eq!(next(), *text)),
            Datum::Number(number) => number_is(&next(), *number),
            Datum::Numbers(numbers) => numbers.iter().for_each(|number| number_is(&next(), *number)),
            Datum::Integer(integer) => integer_is(&next(), *integer),
            Datum::Integers(integers) => integers.iter().for_each(|integer| integer_is(&next(), *integer)),
            Datum::Decimal(_) | Datum::Decimals(_) => {
                let decimals = match datum {
                    Datum::Decimals(decimals) => decimals.clone(),
                    Datum::Decimal(decimal) => vec![*decimal],
                    _ => Vec::new(),
                };
                for decimal in &decimals {
                    assert_eq!(next(), decimal.to_string());
                }
                // The type of ClickHouse has its precision and its scale as numbers.
                if dialect == Dialect::ClickHouse {
                    assert_eq!((next(), next()), ("19".to_owned(), decimals[0].scale().to_string()));
                }
            }
            Datum::Boolean(_) | Datum::Booleans(_) => {}
            Datum::Null => panic!("{dialect}: a null in {literal}"),
            other => panic!("{dialect}: {other:?} in {literal}"),
        }
    }
    assert_eq!(literals.next(), None, "{dialect}: {literal}");
}

fn number_is(text: &str, number: f64) {
    let read: f64 = text.trim_end_matches('D').parse().unwrap();
    assert_eq!(read.to_bits(), number.to_bits());
}

fn integer_is(text: &str, integer: i64) {
    assert_eq!(text.trim_end_matches('L').parse(), Ok(integer));
}
