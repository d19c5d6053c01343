//! Query parameters: which an operation knows, and which are likely misspelt.

use strsim::damerau_levenshtein;

use crate::error::{Error, ErrorKind, Errors, quote};

/// The query parameters that an endpoint knows, in the order in which the OpenAPI document has them.
pub(in crate::service) struct Parameters {
    pub(in crate::service) known: &'static [&'static str],
    pub(in crate::service) refused: Option<Refused>,
}

/// A parameter that other services have for an operation, and what is expected here in its place.
pub(in crate::service) struct Refused {
    pub(in crate::service) name: &'static str,
    pub(in crate::service) expected: &'static str,
}

impl Parameters {
    pub(in crate::service) const NONE: Self = Self { known: &[], refused: None };
}

/// So many edits away a parameter is still meant to be the known one.
const MOST_EDITS: usize = 2;

/// A longer name is no misspelling, and the distance takes quadratic time.
const LONGEST: usize = 64;

/// Returns the known name that a name is equal to but for case, or at most two edits away from.
pub(in crate::service) fn near<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let distances = known.iter().map(|known| (damerau_levenshtein(&name, &known.to_lowercase()), *known));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    nearest.filter(|(distance, _)| *distance <= MOST_EDITS).map(|(_, known)| known)
}

/// Returns an error for a parameter that the operation does not know, if it is near one that it knows.
///
/// Clients may send parameters of their own, for caches and proxies, so any other is ignored.
pub(super) fn misspelt(parameters: &Parameters, name: &str) -> Option<Error> {
    let known = parameters.known;
    let found = format!("the query parameter {}", quote(name));
    if let Some(meant) = near(name, known) {
        let expected = match known {
            [one] => quote(one),
            _ => format!("one of {}", known.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")),
        };
        return Some(Error::new(ErrorKind::UnknownKey, 0, found, expected).suggest(Some(quote(meant))));
    }
    let refused = parameters.refused.as_ref().filter(|refused| near(name, &[refused.name]).is_some());
    refused.map(|refused| Error::new(ErrorKind::UnknownKey, 0, found, refused.expected))
}

/// Checks the names of a query's parameters.
///
/// # Errors
/// Those parameters that are [misspelt], ten at most.
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
    fn a_parameter_near_a_known_one_is_refused_and_others_are_ignored() {
        let known = &["offset", "limit", "order", "countTotalItems"];
        let search = Parameters { known, refused: None };
        let preview = Parameters { known: &["shareToken"], refused: None };
        let expected = "a member that is `null` in the body";
        let update = Parameters { known: &[], refused: Some(Refused { name: "unsetFields", expected }) };
        let told = |parameters: &Parameters, query| {
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
            let error = told(&search, query).unwrap_err();
            assert!(error.ends_with(&format!("; did you mean `{meant}`?")), "{query}: {error}");
        }
        for query in ["", "_=1", "x=1", "shareToken=1", "tenant=a", "utm_source=b", "=1", "order=id&offset=1"]
        {
            assert_eq!(told(&search, query), Ok(()), "{query}");
        }
        assert_eq!(check(&search, None), Ok(()));
        assert_eq!(
            told(&preview, "sharetoken=x"),
            Err("(byte 0): found the query parameter `sharetoken`, expected `shareToken`; did you mean `shareToken`?"
                .to_owned())
        );
        {
            assert_eq!(told(&Parameters::NONE, "unsetFields=a&limit=1&oder=x"), Ok(()));
        }
        for name in ["unsetFields", "unsetfields", "unsetField"] {
            let error = check(&update, Some(&format!("{name}=lastName"))).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("a member that is `null` in the body"), "{error}");
        }
        assert_eq!(told(&update, "fields=lastName"), Ok(()));
    }
}
