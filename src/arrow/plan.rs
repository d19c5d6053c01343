//! How the columns of a file make a case: worked out once, from the schema alone.

use std::sync::Arc;

use arrow_schema::{DataType, Fields, Schema, SchemaRef};

use super::json::push_json;
use super::types::view_schema;
use super::value::{allowed, fits, sort_of};
use crate::catalog::{Catalog, FieldId, Paths, Shape, Stray};
use crate::error::{Error, ErrorKind, quote};

/// How deep structs and lists may lie in each other.
const MAX_DEPTH: usize = 64;

/// The shape of a case, and where each part of it stands in a record batch.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) members: Vec<Member>,
    /// The columns that are read, ascending; places in a batch count these alone.
    pub(super) columns: Vec<usize>,
    /// The columns that are no field, and of which JSON has no form or which have another name of one; the path of each is its
    /// name.
    pub(super) left_out: Vec<Error>,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: Box<str>,
    /// The key as it stands in a document, with its colon.
    pub(super) label: Box<str>,
    pub(super) node: Node,
    /// The field that the member's name resembles, if the member is no field itself.
    pub(super) stray: Option<Arc<Stray>>,
}

/// A part of a case.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) origin: Origin,
    pub(super) kind: Kind,
}

/// Where the array of a part is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Among the columns of the batch.
    Column(usize),
    /// Among the columns of the struct around it.
    Child(usize),
    /// It is the values of the list around it.
    Element,
    /// There is none: the part is made of its members.
    Members,
}

/// What a part is.
#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    List(Box<Node>),
    /// A list of objects, each member of which is a list column of its own.
    Zip(Vec<Member>),
    /// A value of the field, or of none.
    Value(Option<FieldId>),
}

impl Node {
    /// Whether values of the field are in it.
    fn has(&self, id: FieldId) -> bool {
        match &self.kind {
            Kind::Object(members) | Kind::Zip(members) => members.iter().any(|member| member.node.has(id)),
            Kind::List(element) => element.has(id),
            Kind::Value(field) => *field == Some(id),
        }
    }
}

impl Plan {
    /// Finds the case in a schema whose types are those of [`view_schema`].
    ///
    /// # Errors
    /// A column that cannot be what the catalogue says of its place, two columns for one place,
    /// or no column of ids. The path is that of the column.
    pub(super) fn new(schema: &SchemaRef, catalog: &Catalog) -> Result<Self, Error> {
        let plan = Self::of_columns(schema, catalog, |_| true)?;
        let is_id = |member: &Member| matches!(member.node.kind, Kind::Value(Some(FieldId::ID)));
        if !plan.members.iter().any(is_id) {
            return Err(Error::new(ErrorKind::BadId, 0, "no column `id`", "a column `id` of strings"));
        }
        let other_names = schema.fields().iter().filter_map(|column| plan.other_name(column.name(), catalog));
        let other_names: Vec<Error> = other_names.collect();
        Ok(Self { left_out: plan.left_out.into_iter().chain(other_names).collect(), ..plan })
    }

    /// What is wrong with a column that has another name of a field, which has no column.
    fn other_name(&self, column: &str, catalog: &Catalog) -> Option<Error> {
        let id = catalog.find(column)?;
        let path = catalog.field(id).name();
        let is_other = path != column && catalog.paths().child(Paths::ROOT, column).is_none();
        if !is_other || self.members.iter().any(|member| member.node.has(id)) {
            return None;
        }
        let expected = format!("{}, where the field is that has this name too", quote(path));
        Some(Error::new(ErrorKind::UnknownField, 0, "a column that is no field", expected).at(column))
    }

    /// Finds what a schema of any types has of some fields; other columns may be anything.
    ///
    /// # Errors
    /// As [`new`](Self::new), but for the column of ids.
    pub(super) fn of_fields(schema: &Schema, catalog: &Catalog, fields: &[FieldId]) -> Result<Self, Error> {
        let names = fields.iter().filter(|field| catalog.is_visible(**field));
        let narrow = catalog.allow(names.map(|field| catalog.field(*field).name()));
        // A name of the catalogue is one that it allows.
        let catalog = narrow.as_ref().unwrap_or(catalog);
        let key = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
        let keys: Vec<String> = fields
            .iter()
            .map(|field| key(catalog.field(*field).path()).trim_end_matches("[]").to_owned())
            .collect();
        let plan = Self::of_columns(&view_schema(schema), catalog, |name| keys.contains(&key(name)))?;
        let names = schema.fields().iter().map(|column| column.name());
        match names.filter_map(|name| plan.other_name(name, catalog)).next() {
            None => Ok(plan),
            Some(error) => Err(error),
        }
    }

    fn of_columns(
        schema: &SchemaRef,
        catalog: &Catalog,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut members = Vec::new();
        let mut columns = Vec::new();
        let mut left_out = Vec::new();
        for (number, field) in schema.fields().iter().enumerate() {
            if !is_wanted(field.name()) {
                continue;
            }
            let keys: Vec<&str> = match field.name() {
                name if name.split('.').any(str::is_empty) => vec![name],
                name => name.split('.').collect(),
            };
            let mut column =
                Column { catalog, name: field.name().clone(), depth: 0, left_out: &mut left_out };
            let origin = Origin::Column(columns.len());
            if column.insert(&mut members, &keys, Some(Paths::ROOT), origin, field.data_type())? {
                columns.push(number);
            }
        }
        for member in &mut members {
            member.stray = catalog.stray(Paths::ROOT, &member.key).map(Arc::new);
        }
        Ok(Self { members, columns, left_out })
    }
}

/// A column that is being given its place.
struct Column<'c> {
    catalog: &'c Catalog,
    /// Its name, and those of the structs and their members on the way down.
    name: String,
    depth: usize,
    left_out: &'c mut Vec<Error>,
}

impl Column<'_> {
    fn error(&self, kind: ErrorKind, found: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::new(kind, 0, found, expected).at(self.name.clone())
    }

    fn wrong_type(&self, found: &DataType, allowed: &str) -> Error {
        let mut found = found.to_string();
        // A struct's type names all its members.
        if let Some((at, _)) = found.char_indices().nth(60) {
            found.truncate(at);
            found.push('…');
        }
        self.error(ErrorKind::WrongType, format!("a column of type {found}"), allowed)
    }

    fn child(&self, node: Option<usize>, key: &str) -> Option<usize> {
        node.and_then(|node| self.catalog.paths().child(node, key)).map(|(_, child)| child)
    }

    fn shape(&self, node: Option<usize>) -> Option<Shape> {
        node.map(|node| self.catalog.paths().shape(node))
    }

    /// Puts a column at the place that its keys lead to; false when no case has room for its type.
    fn insert(
        &mut self,
        members: &mut Vec<Member>,
        keys: &[&str],
        node: Option<usize>,
        origin: Origin,
        kind: &DataType,
    ) -> Result<bool, Error> {
        let Some((key, rest)) = keys.split_first() else { return Ok(false) };
        let child = self.child(node, key);
        if rest.is_empty() {
            let Some(kind) = self.kind(kind, child)? else { return Ok(false) };
            return self.place(members, key, Node { origin, kind }).map(|()| true);
        }
        self.deeper()?;
        let found = members.iter().position(|member| *member.key == **key);
        let inserted = if self.shape(child) == Some(Shape::Array) {
            let mut made = Vec::new();
            let lanes = match found.and_then(|at| members.get_mut(at)).map(|member| &mut member.node.kind) {
                Some(Kind::Zip(lanes)) => lanes,
                Some(_) => return Err(self.second(key)),
                None => &mut made,
            };
            let (DataType::List(values), [lane]) = (kind, rest) else {
                return Err(self.wrong_type(kind, "a list for each key of the structs in a list"));
            };
            let below = self.child(self.child(child, ""), lane);
            let Some(kind) = self.kind(values.data_type(), below)? else { return Ok(false) };
            let element = Box::new(Node { origin: Origin::Element, kind });
            self.place(lanes, lane, Node { origin, kind: Kind::List(element) })?;
            if found.is_none() {
                members.push(member(key, Node { origin: Origin::Members, kind: Kind::Zip(made) }));
            }
            true
        } else {
            let mut made = Vec::new();
            let below = match found.and_then(|at| members.get_mut(at)).map(|member| &mut member.node.kind) {
                Some(Kind::Object(below)) => below,
                Some(_) => return Err(self.second(key)),
                None => &mut made,
            };
            if let Some(Shape::Leaf(field)) = self.shape(child) {
                let path = self.catalog.field(field).name();
                let found = format!("a column below {}", quote(path));
                return Err(self.error(ErrorKind::WrongType, found, "a value there"));
            }
            let inserted = self.insert(below, rest, child, origin, kind)?;
            if found.is_none() && inserted {
                members.push(member(key, Node { origin: Origin::Members, kind: Kind::Object(made) }));
            }
            inserted
        };
        Ok(inserted)
    }

    /// Adds a member, or joins a struct with the flat columns of the same place.
    fn place(&self, members: &mut Vec<Member>, key: &str, node: Node) -> Result<(), Error> {
        let Some(found) = members.iter_mut().find(|member| *member.key == *key) else {
            members.push(member(key, node));
            return Ok(());
        };
        match (&mut found.node, node) {
            (
                Node { origin: origin @ Origin::Members, kind: Kind::Object(flat) },
                Node { origin: of_struct, kind: Kind::Object(nested) },
            ) => {
                *origin = of_struct;
                for Member { key, node, .. } in nested {
                    self.place(flat, &key, node)?;
                }
                Ok(())
            }
            _ => Err(self.second(key)),
        }
    }

    fn second(&self, key: &str) -> Error {
        self.error(
            ErrorKind::DuplicateKey,
            format!("a second column for {}", quote(key)),
            "one for each place",
        )
    }

    /// What a column of this type is at a place; none for types that a case has no room for.
    fn kind(&mut self, kind: &DataType, node: Option<usize>) -> Result<Option<Kind>, Error> {
        if *kind == DataType::Null {
            return Ok(None);
        }
        match (self.shape(node), kind) {
            (Some(Shape::Object) | None, DataType::Struct(fields)) => self.members(fields, node).map(Some),
            (Some(Shape::Array) | None, DataType::List(values)) => {
                self.deeper()?;
                let element = self.kind(values.data_type(), self.child(node, ""))?;
                self.depth = self.depth.saturating_sub(1);
                Ok(element.map(|kind| Kind::List(Box::new(Node { origin: Origin::Element, kind }))))
            }
            (Some(Shape::Leaf(field)), kind) if fits(self.catalog.field(field), kind) => {
                Ok(Some(Kind::Value(Some(field))))
            }
            (Some(Shape::Leaf(field)), kind) => {
                Err(self.wrong_type(kind, allowed(self.catalog.field(field))))
            }
            (Some(Shape::Object), kind) => Err(self.wrong_type(kind, "a struct")),
            (Some(Shape::Array), kind) => Err(self.wrong_type(kind, "lists")),
            (None, kind) if sort_of(kind).is_some() => Ok(Some(Kind::Value(None))),
            (None, kind) => {
                let error = self.wrong_type(kind, "a type that JSON has a form for");
                self.left_out.push(error);
                Ok(None)
            }
        }
    }

    fn members(&mut self, fields: &Fields, node: Option<usize>) -> Result<Kind, Error> {
        self.deeper()?;
        let mut members = Vec::new();
        let length = self.name.len();
        for (number, field) in fields.iter().enumerate() {
            self.name.push('.');
            self.name.push_str(field.name());
            if let Some(kind) = self.kind(field.data_type(), self.child(node, field.name()))? {
                self.place(&mut members, field.name(), Node { origin: Origin::Child(number), kind })?;
            }
            self.name.truncate(length);
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(Kind::Object(members))
    }

    fn deeper(&mut self) -> Result<(), Error> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            let expected = format!("at most {MAX_DEPTH} levels");
            let found = format!("nesting deeper than {MAX_DEPTH}");
            return Err(Error::new(ErrorKind::TooDeep, 0, found, expected));
        }
        Ok(())
    }
}

fn member(key: &str, node: Node) -> Member {
    let mut label = String::new();
    push_json(&mut label, key);
    label.push(':');
    Member { key: key.into(), label: label.into(), node, stray: None }
}
