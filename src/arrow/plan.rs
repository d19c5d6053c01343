//! The plan of a source: maps the columns of a schema to the nodes of a case. It is created once per source.
//!
//! Columns are combined into nested objects by the paths in their names, and each value gets its field. A column that does not fit
//! the catalogue is an error. `bind.rs` binds the plan to the arrays of each record batch.

use std::sync::Arc;

use arrow_schema::{DataType, Fields, Schema, SchemaRef};

use super::json::push_json_string;
use super::types::canonical_schema;
use super::value::{allowed, fits, scalar_kind};
use crate::catalog::{ArrayId, Catalog, FieldId, Paths, Shape, Stray};
use crate::error::{Error, ErrorKind, Found, quote};

/// The maximum nesting depth of structs and lists in a column.
const MAX_DEPTH: usize = 64;

/// The structure of a case. For each node, it states where a record batch stores the Arrow array of the node.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) members: Vec<Member>,
    /// The indexes of the columns that are read, in ascending order. [`Origin::Column`] is an index into this list.
    pub(super) columns: Vec<usize>,
    /// Errors about columns. They fail a strict import, and a lenient import reports them. There are two kinds. In the first kind,
    /// JSON cannot represent the type of the column, and the column is not read. In the second kind, the name of the column is an
    /// alias of a field that has no column. The path of each error is the name of the column.
    pub(super) column_errors: Vec<Error>,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: Box<str>,
    /// The key as a JSON string, followed by a colon.
    pub(super) label: Box<str>,
    pub(super) node: Node,
    /// For a member that is not a field, but looks like a field: its path, and the fields that it looks like. `None` for all other
    /// members.
    pub(super) stray: Option<Arc<Stray>>,
}

/// A node of the plan: one object, list or value of a case document, with the location of its Arrow array.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) origin: Origin,
    pub(super) kind: Kind,
}

/// The location of the Arrow array that contains the values of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A column of the batch.
    Column(usize),
    /// A child of the enclosing struct column, by its index.
    Child(usize),
    /// The elements of the enclosing list.
    Element,
    /// No Arrow array: the object, or the list of objects, has no column of its own. It is built from the columns of its members,
    /// such as `caseReview.status` and `caseReview.name`.
    Members,
}

/// The JSON form in which a node is written: object, list or value.
#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    /// A list: the node of its elements. If the list is an array of objects, also its id in the catalogue.
    List(Box<Node>, Option<ArrayId>),
    /// A list of objects that is stored as parallel list columns: one column for each member of the objects.
    Zip(Vec<Member>, Option<ArrayId>),
    /// A value. Contains its field, if the value belongs to a field.
    Value(Option<FieldId>),
}

impl Member {
    /// Returns the fields that the member looks like. If a row has a value of one of these fields, an import makes no note on the
    /// member in this row. Returns `None` if an import never makes a note on the member.
    pub(super) fn noted_fields(&self) -> Option<&[FieldId]> {
        let stray = self.stray.as_ref()?;
        // Every case has an id.
        (!stray.fields.contains(&FieldId::ID)).then_some(&*stray.fields)
    }
}

impl Node {
    /// Returns true if the node contains the field.
    fn has(&self, id: FieldId) -> bool {
        match &self.kind {
            Kind::Object(members) | Kind::Zip(members, _) => members.iter().any(|member| member.node.has(id)),
            Kind::List(element, _) => element.has(id),
            Kind::Value(field) => *field == Some(id),
        }
    }
}

impl Plan {
    /// Creates the plan for a [`canonical_schema`].
    ///
    /// # Errors
    /// Returns an error if a column does not fit the catalogue, or if two columns have the same path. Also returns an error if
    /// there is no column of the id. The path of the error is the name of the column.
    pub(super) fn new(schema: &SchemaRef, catalog: &Catalog) -> Result<Self, Error> {
        let plan = Self::of_columns(schema, catalog, |_| true)?;
        let is_id = |member: &Member| matches!(member.node.kind, Kind::Value(Some(FieldId::ID)));
        if !plan.members.iter().any(is_id) {
            let name = quote(catalog.id_name());
            let expected = format!("a column {name} of {}", allowed(catalog.field(FieldId::ID)));
            return Err(Error::new(ErrorKind::BadId, 0, format!("no column {name}"), expected));
        }
        let aliases = schema.fields().iter().filter_map(|column| plan.alias_error(column.name(), catalog));
        let aliases: Vec<Error> = aliases.collect();
        Ok(Self { column_errors: plan.column_errors.into_iter().chain(aliases).collect(), ..plan })
    }

    /// Returns an error if `column` is an alias of a field, and no other column contains this field.
    fn alias_error(&self, column: &str, catalog: &Catalog) -> Option<Error> {
        let id = catalog.find(column)?;
        let path = catalog.field(id).name();
        let is_alias = path != column && catalog.paths().child(Paths::ROOT, column).is_none();
        if !is_alias || self.members.iter().any(|member| member.node.has(id)) {
            return None;
        }
        let expected = format!("{}, the path of the field with this alias", quote(path));
        Some(Error::new(ErrorKind::UnknownField, 0, "a column that is not a field", expected).at(column))
    }

    /// Creates the plan for only the given fields, from any schema. All other columns are ignored. Also returns the catalogue that
    /// the plan was made for.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new), except that a column of the id is not required. Also returns an error for a
    /// column whose name is an alias of a field that has no column.
    pub(super) fn of_fields(
        schema: &Schema,
        catalog: &Catalog,
        fields: &[FieldId],
    ) -> Result<(Self, Catalog), Error> {
        let names = fields.iter().filter(|field| catalog.is_visible(**field));
        let narrow = catalog.allow(names.map(|field| catalog.field(*field).name()));
        // `allow` cannot fail, because the names come from the catalogue.
        let catalog = narrow.as_ref().unwrap_or(catalog);
        let key = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
        let keys: Vec<String> = fields
            .iter()
            .map(|field| key(catalog.field(*field).path()).trim_end_matches("[]").to_owned())
            .collect();
        let plan = Self::of_columns(&canonical_schema(schema), catalog, |name| keys.contains(&key(name)))?;
        let names = schema.fields().iter().map(|column| column.name());
        match names.filter_map(|name| plan.alias_error(name, catalog)).next() {
            None => Ok((plan, catalog.clone())),
            Some(error) => Err(error),
        }
    }

    /// Creates a plan for the wanted columns. `is_wanted` takes the name of a column. The wanted columns need not include a column
    /// of the id.
    pub(super) fn of_columns(
        schema: &SchemaRef,
        catalog: &Catalog,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut members = Vec::new();
        let mut columns = Vec::new();
        let mut column_errors = Vec::new();
        for (number, field) in schema.fields().iter().enumerate() {
            if !is_wanted(field.name()) {
                continue;
            }
            let keys: Vec<&str> = match field.name() {
                name if name.split('.').any(str::is_empty) => vec![name],
                name => name.split('.').collect(),
            };
            let mut column = ColumnInserter {
                catalog,
                name: field.name().clone(),
                depth: 0,
                column_errors: &mut column_errors,
            };
            let origin = Origin::Column(columns.len());
            if column.insert(&mut members, &keys, Some(Paths::ROOT), origin, field.data_type())? {
                columns.push(number);
            }
        }
        for member in &mut members {
            member.stray = catalog.stray(Paths::ROOT, &member.key).map(Arc::new);
        }
        Ok(Self { members, columns, column_errors })
    }
}

/// A builder that inserts one column into a plan.
struct ColumnInserter<'c> {
    catalog: &'c Catalog,
    /// The name of the column. While the builder is in a struct, the names of the children are appended.
    name: String,
    depth: usize,
    column_errors: &'c mut Vec<Error>,
}

impl ColumnInserter<'_> {
    fn error(&self, kind: ErrorKind, found: impl Into<Found>, expected: impl Into<String>) -> Error {
        Error::new(kind, 0, found, expected).at(self.name.clone())
    }

    fn wrong_type(&self, found: &DataType, allowed: &str) -> Error {
        let mut found = found.to_string();
        // The type of a struct lists all its members. This would make the message too long.
        if let Some((at, _)) = found.char_indices().nth(60) {
            found.truncate(at);
            found.push('…');
        }
        self.error(ErrorKind::WrongType, format!("a column of type {found}"), allowed)
    }

    fn child(&self, node: Option<usize>, key: &str) -> Option<usize> {
        node.and_then(|node| self.catalog.paths().child(node, key)).map(|(_, child)| child)
    }

    /// Returns the array of objects at a node.
    fn array(&self, node: Option<usize>) -> Option<ArrayId> {
        self.child(node, "").and_then(|element| self.catalog.paths().element_of(element))
    }

    fn shape(&self, node: Option<usize>) -> Option<Shape> {
        node.map(|node| self.catalog.paths().shape(node))
    }

    /// Inserts a column at the path that consists of `keys`. Returns false for a column of nulls, or if JSON cannot represent the
    /// type of the column.
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
        self.enter()?;
        let found = members.iter().position(|member| *member.key == **key);
        let inserted = if self.shape(child) == Some(Shape::Array) {
            let mut made = Vec::new();
            let lanes = match found.and_then(|at| members.get_mut(at)).map(|member| &mut member.node.kind) {
                Some(Kind::Zip(lanes, _)) => lanes,
                Some(_) => return Err(self.duplicate(key)),
                None => &mut made,
            };
            let (DataType::List(values), [lane]) = (kind, rest) else {
                return Err(self.wrong_type(kind, "a list for each key of the structs in a list"));
            };
            let below = self.child(self.child(child, ""), lane);
            let Some(kind) = self.kind(values.data_type(), below)? else { return Ok(false) };
            let element = Box::new(Node { origin: Origin::Element, kind });
            self.place(lanes, lane, Node { origin, kind: Kind::List(element, None) })?;
            if found.is_none() {
                let kind = Kind::Zip(made, self.array(child));
                members.push(member(key, Node { origin: Origin::Members, kind }));
            }
            true
        } else {
            let mut made = Vec::new();
            let below = match found.and_then(|at| members.get_mut(at)).map(|member| &mut member.node.kind) {
                Some(Kind::Object(below)) => below,
                Some(_) => return Err(self.duplicate(key)),
                None => &mut made,
            };
            if let Some(Shape::Leaf(field)) = self.shape(child) {
                let path = self.catalog.field(field).name();
                let found = format!("a column below {}", quote(path));
                return Err(self.error(ErrorKind::WrongType, found, "a value at this path"));
            }
            let inserted = self.insert(below, rest, child, origin, kind)?;
            if found.is_none() && inserted {
                members.push(member(key, Node { origin: Origin::Members, kind: Kind::Object(made) }));
            }
            inserted
        };
        Ok(inserted)
    }

    /// Adds a member. Flat columns, such as `caseReview.status`, may have already created the member `caseReview`. If `node` is the
    /// struct column `caseReview`, it is merged into this member.
    ///
    /// # Errors
    /// Returns an error if there is already a member with this key, and `node` cannot be merged into it. Merging adds the members
    /// of the struct in the same way, with the same error.
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
            _ => Err(self.duplicate(key)),
        }
    }

    fn duplicate(&self, key: &str) -> Error {
        self.error(
            ErrorKind::DuplicateKey,
            format!("a second column for {}", quote(key)),
            "one column for each path",
        )
    }

    /// Returns the kind of node for a column of this type. Returns `None` for a column of nulls, and if JSON cannot represent the
    /// type.
    fn kind(&mut self, kind: &DataType, node: Option<usize>) -> Result<Option<Kind>, Error> {
        if *kind == DataType::Null {
            return Ok(None);
        }
        match (self.shape(node), kind) {
            (Some(Shape::Object) | None, DataType::Struct(fields)) => self.members(fields, node).map(Some),
            (Some(Shape::Array) | None, DataType::List(values)) => {
                self.enter()?;
                let element = self.kind(values.data_type(), self.child(node, ""))?;
                self.depth = self.depth.saturating_sub(1);
                let element = element.map(|kind| Box::new(Node { origin: Origin::Element, kind }));
                Ok(element.map(|element| Kind::List(element, self.array(node))))
            }
            (Some(Shape::Leaf(field)), kind) if fits(self.catalog.field(field), kind) => {
                Ok(Some(Kind::Value(Some(field))))
            }
            (Some(Shape::Leaf(field)), kind) => {
                Err(self.wrong_type(kind, allowed(self.catalog.field(field))))
            }
            (Some(Shape::Object), kind) => Err(self.wrong_type(kind, "a struct")),
            (Some(Shape::Array), kind) => Err(self.wrong_type(kind, "lists")),
            (None, kind) if scalar_kind(kind).is_some() => Ok(Some(Kind::Value(None))),
            (None, kind) => {
                let error = self.wrong_type(kind, "a type with a JSON form");
                self.column_errors.push(error);
                Ok(None)
            }
        }
    }

    fn members(&mut self, fields: &Fields, node: Option<usize>) -> Result<Kind, Error> {
        self.enter()?;
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

    fn enter(&mut self) -> Result<(), Error> {
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
    push_json_string(&mut label, key);
    label.push(':');
    Member { key: key.into(), label: label.into(), node, stray: None }
}
