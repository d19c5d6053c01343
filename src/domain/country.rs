//! The country codes that records may have.

/// The codes of machine-readable travel documents that are not codes of ISO 3166-1.
///
/// Source: ICAO Doc 9303 part 3 (8th edition), section 5, parts A to D. `NTZ` and `ANT` are from earlier editions, but documents
/// with these codes are still in use. `IAO` is in documents of ICAO itself, and `UTO` is in specimens. ICAO's code for Kosovo is
/// `RKS`; the European Union and the World Bank use `XKX`.
const TRAVEL_DOCUMENT_CODES: &[&str] = &[
    // British passports whose holders are not British citizens.
    "GBD", "GBN", "GBO", "GBP", "GBS", //
    // Kosovo.
    "RKS", "XKX", //
    // The European Union, the United Nations, and their agencies and missions.
    "EUE", "UNO", "UNA", "UNK", //
    // Other organisations that issue documents.
    "XBA", "XIM", "XCC", "XCE", "XCO", "XEC", "XPO", "XES", "XMP", "XOM", "XDC", //
    // Persons without a nationality: stateless persons, refugees and others.
    "XXA", "XXB", "XXC", "XXX", //
    "ANT", "NTZ", "IAO", "UTO",
];

/// The codes of Germany in machine-readable zones: without padding, and padded to three characters.
const GERMANY: [&str; 2] = ["D", "D<<"];

/// Returns true if a text is an ISO 3166-1 alpha-3 code.
pub(super) fn is_iso_country(text: &str) -> bool {
    let is_upper = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
    is_upper && rust_iso3166::from_alpha3(text).is_some()
}

/// Converts a code in a record to a code of three letters. Accepts codes of ISO 3166-1 and of travel documents. Returns `None` for
/// any other text.
pub(super) fn country(text: &str) -> Option<&str> {
    if GERMANY.contains(&text) {
        return Some("DEU");
    }
    (is_iso_country(text) || TRAVEL_DOCUMENT_CODES.contains(&text)).then_some(text)
}

/// Returns true if two codes denote the same country. Only Kosovo has two codes.
pub(super) fn is_same_country(one: &str, other: &str) -> bool {
    let is_kosovo = |code: &str| matches!(code, "RKS" | "XKX");
    one == other || is_kosovo(one) && is_kosovo(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_travel_documents_are_countries_and_none_of_iso_3166() {
        for code in TRAVEL_DOCUMENT_CODES {
            assert!(!is_iso_country(code) && country(code) == Some(code), "{code}");
        }
        for code in GERMANY {
            assert_eq!(country(code), Some("DEU"));
        }
        for code in ["", "DE", "deu", "d", "D<", "XXD", "XYZ", "GBX", "U N", "DEU "] {
            assert_eq!(country(code), None, "{code}");
        }
        assert!(is_same_country("RKS", "XKX") && !is_same_country("GBR", "GBN"));
    }
}
