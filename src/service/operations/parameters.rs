//! Checks the query parameters of an endpoint, and detects misspelt parameter names.

use strsim::damerau_levenshtein;

use crate::error::{Error, ErrorKind, Errors, quote, quote_all};

/// The query parameters that an endpoint accepts, in the order of the OpenAPI document.
pub(in crate::service) struct Parameters {
    pub(in crate::service) known: &'static [&'static str],
    pub(in crate::service) unsupported: Option<Unsupported>,
}

/// A parameter that only other services support. `expected` is the part of the error text that says how a client of this service
/// gets the same effect.
pub(in crate::service) struct Unsupported {
    pub(in crate::service) name: &'static str,
    pub(in crate::service) expected: &'static str,
}

impl Parameters {
    pub(in crate::service) const NONE: Self = Self { known: &[], unsupported: None };
}

/// The maximum edit distance between a misspelt name and the known name.
const MAX_EDITS: usize = 2;

/// The maximum length of an unknown name that is compared with the known names, in bytes. A longer name gets no suggestion, because
/// computing the edit distance takes quadratic time.
const MAX_NAME_BYTES: usize = 64;

/// Returns the known name with the smallest edit distance (Damerau-Levenshtein), ignoring case. The distance must be at most
/// [`MAX_EDITS`].
pub(in crate::service) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return None;
    }
    let name = name.to_lowercase();
    let distances = known.iter().map(|known| (damerau_levenshtein(&name, &known.to_lowercase()), *known));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    nearest.filter(|(distance, _)| *distance <= MAX_EDITS).map(|(_, known)| known)
}

/// Returns an error if the unknown parameter `name` is similar to a known or an unsupported parameter.
///
/// Other unknown parameters are ignored, because clients may send parameters for caches and proxies.
pub(super) fn misspelt(parameters: &Parameters, name: &str) -> Option<Error> {
    let known = parameters.known;
    let found = format!("the query parameter {}", quote(name));
    if let Some(meant) = nearest(name, known) {
        let expected = match known {
            [one] => quote(one).to_string(),
            _ => format!("one of {}", quote_all(known.iter().copied())),
        };
        return Some(Error::new(ErrorKind::UnknownKey, 0, found, expected).suggest(Some(quote(meant))));
    }
    let unsupported = parameters.unsupported.as_ref().filter(|own| nearest(name, &[own.name]).is_some());
    unsupported.map(|own| Error::new(ErrorKind::UnknownKey, 0, found, own.expected))
}

/// Checks the parameter names in a query string.
///
/// # Errors
/// Returns the errors of the first ten [misspelt] parameters.
pub(in crate::service) fn check(parameters: &Parameters, query: Option<&str>) -> Result<(), Errors> {
    let names = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).map(|(name, _)| name);
    let unknown = names.filter(|name| !parameters.known.contains(&&**name));
    let errors = unknown.filter_map(|name| misspelt(parameters, &name)).collect();
    Errors::in_order(errors).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_parameter_is_rejected_and_other_unknown_ones_are_ignored() {
        let known = &["offset", "limit", "order", "countTotalItems"];
        let search = Parameters { known, unsupported: None };
        let preview = Parameters { known: &["shareToken"], unsupported: None };
        let expected = "a member that is `null` in the body";
        let update =
            Parameters { known: &[], unsupported: Some(Unsupported { name: "unsetFields", expected }) };
        let checked = |parameters: &Parameters, query| {
            check(parameters, Some(query)).map_err(|errors| errors.to_string())
        };
        for (query, meant) in [
            ("oder=-createdAt", "order"),
            ("Limit=5", "limit"),
            ("offSet=10", "offset"),
            ("OFFSET=10", "offset"),
            ("ofset=1", "offset"),
            ("lmiit=1", "limit"),
            ("limits=1", "limit"),
            ("orderBy=id", "order"),
            ("count_total_items=true", "countTotalItems"),
            ("countTotalItem=true", "countTotalItems"),
            ("limit=5&limti=5", "limit"),
            ("o%64er=id", "order"),
        ] {
            let error = checked(&search, query).unwrap_err();
            assert!(error.ends_with(&format!("; did you mean `{meant}`?")), "{query}: {error}");
        }
        for query in ["", "_=1", "x=1", "shareToken=1", "tenant=a", "utm_source=b", "=1", "order=id&offset=1"]
        {
            assert_eq!(checked(&search, query), Ok(()), "{query}");
        }
        assert_eq!(check(&search, None), Ok(()));
        assert_eq!(
            checked(&preview, "sharetoken=x"),
            Err("(byte 0): found the query parameter `sharetoken`, expected `shareToken`; did you mean `shareToken`?"
                .to_owned())
        );
        assert_eq!(checked(&Parameters::NONE, "unsetFields=a&limit=1&oder=x"), Ok(()));
        for name in ["unsetFields", "unsetfields", "unsetField"] {
            let error = check(&update, Some(&format!("{name}=lastName"))).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("a member that is `null` in the body"), "{error}");
        }
        assert_eq!(checked(&update, "fields=lastName"), Ok(()));
    }
}
