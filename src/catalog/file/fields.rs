//! Reads the fields of a catalogue file, and checks their names, paths and settings.

use std::collections::{HashMap, HashSet};

use super::super::catalogue::Catalog;
use super::super::error::CatalogError;
use super::super::field::Field;
use super::super::id::FieldId;
use super::super::paths::Paths;
use super::super::timestamp_form::TimestampForm;
use super::bounds::Bounds;
use super::faults::Faults;
use super::keys::known_key;
use super::node::{Node, Value};
use super::values::Values;
use super::words::Word;
use crate::error::{ErrorKind, Found, Suggestion, quote};
use crate::value::FieldType;
use crate::value::IdType;

const KEYS: [&str; 10] =
    ["path", "type", "scale", "form", "known", "default", "aliases", "key", "searchable", "hidden"];

/// A reader of the fields of a file. It checks each field against the earlier fields.
pub(super) struct FieldReader<'c, 'f> {
    values: Values<'c, 'f>,
    fields: Vec<Field>,
    /// The names of hidden fields.
    hidden: HashSet<String>,
    /// The name of the id, and the names and aliases of the fields of the base catalogue and of the fields that have been read.
    /// Each has its owner.
    names: HashMap<String, Owner>,
    aliases: usize,
    /// The fields that are known so far: those of the base catalogue, which the file extends, and those of the file that have been
    /// read. The path of a further field must not conflict with their paths.
    taken: Vec<Field>,
    paths: Paths,
    /// The field of the id.
    id: Field,
}

/// The owner of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The field of the id, which every catalogue has. A file may list it.
    Implied,
    /// A field of the catalogue that the file extends.
    Base,
    /// A field of the file.
    File,
}

/// The values of the keys of a field, as nodes.
struct Entries<'n, 't>([Option<&'n Node<'t>>; KEYS.len()]);

impl<'n, 't> Entries<'n, 't> {
    fn get(&self, key: &str) -> Option<&'n Node<'t>> {
        KEYS.iter().zip(self.0).find(|(name, _)| **name == key).and_then(|(_, node)| node)
    }
}

impl<'c, 'f> FieldReader<'c, 'f> {
    pub(super) fn new(base: Option<&Catalog>, id: Field, bounds: &'c Bounds, faults: &'f mut Faults) -> Self {
        let mut reader = Self {
            values: Values { bounds, faults },
            fields: Vec::new(),
            hidden: HashSet::new(),
            names: HashMap::from([(id.name().to_owned(), Owner::Implied)]),
            aliases: 0,
            taken: Vec::new(),
            paths: Paths::identity(id.path()),
            id,
        };
        for field in base.map(Catalog::fields).unwrap_or_default() {
            for name in std::iter::once(field.name()).chain(field.aliases()) {
                reader.names.insert(name.to_owned(), Owner::Base);
            }
            // The fields of a catalogue have no conflicting paths, so this never fails.
            let _ = reader.insert_path(field);
        }
        reader
    }

    /// Returns the fields, and the names of the hidden fields.
    pub(super) fn finish(self) -> (Vec<Field>, HashSet<String>) {
        (self.fields, self.hidden)
    }

    /// Reads the list of fields, which begins at offset `at`.
    pub(super) fn read_all(&mut self, at: usize, nodes: &[Node<'_>]) {
        if nodes.len() > self.values.bounds.fields {
            let at = nodes.get(self.values.bounds.fields).map_or(at, |node| node.at);
            let expected = format!("at most {} fields in a catalogue file", self.values.bounds.fields);
            let place = (ErrorKind::BadFile, at, "fields".to_owned());
            self.values.faults.add::<()>(place, format!("{} fields", nodes.len()), expected, None);
            return;
        }
        for (number, node) in nodes.iter().enumerate() {
            if self.values.faults.is_full() {
                return;
            }
            let path = format!("fields[{number}]");
            match &node.value {
                Value::Table(_) => {
                    let _ = self.read(node, &path);
                }
                Value::Text(text) => {
                    let form =
                        format!("`{{\"path\": {}, \"type\": \"string\"}}`", serde_json::Value::from(&**text));
                    let near = Some(Suggestion::explain(form)).filter(|_| text.len() <= 64);
                    let place = (ErrorKind::WrongType, node.at, path);
                    self.values.faults.add::<()>(
                        place,
                        node.value.describe(),
                        "a field with `path` and `type`",
                        near,
                    );
                }
                other => {
                    let place = (ErrorKind::WrongType, node.at, path);
                    self.values.faults.add::<()>(
                        place,
                        other.describe(),
                        "a field with `path` and `type`",
                        None,
                    );
                }
            }
        }
    }

    /// Reads one field. Returns `None` if an error was reported for it.
    fn read(&mut self, node: &Node<'_>, path: &str) -> Option<()> {
        let Value::Table(table) = &node.value else { return None };
        let mut entries = Entries([None; KEYS.len()]);
        let mut seen = [false; KEYS.len()];
        let mut is_whole = true;
        for (key, value) in table {
            if self.values.faults.is_full() {
                return None;
            }
            match known_key(key, &KEYS, (Word::FieldKey, path), &mut seen, self.values.faults) {
                None => is_whole = false,
                Some(_) if matches!(value.value, Value::Null) => {}
                Some(number) => {
                    if let Some(slot) = entries.0.get_mut(number) {
                        *slot = Some(value);
                    }
                }
            }
        }
        for required in ["path", "type"] {
            // If a key is wrong, such as `typ`, its error already explains why `type` is missing.
            if entries.get(required).is_none() && is_whole {
                let expected = format!("`{required}`, which every field has");
                let place = (ErrorKind::MissingKey, node.at, path.to_owned());
                is_whole = false;
                let found = format!("a field without `{required}`");
                self.values.faults.add::<()>(place, found, expected, None);
            }
        }
        let of_path = entries.get("path").map(|at| {
            (at.at, self.values.text(at, &format!("{path}.path"), "a path such as `customer.name`"))
        });
        let kind = entries.get("type").map(|at| self.values.word(at, &format!("{path}.type"), Word::Type));
        let scale = entries.get("scale").map(|at| self.values.scale(at, &format!("{path}.scale")));
        let form = entries.get("form").map(|at| self.values.word(at, &format!("{path}.form"), Word::Form));
        let known =
            entries.get("known").map(|at| self.values.list(at, &format!("{path}.known"), "known values"));
        let aliases =
            entries.get("aliases").map(|at| self.values.list(at, &format!("{path}.aliases"), "other names"));
        let default = entries
            .get("default")
            .map(|at| self.values.text(at, &format!("{path}.default"), "a value in quotes"));
        let mut flag = |key: &str| entries.get(key).map(|at| self.values.flag(at, &format!("{path}.{key}")));
        let (key, searchable, hidden) = (flag("key"), flag("searchable"), flag("hidden"));

        let (at, field_path) = of_path?;
        let (field_path, kind) = (field_path?, kind??);
        let kind = *FieldType::ALL.iter().find(|own| own.name() == kind)?;
        let kind = self.scaled(kind, scale, &entries, (at, &field_path), path)?;
        let mut field = Field::new(&field_path, kind);
        if let Some(form) = form {
            let form = form?;
            field = field.with_form(*TimestampForm::ALL.iter().find(|own| own.name() == form)?);
        }
        if let Some(known) = &known {
            field = field.with_known(known.as_ref()?.iter().map(|(_, value)| value.as_str()));
        }
        if let Some(default) = &default {
            field = field.with_default(default.as_ref()?);
        }
        if or_unset(key)? {
            field = field.key();
        }
        if or_unset(searchable)? {
            field = field.searchable();
        }
        let is_hidden = or_unset(hidden)?;
        let aliases = match aliases {
            Some(aliases) => aliases?,
            None => Vec::new(),
        };
        for (_, alias) in &aliases {
            field = field.with_alias(alias);
        }
        if !is_whole {
            return None;
        }
        self.check_settings(&field, at, &entries, path)?;
        self.check_names(&field, at, &aliases, path)?;
        self.check_path(&field, at, path)?;
        if is_hidden {
            self.hidden.insert(field.name().to_owned());
        }
        self.fields.push(field);
        Some(())
    }

    /// Returns the type of a field, with the scale of a decimal field. Reports an error if a decimal field has no scale, or another
    /// field has a scale.
    fn scaled(
        &mut self,
        kind: FieldType,
        scale: Option<Option<u8>>,
        entries: &Entries<'_, '_>,
        (at, name): (usize, &str),
        path: &str,
    ) -> Option<FieldType> {
        let at = |key| entries.get(key).map_or(at, |node: &Node<'_>| node.at);
        match (kind, scale) {
            (FieldType::Decimal { .. }, Some(scale)) => Some(FieldType::Decimal { scale: scale? }),
            (FieldType::Decimal { .. }, None) => {
                let place = (ErrorKind::MissingKey, at("type"), format!("{path}.type"));
                let expected = "`scale`, the count of digits after the point, such as 2";
                self.values.faults.add(place, "a decimal field without `scale`", expected, None)
            }
            (kind, Some(_)) => {
                let place = (ErrorKind::BadValue, at("scale"), format!("{path}.scale"));
                let found = format!("`scale` of {}, {} field", quote(name), kind.with_article());
                self.values.faults.add(place, found, "`scale` only for decimal fields", None)
            }
            (kind, None) => Some(kind),
        }
    }

    /// Checks that the settings of a field exist for its type.
    fn check_settings(
        &mut self,
        field: &Field,
        at: usize,
        entries: &Entries<'_, '_>,
        path: &str,
    ) -> Option<()> {
        let place = (ErrorKind::BadValue, at, format!("{path}.path"));
        if let Err(error) = field.validate() {
            let CatalogError::NotForType { setting, expected, kind, is_many, .. } = error else {
                return self.bad_setting(error, at, entries, path);
            };
            let key = match setting {
                "with_default" => "default",
                "with_form" | "unix_millis" => "form",
                other => other,
            };
            let place =
                (ErrorKind::BadValue, entries.get(key).map_or(at, |node| node.at), format!("{path}.{key}"));
            let kind =
                if is_many { format!("a multi-valued {kind}") } else { kind.with_article().to_owned() };
            let found = format!("`{key}` of {}, {kind} field", quote(field.name()));
            return self.values.faults.add(place, found, format!("`{key}` only for {expected}"), None);
        }
        let is_id = field.name() == self.id.name() || field.path() == self.id.path();
        let usual_id = Field::of_id(self.id.path(), IdType::String).searchable();
        if is_id && field.clone().key().searchable() != usual_id {
            let found = format!("{} as another field", quote(self.id.name()));
            let expected = "a single-valued string field without any setting but `searchable` and `hidden`";
            return self.values.faults.add(place, found, expected, None);
        }
        Some(())
    }

    /// Reports a malformed known value or default, at its place.
    fn bad_setting(
        &mut self,
        error: CatalogError,
        at: usize,
        entries: &Entries<'_, '_>,
        path: &str,
    ) -> Option<()> {
        let CatalogError::BadSetting { setting, value, expected, .. } = error else {
            let place = (ErrorKind::BadValue, at, format!("{path}.path"));
            return self.values.faults.add(place, error.to_string(), "a field", None);
        };
        let (at, path) = match (setting, entries.get("known"), entries.get("default")) {
            ("with_known", Some(known), _) => {
                let elements = match &known.value {
                    Value::List(elements) => elements.as_slice(),
                    _ => &[],
                };
                // The printed form of a value can differ from its text in the file. The error then points at the whole list.
                let is_own = |node: &Node<'_>| matches!(&node.value, Value::Text(text) if *text == value);
                match elements.iter().enumerate().rev().find(|(_, node)| is_own(node)) {
                    Some((number, node)) => (node.at, format!("{path}.known[{number}]")),
                    None => (known.at, format!("{path}.known")),
                }
            }
            (_, _, Some(default)) => (default.at, format!("{path}.default")),
            _ => (at, format!("{path}.path")),
        };
        self.values.faults.add((ErrorKind::BadValue, at, path), Found::text(&value), expected, None)
    }

    /// Checks that the path of a field does not conflict with the paths of the other fields.
    fn check_path(&mut self, field: &Field, at: usize, path: &str) -> Option<()> {
        let place = (ErrorKind::BadValue, at, format!("{path}.path"));
        let depth =
            field.path().split('.').map(|key| key.matches("[]").count().saturating_add(1)).sum::<usize>();
        if depth > self.values.bounds.depth {
            let place = (ErrorKind::TooDeep, at, format!("{path}.path"));
            let expected = format!("at most {} keys and `[]`", self.values.bounds.depth);
            return self.values.faults.add(place, format!("a path of {depth}"), expected, None);
        }
        match self.insert_path(field) {
            Ok(()) => Some(()),
            Err(CatalogError::PathConflict(_)) => {
                let other = self.taken.iter().find(|other| conflict(&self.id, other, field));
                let other = other.map_or_else(
                    || "the paths of the other fields".to_owned(),
                    |other| format!("the path {} of another field", quote(other.path())),
                );
                let expected = format!(
                    "a path that agrees with {other}: a key holds either a value, an object or an array"
                );
                self.values.faults.add(place, Found::text(field.path()), expected, None)
            }
            Err(_) => {
                let expected =
                    "keys joined by dots, `[]` after each key that holds an array, such as `items[].sku`";
                let near = (field.path().starts_with("$.")).then(|| {
                    Suggestion::replace_by(field.path().trim_start_matches("$.").replace("[*]", "[]"))
                });
                self.values.faults.add(place, Found::text(field.path()), expected, near)
            }
        }
    }

    fn insert_path(&mut self, field: &Field) -> Result<(), CatalogError> {
        let number = if field.path() == self.id.path() { 0 } else { self.taken.len().saturating_add(1) };
        let result = self.paths.insert(field, FieldId(u16::try_from(number).unwrap_or(u16::MAX)));
        if result.is_ok() {
            self.taken.push(field.clone());
        }
        result.map(drop)
    }

    /// Checks that no other field has the name or an alias of this field.
    fn check_names(
        &mut self,
        field: &Field,
        at: usize,
        aliases: &[(usize, String)],
        path: &str,
    ) -> Option<()> {
        self.aliases = self.aliases.saturating_add(aliases.len());
        if self.aliases > self.values.bounds.aliases {
            let expected = format!("at most {} aliases in a catalogue file", self.values.bounds.aliases);
            let place = (ErrorKind::BadFile, at, format!("{path}.aliases"));
            return self.values.faults.add(place, "more aliases", expected, None);
        }
        let own = std::iter::once((at, field.name(), "path"));
        let others = aliases.iter().map(|(at, alias)| (*at, alias.as_str(), "aliases"));
        let mut is_free = Some(());
        for (at, name, key) in own.chain(others) {
            let place = (ErrorKind::BadValue, at, format!("{path}.{key}"));
            if name.is_empty() {
                // An empty name means an empty path, which the check of the path reports.
                if key == "aliases" {
                    is_free = self.values.faults.add(place, "an empty name", "a name", None);
                }
                continue;
            }
            let expected = match self.names.get(name) {
                None => None,
                Some(Owner::Implied) if key == "path" => None,
                Some(Owner::Base) => Some("a name that no field of the cases has"),
                Some(_) => Some("a name that no other field has"),
            };
            match expected {
                None => drop(self.names.insert(name.to_owned(), Owner::File)),
                Some(expected) => {
                    let found = format!("the name {}, which is already used", quote(name));
                    is_free = self.values.faults.add(place, found, expected, None);
                }
            }
        }
        is_free
    }
}

/// Returns true if the paths of two fields conflict with each other. `id` is the field of the id.
fn conflict(id: &Field, one: &Field, other: &Field) -> bool {
    let mut paths = Paths::identity(id.path());
    paths.insert(one, FieldId(1)).is_ok() && paths.insert(other, FieldId(2)).is_err()
}

/// Returns the value of a setting, or false if the setting is absent. Returns `None` if an error was reported for the setting.
fn or_unset(setting: Option<Option<bool>>) -> Option<bool> {
    setting.unwrap_or(Some(false))
}
