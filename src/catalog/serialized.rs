//! Serialises and deserialises fields and catalogues, so that a configuration file can contain them.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::catalogue::Catalog;
use super::error::CatalogError;
use super::field::Field;
use super::timestamp_form::TimestampForm;
use crate::value::FieldType;
use crate::value::IdType;

impl Serialize for FieldType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FieldType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let expected = &"one of `string`, `number`, `integer`, `decimal(2)`, `timestamp`, `boolean`";
        name.parse().map_err(|_| D::Error::invalid_value(Unexpected::Str(&name), expected))
    }
}

/// The type of a field in a catalogue, without the scale of a decimal, which is a separate member.
mod type_name {
    use serde::de::{Error, Unexpected};
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::value::FieldType;

    pub(super) fn serialize<S: Serializer>(kind: &FieldType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FieldType, D::Error> {
        let name = String::deserialize(deserializer)?;
        let expected = &"one of `string`, `number`, `integer`, `decimal`, `timestamp`, `boolean`";
        let unknown = || D::Error::invalid_value(Unexpected::Str(&name), expected);
        FieldType::ALL.into_iter().find(|own| own.name() == name).ok_or_else(unknown)
    }
}

impl Serialize for IdType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for IdType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let expected = &"one of `string`, `integer`, `uuid`";
        let unknown = || D::Error::invalid_value(Unexpected::Str(&name), expected);
        Self::ALL.into_iter().find(|own| own.name() == name).ok_or_else(unknown)
    }
}

impl Serialize for TimestampForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for TimestampForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || {
            let expected = Self::ALL.map(|form| format!("`{}`", form.name())).join(", ");
            D::Error::invalid_value(Unexpected::Str(&name), &&*format!("one of {expected}"))
        };
        Self::ALL.into_iter().find(|own| own.name() == name).ok_or_else(unknown)
    }
}

/// The members of a serialised field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form<'f> {
    path: Cow<'f, str>,
    #[serde(rename = "type", with = "type_name")]
    field_type: FieldType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<Cow<'f, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    known: Vec<Cow<'f, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<Cow<'f, str>>,
    #[serde(default, skip_serializing_if = "is_false")]
    key: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    searchable: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    form: TimestampForm,
    /// True if the catalogue was narrowed to a set of fields that does not contain this field.
    #[serde(default, skip_serializing_if = "is_false")]
    hidden: bool,
}

fn is_default(form: &TimestampForm) -> bool {
    *form == TimestampForm::default()
}

fn is_false(value: &bool) -> bool {
    !value
}

impl<'f> Form<'f> {
    fn of(field: &'f Field, hidden: bool) -> Self {
        Self {
            path: field.path().into(),
            field_type: field.field_type(),
            scale: match field.field_type() {
                FieldType::Decimal { scale } => Some(scale),
                _ => None,
            },
            aliases: field.aliases().map(Cow::from).collect(),
            known: field.known_values().map(Cow::from).collect(),
            default: field.default_value().map(Cow::from),
            key: field.is_key(),
            searchable: field.is_searchable(),
            form: field.form(),
            hidden,
        }
    }

    /// Checks that a decimal field has a scale, and that any other field has no scale.
    fn check<E: Error>(&self) -> Result<(), E> {
        match (self.field_type, self.scale) {
            (FieldType::Decimal { .. }, None) => Err(E::missing_field("scale")),
            (FieldType::Decimal { .. }, Some(_)) | (_, None) => Ok(()),
            (kind, Some(_)) => Err(E::custom(format!(
                "`scale` is for decimal fields, not for {} field",
                kind.with_article()
            ))),
        }
    }

    fn field(&self) -> Field {
        let kind = match (self.field_type, self.scale) {
            (FieldType::Decimal { .. }, Some(scale)) => FieldType::Decimal { scale },
            (kind, _) => kind,
        };
        let mut field = Field::new(&self.path, kind).with_known(self.known.iter().map(|known| &**known));
        for alias in &self.aliases {
            field = field.with_alias(alias);
        }
        if let Some(default) = &self.default {
            field = field.with_default(default);
        }
        if self.key {
            field = field.key();
        }
        if self.searchable {
            field = field.searchable();
        }
        field.with_form(self.form)
    }
}

/// The members are `path` and `type`, and the `scale` of a decimal. Settings that are not set are left out: `aliases`, `known`,
/// `default`, `key`, `searchable` and `form`.
///
/// ```
/// use casefilter::{Field, FieldType};
/// let field = Field::new("level", FieldType::String).with_known(["low", "high"]).with_default("low");
/// let json = serde_json::to_string(&field)?;
/// assert_eq!(json, r#"{"path":"level","type":"string","known":["low","high"],"default":"low"}"#);
/// assert_eq!(serde_json::from_str::<Field>(&json)?, field);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Form::of(self, false).serialize(serializer)
    }
}

/// Reads the members that the serialised form has.
impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        form.check()?;
        if form.hidden {
            Err(D::Error::custom("a field by itself cannot be hidden"))
        } else {
            Ok(form.field())
        }
    }
}

/// The members of a serialised catalogue.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole<'f> {
    #[serde(default, skip_serializing)]
    extends: Option<Base>,
    #[serde(default, skip_serializing_if = "is_false")]
    extended_operators: bool,
    #[serde(default, skip_serializing)]
    rfc3339: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<IdForm<'f>>,
    #[serde(default)]
    fields: Vec<Form<'f>>,
}

/// The members of a serialised id.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdForm<'f> {
    #[serde(default = "plain_name")]
    path: Cow<'f, str>,
    #[serde(default, rename = "type")]
    id_type: IdType,
}

fn plain_name() -> Cow<'static, str> {
    "id".into()
}

impl IdForm<'_> {
    fn field(&self) -> Result<Field, CatalogError> {
        match Catalog::is_id_name(&self.path) {
            true => Ok(Field::of_id(&self.path, self.id_type)),
            false => Err(CatalogError::BadIdName(self.path.to_string())),
        }
    }
}

/// The catalogues that another catalogue can extend.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Base {
    Cases,
}

/// Serialises the catalogue in the form of a [catalogue file](crate::guide::catalogues#catalogues-from-files) that lists all
/// fields.
impl Serialize for Catalog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.field_ids().map(|id| Form::of(self.field(id), !self.is_visible(id))).collect();
        let own = self.fields().first().filter(|id| **id != Self::id_field());
        let id = own.map(|id| IdForm { path: id.path().into(), id_type: id.id_type() });
        Whole { extended_operators: self.is_extended(), id, fields, ..Whole::default() }.serialize(serializer)
    }
}

/// Deserialises a catalogue from the form of a [catalogue file](crate::guide::catalogues#catalogues-from-files), or from a list of
/// fields alone. The rules of [`Catalog::new`] apply. Errors have no offset. [`Catalog::from_json`] returns errors with offsets.
///
/// ```
/// use casefilter::{Catalog, FieldType};
/// let tickets: Catalog = serde_json::from_str(r#"[
///     {"path": "state", "type": "string", "known": ["new", "open", "closed"]},
///     {"path": "openedAt", "type": "timestamp"},
///     {"path": "tags[]", "type": "string"}]"#)?;
/// assert_eq!(tickets.names().collect::<Vec<_>>(), ["id", "state", "openedAt", "tags"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<'de> Deserialize<'de> for Catalog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Whole { extends, extended_operators, rfc3339, id, fields } =
            deserializer.deserialize_any(Forms)?;
        fields.iter().try_for_each(Form::check)?;
        let fields_of_own = fields.iter().map(Form::field);
        let made = match (extends, &id) {
            (Some(Base::Cases), Some(_)) => return Err(D::Error::custom("cases keep the string `id`")),
            (Some(Base::Cases), None) => Self::cases().with(fields_of_own),
            (None, Some(id)) => id.field().and_then(|id| Self::of_id(id, fields_of_own)),
            (None, None) => Self::new(fields_of_own),
        };
        let mut catalog = made.map_err(D::Error::custom)?;
        if rfc3339 {
            catalog = catalog.with_rfc3339();
        }
        let hidden: Vec<Field> = fields.iter().filter(|form| form.hidden).map(Form::field).collect();
        if !hidden.is_empty() {
            let is_hidden = |name: &str| hidden.iter().any(|field| field.name() == name);
            let shown =
                catalog.visible_fields().map(|(_, field)| field.name()).filter(|name| !is_hidden(name));
            catalog = catalog.allow(shown.collect::<Vec<_>>()).map_err(D::Error::custom)?;
        }
        Ok(if extended_operators { catalog.extended() } else { catalog })
    }
}

/// A visitor that reads a catalogue, or a list of fields alone.
struct Forms;

impl<'de> Visitor<'de> for Forms {
    type Value = Whole<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a catalogue, or a list of fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Self::Value, A::Error> {
        let fields = Vec::deserialize(SeqAccessDeserializer::new(elements))?;
        Ok(Whole { fields, ..Whole::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        Whole::deserialize(MapAccessDeserializer::new(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogues_are_read_back() {
        let cases = Catalog::cases();
        let own = Catalog::new([
            Field::new("at", FieldType::Timestamp).unix_millis().with_alias("time").with_alias("when"),
            Field::new("customer", FieldType::String).key(),
            Field::new("legs[].amount", FieldType::Number),
            Field::new("day", FieldType::Timestamp).with_form(TimestampForm::Date),
            Field::new("count", FieldType::Integer).with_known(["1", "2"]).with_default("2"),
            Field::new("price", FieldType::Decimal { scale: 2 }).with_default("0.5"),
        ]);
        let own = own.unwrap();
        for catalog in [
            own.extended(),
            own,
            cases.allow(["status", "tags"]).unwrap(),
            cases.allow([]).unwrap(),
            cases.with_rfc3339(),
            cases,
        ] {
            let json = serde_json::to_string(&catalog).unwrap();
            let file = Catalog::from_json(&json).unwrap();
            assert!(file == catalog && file.is_extended() == catalog.is_extended());
            assert_eq!(
                serde_json::to_value(&catalog).unwrap(),
                serde_json::from_str::<serde_json::Value>(&catalog.to_json()).unwrap()
            );
            let read: Catalog = serde_json::from_str(&json).unwrap();
            assert!(read == catalog && read.is_extended() == catalog.is_extended());
            assert!(read.is_within(&catalog) && catalog.is_within(&read));
        }
    }

    #[test]
    fn a_bad_catalogue_is_rejected() {
        let error = |json: &str| serde_json::from_str::<Catalog>(json).unwrap_err().to_string();
        for (json, expected) in [
            (r#"[{"path":"a","type":"text"}]"#, "one of `string`, `number`"),
            (r#"[{"path":"a","type":"decimal"}]"#, "missing field `scale`"),
            (r#"[{"path":"a","type":"number","scale":2}]"#, "`scale` is for decimal fields"),
            (r#"[{"path":"a","type":"decimal","scale":19}]"#, "expected at most 18"),
            (r#"[{"path":"a","type":"timestamp","form":"iso"}]"#, "one of `interface`, `rfc3339`"),
            (r#"[{"path":"a","type":"string","many":true}]"#, "unknown field `many`"),
            (r#"[{"path":"a","type":"number","key":true}]"#, "`key` is only for single-valued string fields"),
            (r#"[{"path":"a","type":"string"},{"path":"a","type":"number"}]"#, "two fields are named `a`"),
        ] {
            assert!(error(json).contains(expected), "{}", error(json));
        }
        assert!(serde_json::from_str::<Field>(r#"{"path":"a","type":"string","hidden":true}"#).is_err());
    }
}
