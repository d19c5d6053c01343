//! The table of all endpoints. The router, permissions, logs and metrics are derived from it.
//!
//! A test compares the table with the OpenAPI document.

use super::endpoint::Endpoint;
use super::{
    aml_case, company_info, compare_info, copy_profile, events, facets, filters, hit_review, preview, search,
    share_tokens, standing, step_status, update_info,
};

/// All endpoints.
pub(in crate::service) static ENDPOINTS: [Endpoint; 19] = [
    search::ENDPOINT,
    facets::ENDPOINT,
    filters::ENDPOINT,
    standing::LIST,
    standing::PUT,
    standing::GET,
    standing::DELETE,
    events::EVENTS,
    events::STREAM,
    step_status::ENDPOINT,
    preview::ENDPOINT,
    aml_case::ENDPOINT,
    update_info::ENDPOINT,
    share_tokens::ENDPOINT,
    copy_profile::ENDPOINT,
    hit_review::ENDPOINT,
    company_info::GET,
    company_info::PATCH,
    compare_info::ENDPOINT,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::routing::MethodFilter;
    use serde_json::Value;

    use super::super::endpoint::Handler;
    use super::*;

    fn endpoint(name: &str) -> &'static Endpoint {
        ENDPOINTS.iter().find(|endpoint| endpoint.name == name).unwrap()
    }

    #[test]
    fn the_openapi_document_has_the_endpoints_of_the_table_and_no_others() {
        let document: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
        let mut described = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let name = operation["operationId"].as_str().unwrap();
                described.insert(name);
                let endpoint = endpoint(name);
                let filter = match method.as_str() {
                    "get" => MethodFilter::GET,
                    "post" => MethodFilter::POST,
                    "patch" => MethodFilter::PATCH,
                    "put" => MethodFilter::PUT,
                    "delete" => MethodFilter::DELETE,
                    other => panic!("{other}"),
                };
                assert_eq!((endpoint.path, endpoint.method), (path.as_str(), filter), "{name}");
                let description = operation["description"].as_str().unwrap();
                let permission = format!("Permission: `{}`.", endpoint.permission.name());
                assert!(description.contains(&permission), "{name}: {description}");
                let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
                let of = |place: &str| -> Vec<&str> {
                    let own = parameters.iter().filter(|parameter| parameter["in"] == place);
                    own.map(|parameter| parameter["name"].as_str().unwrap()).collect()
                };
                assert_eq!(of("query"), endpoint.parameters.known, "{name}");
                assert_eq!(of("path").len(), usize::from(endpoint.has_id()), "{name}");
                let creates = matches!(endpoint.handler, Handler::Create(_));
                let is_change = ["patch", "put", "delete"].contains(&method.as_str()) || creates;
                assert_eq!(is_change, endpoint.survives_disconnect(), "{name}");
                let is_post = creates || matches!(endpoint.handler, Handler::Search(_));
                assert_eq!(method == "post", is_post, "{name}");
                assert_eq!(operation["responses"].get("201").is_some(), creates, "{name}");
            }
        }
        assert_eq!(described.len(), ENDPOINTS.len());
    }

    #[test]
    fn the_raw_segment_of_an_id_is_not_decoded() {
        let raw = |name, path| endpoint(name).raw_id(path);
        assert_eq!(raw("updateInfo", "/resources/applicants/%ff/info"), "%ff");
        assert_eq!(raw("amlCase", "/resources/api/applicants/a%20b/amlCase"), "a%20b");
        assert_eq!(raw("amlCase", "/resources/api"), "");
        assert_eq!(raw("casesByFilter", "/resources/api/caseManagement"), "");
    }
}
