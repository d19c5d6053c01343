//! Creates the OpenAPI document of the service from `openapi.json`. Adapts the schemas of searches to the catalogue.

use serde_json::{Map, Value, json};

use crate::catalog::{Catalog, Field, FieldType, IdType, TimestampForm};

/// The OpenAPI document for the catalogue of cases.
const OPENAPI: &str = include_str!("openapi.json");

/// The reference in the OpenAPI document from searches and standing filters to the schema of their body.
const BODY: &str = "\"#/components/schemas/CaseFilter\"";

/// The replacement for [`BODY`] if the catalogue is extended.
const EXTENDED_BODY: &str = "\"#/components/schemas/ExtendedCaseFilter\"";

/// The reference in the OpenAPI document from counts by value to the schema of their body.
const FACETS_BODY: &str = "\"#/components/schemas/FacetedCaseFilter\"";

/// The replacement for [`FACETS_BODY`] if the catalogue is extended.
const EXTENDED_FACETS_BODY: &str = "\"#/components/schemas/ExtendedFacetedCaseFilter\"";

/// The path of the search.
const SEARCH: &str = "/resources/api/caseManagement/v2/cases/byFilter";

/// The path of counts by value.
const FACETS: &str = "/resources/api/caseManagement/v2/cases/facets";

/// The path of the list of fields.
const FILTERS: &str = "/resources/api/caseManagement/v2/cases/filters";

/// The path of a standing filter.
const STANDING: &str = "/resources/api/caseManagement/v2/cases/standingFilters/{name}";

/// The names of the fields that the examples in `openapi.json` use.
const EXAMPLE_FIELDS: [&str; 7] =
    ["id", "status", "caseReview.status", "tags", "totalAmountInDefaultCurrency", "createdAt", "priority"];

/// Returns the OpenAPI document of a service with this catalogue. For the catalogue of cases, this is the text of `openapi.json`.
pub(super) fn document(catalog: &Catalog) -> String {
    let text = match catalog.is_extended() {
        true => OPENAPI.replace(BODY, EXTENDED_BODY).replacen(FACETS_BODY, EXTENDED_FACETS_BODY, 1),
        false => OPENAPI.to_owned(),
    };
    if *catalog == Catalog::cases() {
        return text;
    }
    match serde_json::from_str(&text) {
        Ok(mut document) => {
            describe(&mut document, catalog);
            document.to_string()
        }
        // Cannot happen: the text is a constant of this program, and a test parses it.
        Err(_) => text,
    }
}

/// Replaces the descriptions of the fields of cases by descriptions of the fields of the catalogue.
fn describe(document: &mut Value, catalog: &Catalog) {
    let schemas = "/components/schemas";
    set(document, &format!("{schemas}/Case"), item_schema(catalog));
    let names: Vec<&str> = catalog.names().collect();
    for criterion in ["FieldCriterion", "ExtendedFieldCriterion"] {
        set(document, &format!("{schemas}/{criterion}/properties/field/enum"), json!(names));
    }
    let arrays: Vec<&str> = catalog.array_names().collect();
    if !arrays.is_empty() {
        set(document, &format!("{schemas}/ElementCriterion/properties/field/enum"), json!(arrays));
    }
    set(document, &format!("{schemas}/Facet/properties/field/enum"), json!(names));
    for filter in ["CaseFilter", "ExtendedCaseFilter", "FacetedCaseFilter", "ExtendedFacetedCaseFilter"] {
        if let Some(Value::Object(items)) =
            document.pointer_mut(&format!("{schemas}/{filter}/properties/ids/items"))
        {
            items.extend(id_in_request(catalog.id_type()));
        }
    }
    let path = |path: &str| path.replace('/', "~1");
    let operation = format!("/paths/{}/post", path(SEARCH));
    if let Some(Value::Array(parameters)) = document.pointer_mut(&format!("{operation}/parameters"))
        && let Some(order) = parameters.iter_mut().find(|parameter| parameter["name"] == "order")
    {
        let orders = orders(catalog);
        if let Some(example) = orders.last().filter(|_| catalog.find("createdAt").is_none()) {
            set(order, "/example", json!(example));
        }
        // An extended catalogue has orders by several fields.
        if !catalog.is_extended() {
            set(order, "/schema/enum", json!(orders));
        }
    }
    let listed: Vec<&str> = names.iter().take(4).copied().collect();
    let list = format!("/paths/{}/get/responses/200/content/application~1json", path(FILTERS));
    set(document, &format!("{list}/example"), json!(listed));
    set(document, &format!("{list}/schema/items/enum"), json!(names));
    if EXAMPLE_FIELDS.iter().any(|name| catalog.find(name).is_none()) {
        let body = format!("{operation}/requestBody/content/application~1json/examples");
        set(document, &body, request_examples(catalog));
        let standing =
            format!("/paths/{}/put/requestBody/content/application~1json/examples", path(STANDING));
        set(document, &standing, request_examples(catalog));
        let answer = format!("{operation}/responses/200/content/application~1json/example");
        let page_info = json!({"limit": 20, "offset": 0});
        let list = json!({"items": [example_item(catalog)], "totalItems": 1, "pageInfo": page_info});
        set(document, &answer, json!({ "list": list }));
        describe_facets(document, &format!("/paths/{}/post", path(FACETS)), catalog);
    }
}

/// Replaces the examples of counts by value.
fn describe_facets(document: &mut Value, operation: &str, catalog: &Catalog) {
    let (id, name) = (text_of(&example_id(catalog.id_type())), catalog.id_name());
    let request = json!({"ids": [id], "facets": [{"field": name, "limit": 1}]});
    let examples = json!({"byValue": {"summary": "Documents by value", "value": request}});
    set(document, &format!("{operation}/requestBody/content/application~1json/examples"), examples);
    let values = json!([{"value": id, "count": 1}]);
    let counts = json!({"field": name, "values": values, "absent": 0, "otherValues": 0, "otherCount": 0});
    let answer = format!("{operation}/responses/200/content/application~1json/example");
    set(document, &answer, json!({"totalItems": 1, "facets": [counts]}));
}

/// Sets the value at a JSON pointer. If the last key is absent, it is added. Does nothing if any other key is absent.
fn set(document: &mut Value, pointer: &str, value: Value) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    let parent = document.pointer_mut(parent).and_then(Value::as_object_mut);
    debug_assert!(parent.is_some(), "openapi.json has {pointer}");
    if let Some(parent) = parent {
        parent.insert(key.replace("~1", "/"), value);
    }
}

/// Returns the orders that requests may name: each single-valued field, ascending and descending.
fn orders(catalog: &Catalog) -> Vec<String> {
    let single = catalog.visible_fields().map(|(_, field)| field).filter(|field| !field.is_many());
    let names = single.flat_map(|field| std::iter::once(field.name()).chain(field.aliases()));
    names.flat_map(|name| [name.to_owned(), format!("-{name}")]).collect()
}

/// Returns the schema of an item of a search: the visible fields, as a tree of objects and arrays.
fn item_schema(catalog: &Catalog) -> Value {
    let mut properties = Map::new();
    properties.insert(catalog.id_name().to_owned(), id_schema(catalog.id_type()));
    for (_, field) in catalog.visible_fields() {
        if field.path() != catalog.id_name() {
            let keys: Vec<&str> = field.path().split('.').collect();
            insert(&mut properties, &keys, field);
        }
    }
    json!({
        "type": "object",
        "description": "A document as it was stored. Unknown members and number spellings are kept. `null` counts as absent.",
        "required": [catalog.id_name()],
        "properties": properties,
    })
}

/// Inserts the schema of a field at the path that consists of `keys`. A key ends with `[]` for an array, and with `[][]` for an
/// array of arrays.
fn insert(properties: &mut Map<String, Value>, keys: &[&str], field: &Field) {
    let mut properties = Some(properties);
    for (at, key) in keys.iter().enumerate() {
        let Some(open) = properties else { return };
        let name = key.trim_end_matches("[]");
        let is_last = at.saturating_add(1) == keys.len();
        let mut schema = match is_last {
            true => value_schema(field),
            false => json!({"type": ["object", "null"], "properties": {}}),
        };
        let arrays = key.len().saturating_sub(name.len()) / 2;
        for _ in 0..arrays {
            schema = json!({"type": ["array", "null"], "items": schema});
        }
        let mut node = open.entry(name).or_insert(schema);
        for _ in 0..arrays {
            let Some(items) = node.get_mut("items") else { return };
            node = items;
        }
        properties = node.get_mut("properties").and_then(Value::as_object_mut);
    }
}

/// Returns the schema of a value of a field.
fn value_schema(field: &Field) -> Value {
    let (kind, format, form) = match field.field_type() {
        FieldType::String => ("string", None, None),
        FieldType::Number | FieldType::Decimal { .. } => ("number", None, None),
        FieldType::Integer => ("integer", Some("int64"), None),
        FieldType::Boolean => ("boolean", None, None),
        FieldType::Timestamp => match field.form() {
            TimestampForm::Interface => (
                "string",
                None,
                Some("`yyyy-MM-dd HH:mm:ss`, followed by nothing (UTC) or by an offset such as `+0000`."),
            ),
            TimestampForm::Rfc3339 => {
                ("string", Some("date-time"), Some("RFC 3339, with at most milliseconds."))
            }
            TimestampForm::InterfaceOrRfc3339 => (
                "string",
                None,
                Some(
                    "`yyyy-MM-dd HH:mm:ss`, followed by nothing (UTC) or by an offset such as `+0000`; or RFC 3339, with at most milliseconds.",
                ),
            ),
            TimestampForm::Date => ("string", Some("date"), Some("A date `yyyy-MM-dd`.")),
            TimestampForm::UnixSeconds => ("integer", None, Some("Unix seconds.")),
            TimestampForm::UnixMillis => ("integer", None, Some("Unix milliseconds.")),
        },
    };
    let mut schema = Map::new();
    let may_be_text = match field.field_type() {
        FieldType::Timestamp => kind == "integer",
        FieldType::Decimal { .. } => true,
        _ => false,
    };
    let kinds = if may_be_text { json!(["string", kind, "null"]) } else { json!([kind, "null"]) };
    schema.insert("type".to_owned(), kinds);
    if let Some(format) = format {
        schema.insert("format".to_owned(), json!(format));
    }
    let mut told: Vec<String> = form.map(str::to_owned).into_iter().collect();
    if let FieldType::Decimal { scale } = field.field_type() {
        told.push(format!("Exact, with at most {scale} digits after the point."));
    }
    let known: Vec<&str> = field.known_values().collect();
    if !known.is_empty() {
        told.push(format!("Known values: {}.", known.join(", ")));
    }
    match field.default_value() {
        Some(default) => told.push(format!("An absent value is treated as {default}.")),
        None if !known.is_empty() => told.push("A deployment may have further values.".to_owned()),
        None => {}
    }
    if !told.is_empty() {
        schema.insert("description".to_owned(), json!(told.join(" ")));
    }
    Value::Object(schema)
}

/// Returns the schema of the id in documents.
fn id_schema(id_type: IdType) -> Value {
    match id_type {
        IdType::String => json!({"type": "string", "minLength": 1}),
        IdType::Integer => json!({"type": "integer", "format": "int64"}),
        IdType::Uuid => json!({"type": "string", "format": "uuid"}),
    }
}

/// Returns the additional members of the schema of an id in a request, where each id is a string.
fn id_in_request(id_type: IdType) -> Map<String, Value> {
    let member = match id_type {
        IdType::String => return Map::new(),
        IdType::Integer => ("pattern", "^-?(0|[1-9][0-9]*)$"),
        IdType::Uuid => ("format", "uuid"),
    };
    [member].into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

/// Returns an example of an id in a document.
fn example_id(id_type: IdType) -> Value {
    match id_type {
        IdType::String => json!("1"),
        IdType::Integer => json!(1),
        IdType::Uuid => json!("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
    }
}

/// Returns the text of an example in a request.
fn text_of(example: &Value) -> String {
    example.as_str().map_or_else(|| example.to_string(), str::to_owned)
}

/// Returns the field that the examples use besides the id. Prefers a single-valued field that is a member of the document itself.
fn example_field(catalog: &Catalog) -> Option<&Field> {
    let fields = || catalog.visible_fields().map(|(_, field)| field);
    let others = || fields().filter(|field| field.path() != catalog.id_name());
    others().find(|field| !field.path().contains(['.', '['])).or_else(|| others().next())
}

/// Returns an example of a value in a document, and of the same value in a criterion.
fn example_value(field: &Field) -> (Value, String) {
    let (in_document, in_request) = match field.field_type() {
        FieldType::String => {
            let known = field.known_values().next();
            let text = known.or(field.default_value()).unwrap_or("example");
            (json!(text), text.to_owned())
        }
        FieldType::Number => (json!(12.5), "12.5".to_owned()),
        FieldType::Integer | FieldType::Decimal { .. } => (json!(12), "12".to_owned()),
        FieldType::Boolean => (json!(true), "true".to_owned()),
        FieldType::Timestamp => {
            let in_document = match field.form() {
                TimestampForm::Rfc3339 => json!("2026-01-02T00:00:00Z"),
                TimestampForm::Date => json!("2026-01-02"),
                TimestampForm::UnixSeconds => json!(1_767_312_000),
                TimestampForm::UnixMillis => json!(1_767_312_000_000_u64),
                TimestampForm::Interface | TimestampForm::InterfaceOrRfc3339 => json!("2026-01-02 00:00:00"),
            };
            (in_document, "2026-01-02 00:00:00".to_owned())
        }
    };
    (in_document, in_request)
}

/// Returns the examples of request bodies.
fn request_examples(catalog: &Catalog) -> Value {
    let id = text_of(&example_id(catalog.id_type()));
    let by_ids = json!({"summary": "Documents by their ids", "value": {"ids": [id]}});
    match example_field(catalog) {
        Some(field) => {
            let values = [example_value(field).1];
            let criterion = json!({"field": field.name(), "op": "$contains", "values": values});
            let by_criteria =
                json!({"summary": "Documents with a value", "value": {"criteria": [criterion]}});
            json!({"byCriteria": by_criteria, "byIds": by_ids})
        }
        None => json!({ "byIds": by_ids }),
    }
}

/// Returns an example of an item.
fn example_item(catalog: &Catalog) -> Value {
    let mut item = Map::new();
    item.insert(catalog.id_name().to_owned(), example_id(catalog.id_type()));
    if let Some(field) = example_field(catalog)
        && !field.path().contains(['.', '['])
    {
        item.insert(field.path().to_owned(), example_value(field).0);
    }
    Value::Object(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(catalog: &Catalog) -> Value {
        serde_json::from_str(&document(catalog)).unwrap()
    }

    #[test]
    fn the_document_of_cases_is_the_file() {
        assert_eq!(document(&Catalog::cases()), OPENAPI);
        let extended = document(&Catalog::cases().extended());
        let plain = extended.replacen(EXTENDED_BODY, BODY, 2);
        assert_eq!(plain.replacen("ExtendedFacetedCaseFilter", "FacetedCaseFilter", 1), OPENAPI);
    }

    /// The schema in the file was written by hand.
    #[test]
    fn the_schema_of_cases_is_that_of_their_catalogue() {
        let file: Value = serde_json::from_str(OPENAPI).unwrap();
        let mut expected = file["components"]["schemas"]["Case"]["properties"].clone();
        expected["review"].as_object_mut().unwrap().remove("deprecated");
        assert_eq!(item_schema(&Catalog::cases())["properties"], expected);
    }

    #[test]
    fn schemas_follow_the_catalogue() {
        let fields = [
            Field::new("total", FieldType::Number),
            Field::new("state", FieldType::String).with_known(["new", "paid"]).with_alias("status"),
            Field::new("at", FieldType::Timestamp).with_form(TimestampForm::Rfc3339),
            Field::new("customer.born", FieldType::Timestamp).with_form(TimestampForm::Date),
            Field::new("count", FieldType::Integer),
            Field::new("items[].sku", FieldType::String),
            Field::new("items[].parts[][].n", FieldType::Number),
            Field::new("hushed", FieldType::String),
        ];
        let all = Catalog::new(fields).unwrap().with_id("orderId", IdType::Integer).unwrap();
        let names: Vec<&str> = all.names().filter(|name| *name != "hushed").collect();
        let catalog = all.allow(names.iter().copied()).unwrap();
        let document = parsed(&catalog);
        let schemas = &document["components"]["schemas"];
        let item = &schemas["Case"];
        assert_eq!(item["required"], json!(["orderId"]));
        let properties = &item["properties"];
        assert_eq!(properties["orderId"], json!({"type": "integer", "format": "int64"}));
        assert_eq!(properties["total"], json!({"type": ["number", "null"]}));
        assert_eq!(properties["at"]["format"], "date-time");
        assert_eq!(properties["customer"]["properties"]["born"]["format"], "date");
        assert_eq!(
            properties["state"]["description"],
            "Known values: new, paid. A deployment may have further values."
        );
        let items = &properties["items"]["items"]["properties"];
        assert_eq!(items["sku"], json!({"type": ["string", "null"]}));
        assert_eq!(items["parts"]["items"]["items"]["properties"]["n"], json!({"type": ["number", "null"]}));
        assert!(!document.to_string().contains("hushed"));
        assert_eq!(schemas["FieldCriterion"]["properties"]["field"]["enum"], json!(names));
        assert_eq!(
            schemas["ElementCriterion"]["properties"]["field"]["enum"],
            json!(catalog.array_names().collect::<Vec<_>>())
        );
        let search = &document["paths"][SEARCH]["post"];
        let order = search["parameters"].as_array().unwrap().iter().find(|own| own["name"] == "order");
        let orders = order.unwrap()["schema"]["enum"].as_array().unwrap();
        assert!(orders.contains(&json!("-total")) && orders.contains(&json!("status")));
        assert!(!orders.contains(&json!("items.sku")));
        assert!(orders.contains(&order.unwrap()["example"]));
        assert_eq!(
            document["paths"][FILTERS]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["items"]
                ["enum"],
            json!(names)
        );
        // Examples are valid.
        let media = &search["requestBody"]["content"]["application/json"]["examples"];
        for example in media.as_object().unwrap().values() {
            crate::filter::Filter::compile(&catalog, example["value"].to_string().as_bytes()).unwrap();
        }
        let answer = &search["responses"]["200"]["content"]["application/json"]["example"];
        let item = answer["list"]["items"][0].to_string();
        crate::filter::Document::parse(&catalog, item.as_bytes()).unwrap();
    }

    #[test]
    fn examples_are_valid_for_each_type_and_form() {
        let forms = TimestampForm::ALL.map(|form| Field::new("f", FieldType::Timestamp).with_form(form));
        let others = [FieldType::String, FieldType::Number, FieldType::Integer, FieldType::Boolean];
        let others = others.map(|kind| Field::new("f", kind));
        for field in others.into_iter().chain(forms) {
            for id_type in IdType::ALL {
                let catalog = Catalog::new([field.clone()]).unwrap().with_id("key", id_type).unwrap();
                let item = example_item(&catalog).to_string();
                assert!(item.contains("\"f\""));
                let parsed = crate::filter::Document::parse(&catalog, item.as_bytes()).unwrap();
                for example in request_examples(&catalog).as_object().unwrap().values() {
                    let body = example["value"].to_string();
                    let filter = crate::filter::Filter::compile(&catalog, body.as_bytes()).unwrap();
                    assert!(filter.selects(&parsed).unwrap(), "{body} {item}");
                }
            }
        }
    }

    #[test]
    fn grown_cases_keep_their_examples() {
        let grown = Catalog::cases().with([Field::new("riskScore", FieldType::Integer)]).unwrap();
        let (own, file) = (parsed(&grown), parsed(&Catalog::cases()));
        let examples = |document: &Value| {
            document["paths"][SEARCH]["post"]["requestBody"]["content"]["application/json"]["examples"]
                .clone()
        };
        assert_eq!(examples(&own), examples(&file));
        let risk = &own["components"]["schemas"]["Case"]["properties"]["riskScore"];
        assert_eq!(*risk, json!({"type": ["integer", "null"], "format": "int64"}));
    }
}
