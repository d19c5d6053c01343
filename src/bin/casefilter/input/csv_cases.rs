//! Converts the rows of CSV files to documents, and defines the arguments for CSV files. The header line names the fields.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Read;

use casefilter::internal::resolve_field;
use casefilter::{Catalog, Error, ErrorKind, Field, FieldType, IdType, ImportError, TimestampForm};

use crate::input::csv_rows::{CsvRows, Fault, Record};
use crate::input::syntax::unpaged;
use crate::input::taker::Taker;
use crate::output::diagnostics::{Fault as Shown, Source};
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::refusals::line_of;

/// The maximum number of columns of one array of objects. The time for a row can be in proportion to this number of columns.
const MOST_IN_ARRAY: usize = 64;

/// The maximum number of keys and arrays in the path of a column.
const MOST_KEYS: usize = 32;

/// The arguments for CSV files.
#[derive(Clone, Default, clap::Args)]
pub(crate) struct CsvArgs {
    /// For .csv: the column THEIRS contains the field OURS; may be repeated
    ///
    /// The header line of the file names the fields of all other columns, by name, alias or path. Columns that name no field become
    /// members of the document, under their own names. An empty cell is an absent field. Several values of a field are separated by
    /// semicolons.
    #[arg(long = "map", value_name = "THEIRS=OURS")]
    maps: Vec<String>,
}

/// The columns of CSV files: the fields that they contain.
pub(crate) struct CsvColumns<'c> {
    catalog: &'c Catalog,
    /// The columns that `--map` names: the name of each in the file, and the field that it contains.
    maps: Vec<(&'c str, Column)>,
    /// The names in `maps` that the header line of some file contains.
    found: RefCell<BTreeSet<&'c str>>,
}

/// A column: the place of its values in a document, and their form.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    path: String,
    form: Form,
    is_many: bool,
}

/// The form of a value in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    String,
    /// A number, if the cell is one. Otherwise a string, which the import rejects.
    Number,
    Boolean,
}

impl CsvArgs {
    /// Returns the columns that the arguments name.
    pub(crate) fn columns<'c>(&'c self, catalog: &'c Catalog) -> Result<CsvColumns<'c>, Failure> {
        let maps = self.maps.iter().map(|map| {
            let (theirs, ours) = map.rsplit_once('=').ok_or_else(|| {
                Failure::Usage(format!(
                    "--map: found `{}`, expected the name of a column, `=`, and a field",
                    escape(map)
                ))
            })?;
            let offset = theirs.len().saturating_add(1);
            let unknown = resolve_field(catalog, ours, offset).err();
            let has_other_meaning =
                |error: &Error| error.suggestion.as_ref().is_some_and(|meant| meant.replacement() != Some(theirs));
            let is_swapped = Column::of_field(catalog, ours).is_none()
                && Column::of_field(catalog, theirs).is_some()
                && !unknown.as_ref().is_some_and(has_other_meaning);
            if is_swapped {
                return Err(Failure::Usage(format!(
                    "--map: `{}` is not a field, but `{}` is: the name of the column comes first; did you mean `{}={}`?",
                    escape(ours),
                    escape(theirs),
                    escape(ours),
                    escape(theirs)
                )));
            }
            let column = Column::of_field(catalog, ours).map_or_else(
                || {
                    let error = unknown.map(|error| {
                        let source = Source::argument("--map", map);
                        Shown { errors: error.into(), sources: vec![source] }.render()
                    });
                    Err(Failure::BadFilter(error.unwrap_or_default()))
                },
                Ok,
            )?;
            Ok((theirs.trim(), column))
        });
        let maps = maps.collect::<Result<_, Failure>>()?;
        Ok(CsvColumns { catalog, maps, found: RefCell::default() })
    }

    /// Returns true if the argument was given.
    pub(crate) fn is_given(&self) -> bool {
        !self.maps.is_empty()
    }
}

impl Column {
    /// Returns the column of a field with this name, alias or path.
    fn of_field(catalog: &Catalog, name: &str) -> Option<Self> {
        let named = catalog.find(name).and_then(|id| catalog.get(id));
        let field = named.or_else(|| catalog.fields().iter().find(|field| field.path() == name));
        if name == catalog.id_name() {
            let is_integer = catalog.id_type() == IdType::Integer;
            let form = if is_integer { Form::Number } else { Form::String };
            return Some(Self { path: name.to_owned(), form, is_many: false });
        }
        field.map(|field| Self {
            path: field.path().to_owned(),
            form: Form::of(field),
            is_many: field.is_many(),
        })
    }

    /// Returns the column for a member that is not a field.
    fn of_member(name: &str) -> Self {
        let is_path = name.split('.').all(|key| !key.trim_end_matches("[]").is_empty());
        let is_many = is_path && name.contains("[]");
        // A name with empty keys is not a path. It becomes one key, with `_` in place of dots.
        let path = if is_path { name.to_owned() } else { name.replace('.', "_") };
        Self { path, form: Form::String, is_many }
    }

    /// Returns the values of a cell, as JSON.
    fn values(&self, cell: &str) -> Vec<String> {
        if cell.is_empty() {
            return Vec::new();
        }
        if !self.is_many {
            return vec![self.form.value(cell)];
        }
        let parts = cell.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| self.form.value(part)).collect()
    }
}

impl Form {
    fn of(field: &Field) -> Self {
        match field.field_type() {
            FieldType::Number | FieldType::Integer | FieldType::Decimal { .. } => Self::Number,
            FieldType::Boolean => Self::Boolean,
            // In documents of the interface, Unix milliseconds are strings. Both forms have the same meaning.
            FieldType::Timestamp if field.form() == TimestampForm::UnixSeconds => Self::Number,
            _ => Self::String,
        }
    }

    fn value(self, cell: &str) -> String {
        let trimmed = cell.trim();
        match self {
            Self::Number if is_json_number(trimmed) => trimmed.to_owned(),
            Self::Boolean if trimmed.eq_ignore_ascii_case("true") => "true".to_owned(),
            Self::Boolean if trimmed.eq_ignore_ascii_case("false") => "false".to_owned(),
            _ => serde_json::to_string(cell).unwrap_or_default(),
        }
    }
}

fn is_json_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok_and(|raw| raw.get() == text)
}

/// The form of all documents of a file: a tree of keys, built from the header line.
#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
}

struct Node {
    key: String,
    /// The key as JSON, with its colon.
    written: String,
    /// The number of nested arrays in the value of the key: 1 for `tags[]`.
    arrays: usize,
    /// The number of the column whose path ends here.
    column: Option<usize>,
    children: Tree,
}

impl Tree {
    /// Adds a column. Returns false if the document cannot have both this column and an earlier one.
    fn add(&mut self, path: &str, number: usize) -> bool {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let name = key.trim_end_matches("[]");
        let arrays = key.len().saturating_sub(name.len()) / 2;
        let place = self.nodes.iter().position(|node| node.key == name).unwrap_or(self.nodes.len());
        if place == self.nodes.len() {
            let written = format!("{}:", serde_json::to_string(name).unwrap_or_default());
            let key = name.to_owned();
            self.nodes.push(Node { key, written, arrays, column: None, children: Self::default() });
        } else if rest.is_none() {
            return false;
        }
        let Some(node) = self.nodes.get_mut(place) else { return false };
        match rest {
            None => {
                node.column = Some(number);
                true
            }
            Some(rest) => node.column.is_none() && node.arrays == arrays && node.children.add(rest, number),
        }
    }

    /// Writes an object. If the object is within an array, each column of the object contributes its value with the index
    /// `element`. Returns false if the object has no members.
    fn write(&self, element: Option<usize>, values: &[Vec<String>], out: &mut String) -> bool {
        out.push('{');
        let mut is_empty = true;
        for node in &self.nodes {
            if node.len(values) <= element.unwrap_or_default() {
                continue;
            }
            let start = out.len();
            if !is_empty {
                out.push(',');
            }
            out.push_str(&node.written);
            if node.write(node.arrays, element, values, out) {
                is_empty = false;
            } else {
                out.truncate(start);
            }
        }
        out.push('}');
        !is_empty
    }

    /// Returns the number of values of the column that has the most values in this tree.
    fn len(&self, values: &[Vec<String>]) -> usize {
        self.nodes.iter().map(|node| node.len(values)).max().unwrap_or_default()
    }

    /// Returns the number of columns in this tree.
    fn columns(&self) -> usize {
        self.nodes.iter().map(Node::columns).fold(0, usize::saturating_add)
    }

    /// Returns true if each array has at most [`MOST_IN_ARRAY`] columns.
    fn has_small_arrays(&self) -> bool {
        self.nodes.iter().all(|node| match node.arrays {
            0 => node.children.has_small_arrays(),
            _ => node.columns() <= MOST_IN_ARRAY,
        })
    }
}

impl Node {
    fn len(&self, values: &[Vec<String>]) -> usize {
        match self.column {
            Some(column) => values.get(column).map_or(0, Vec::len),
            None => self.children.len(values),
        }
    }

    fn columns(&self) -> usize {
        if self.column.is_some() { 1 } else { self.children.columns() }
    }

    /// Writes the value of this key. In an array of objects, the first object has the first value of each column, and so on. An
    /// array within an array has one element.
    fn write(&self, arrays: usize, element: Option<usize>, values: &[Vec<String>], out: &mut String) -> bool {
        let start = out.len();
        match (arrays, self.column) {
            (0, Some(column)) => {
                let value = values.get(column).and_then(|values| values.get(element.unwrap_or_default()));
                out.push_str(value.map_or("", String::as_str));
            }
            (0, None) => return self.children.write(element, values, out),
            (_, _) => {
                let elements = match element {
                    Some(element) => element..element.saturating_add(1),
                    None => 0..self.len(values),
                };
                out.push('[');
                let first = out.len();
                for element in elements {
                    if out.len() > first {
                        out.push(',');
                    }
                    if !self.write(arrays.saturating_sub(1), Some(element), values, out) {
                        out.truncate(start);
                        return false;
                    }
                }
                if out.len() == first {
                    out.truncate(start);
                    return false;
                }
                out.push(']');
            }
        }
        out.len() > start
    }
}

/// A header line.
struct Header {
    /// `None` for a column without a name.
    columns: Vec<Option<Column>>,
    tree: Tree,
}

impl<'c> CsvColumns<'c> {
    /// Reads a file, and passes its rows to `taker`, as documents.
    pub(super) fn read(&self, name: &str, source: impl Read, taker: &mut dyn Taker) -> Result<(), Failure> {
        let limit = unpaged().document_bytes;
        let failed = |fault: Fault| match fault {
            Fault::Io(error) => Failure::io("cannot read", name, &error),
            Fault::Contents(line, error) => refused(name, line, error),
        };
        let mut rows = CsvRows::new(source, limit).map_err(failed)?;
        let Some(first) = rows.next().map_err(failed)? else { return Ok(()) };
        let header = self.header(first).map_err(|error| refused(name, first.line, error))?;
        let mut document = String::new();
        while let Some(row) = rows.next().map_err(failed)? {
            document.clear();
            match header.document(row, &mut document) {
                Ok(()) => taker.document(row.line, Ok(document.as_bytes()))?,
                Err(error) => taker.document(row.line, Err(error))?,
            }
        }
        Ok(())
    }

    /// Returns an error if --map names a column that no file has.
    pub(super) fn check_found(&self) -> Result<(), Failure> {
        let found = self.found.borrow();
        match self.maps.iter().find(|(theirs, _)| !found.contains(theirs)) {
            Some((theirs, _)) => {
                Err(Failure::Usage(format!("--map: no .csv file has a column `{}`", escape(theirs))))
            }
            None => Ok(()),
        }
    }

    fn header(&self, record: &Record) -> Result<Header, Error> {
        let mut header = Header { columns: Vec::new(), tree: Tree::default() };
        let mut has_id = false;
        for cell in record.cells() {
            let name = utf8(cell)?.trim();
            if name.is_empty() {
                header.columns.push(None);
                continue;
            }
            let mapped = self.maps.iter().find(|(theirs, _)| *theirs == name);
            if let Some((theirs, _)) = mapped {
                self.found.borrow_mut().insert(theirs);
            }
            let column = mapped.map(|(_, column)| column.clone());
            let column = column.or_else(|| Column::of_field(self.catalog, name));
            let column = column.unwrap_or_else(|| Column::of_member(name));
            has_id |= column.path == self.catalog.id_name();
            let keys = column.path.matches('.').count().saturating_add(column.path.matches("[]").count());
            if keys >= MOST_KEYS {
                let expected = format!("a path of at most {MOST_KEYS} keys");
                return Err(Error::new(
                    ErrorKind::TooDeep,
                    0,
                    "the name of a column with more points",
                    expected,
                ));
            }
            if !header.tree.add(&column.path, header.columns.len()) {
                let found = format!("the column `{name}`, for the member `{}`", column.path);
                let expected = "one column for each member, and no column for a member and a part of it";
                return Err(Error::new(ErrorKind::DuplicateKey, 0, found, expected));
            }
            header.columns.push(Some(column));
        }
        if !header.tree.has_small_arrays() {
            let expected = format!("at most {MOST_IN_ARRAY} columns in one array of objects");
            return Err(Error::new(ErrorKind::BadFile, 0, "more columns in one array", expected));
        }
        if !has_id {
            let id = self.catalog.id_name();
            let names: Vec<String> =
                record.cells().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
            let mut found = format!("the columns {}", names.join(", "));
            if let Some((at, _)) = found.char_indices().nth(200) {
                found.truncate(at);
                found.push('…');
            }
            let expected = format!("a column `{id}`, or one that `--map THEIRS={id}` names");
            return Err(Error::new(ErrorKind::BadId, 0, found, expected));
        }
        Ok(header)
    }
}

impl Header {
    /// Writes the document of a row.
    fn document(&self, row: &Record, out: &mut String) -> Result<(), Error> {
        if row.is_open {
            let expected = "a quotation mark at the end of the cell";
            return Err(Error::new(ErrorKind::Syntax, 0, "the end of the file in a quoted cell", expected));
        }
        if row.len() != self.columns.len() {
            let cells = |count: usize| format!("{count} {}", if count == 1 { "cell" } else { "cells" });
            let expected = format!("{}, as in the header line", cells(self.columns.len()));
            return Err(Error::new(ErrorKind::Syntax, 0, cells(row.len()), expected));
        }
        let values = row.cells().zip(&self.columns).map(|(cell, column)| match column {
            Some(column) => Ok(column.values(utf8(cell)?)),
            None if cell.is_empty() => Ok(Vec::new()),
            None => {
                let expected = "an empty cell, because its column has no name in the header line";
                Err(Error::new(ErrorKind::Syntax, 0, "text", expected))
            }
        });
        let values: Vec<Vec<String>> = values.collect::<Result<_, Error>>()?;
        self.tree.write(None, &values, out);
        Ok(())
    }
}

fn utf8(cell: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(cell).map_err(|_| {
        let expected = "UTF-8; convert the file, such as with `iconv -f WINDOWS-1252 -t UTF-8`";
        Error::new(ErrorKind::NotUtf8, 0, "bytes that are not UTF-8", expected)
    })
}

fn refused(name: &str, line: u64, error: Error) -> Failure {
    Failure::Refused(format!("{}\nnothing was read", line_of(&ImportError::new(name, line, error))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(catalog: &Catalog, csv: &str) -> Vec<Result<String, String>> {
        let args = CsvArgs::default();
        let columns = args.columns(catalog).unwrap_or_else(|_| panic!());
        let Ok(mut rows) = CsvRows::new(csv.as_bytes(), 1 << 20) else { panic!() };
        let Ok(Some(first)) = rows.next() else { panic!() };
        let header = match columns.header(first) {
            Ok(header) => header,
            Err(error) => return vec![Err(error.to_string())],
        };
        let mut found = Vec::new();
        while let Ok(Some(row)) = rows.next() {
            let mut document = String::new();
            let made = header.document(row, &mut document);
            found.push(made.map(|()| document).map_err(|error| error.to_string()));
        }
        found
    }

    #[test]
    fn any_bytes_are_read_without_a_panic_and_give_valid_json() {
        let cases = Catalog::cases();
        let args = CsvArgs::default();
        let columns = args.columns(&cases).unwrap_or_else(|_| panic!());
        const PARTS: [&str; 12] =
            ["id", "tags", ",", ",", "\n", "\r\n", "\"", "\"\"", ";", "x.y[]", "1.5", "\u{feff}"];
        let mut state = 7_u64;
        for round in 0..20_000 {
            let mut csv = if round % 2 == 0 {
                b"id,tags,caseReview.checklistState.checklist.name\n".to_vec()
            } else {
                Vec::new()
            };
            for _ in 0..(round % 40) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let part = usize::try_from(state >> 33).unwrap();
                match PARTS.get(part % 13) {
                    Some(part) => csv.extend_from_slice(part.as_bytes()),
                    None => csv.push((part >> 8) as u8),
                }
            }
            let Ok(mut rows) = CsvRows::new(&csv[..], 1000) else { continue };
            let Ok(Some(first)) = rows.next() else { continue };
            let Ok(header) = columns.header(first) else { continue };
            while let Ok(Some(row)) = rows.next() {
                let mut document = String::new();
                if header.document(row, &mut document).is_ok() {
                    let parsed: Result<serde_json::Value, _> = serde_json::from_str(&document);
                    assert!(parsed.is_ok_and(|value| value.is_object()), "{document}");
                }
            }
        }
    }

    #[test]
    fn rows_become_documents_of_the_types_of_the_catalogue() {
        let cases = Catalog::cases();
        let one = |csv: &str| documents(&cases, csv).remove(0);
        for (csv, document) in [
            ("id,status\na,open\n", r#"{"id":"a","caseReview":{"status":"open"}}"#),
            ("id,caseReview.status,status2\n1,,x\n", r#"{"id":"1","status2":"x"}"#),
            (
                "id,totalAmountInDefaultCurrency\na,1.50\n",
                r#"{"id":"a","totalAmountInDefaultCurrency":1.50}"#,
            ),
            ("id,totalAmountInDefaultCurrency\na,x\n", r#"{"id":"a","totalAmountInDefaultCurrency":"x"}"#),
            ("id,tags\na,x; y;;\n", r#"{"id":"a","tags":["x","y"]}"#),
            ("id,tags\na,;\n", r#"{"id":"a"}"#),
            ("id,Their Note\na,\" b\"\n", r#"{"id":"a","Their Note":" b"}"#),
            (
                "id,x[].y[],x[].z,v[][]\na,1;2,3,4;5\n",
                r#"{"id":"a","x":[{"y":["1"],"z":"3"},{"y":["2"]}],"v":[["4"],["5"]]}"#,
            ),
            ("id,x.y,x.z[],a..b\na,1,2;3,4\n", r#"{"id":"a","x":{"y":"1","z":["2","3"]},"a__b":"4"}"#),
            (
                "id,caseReview.checklistState.checklist.name,caseReview.checklistState.checklist.checked\na,x;y,TRUE\n",
                r#"{"id":"a","caseReview":{"checklistState":{"checklist":[{"name":"x","checked":true},{"name":"y"}]}}}"#,
            ),
        ] {
            assert_eq!(one(csv).as_deref(), Ok(document), "{csv}");
        }
        for (csv, message) in [
            ("id,tags\na\n", "found 1 cell, expected 2 cells, as in the header line"),
            ("id,\na,x\n", "its column has no name"),
            ("name\na\n", "found the columns name, expected a column `id`"),
            ("id,status,caseReview.status\na,b,c\n", "found the column `caseReview.status`"),
            ("id,x,x.y\na,b,c\n", "found the column `x.y`"),
            (&format!("id,a{}\na,b\n", ".a".repeat(10_000)), "expected a path of at most 32 keys"),
            (&format!("id,a{}\na,b\n", "[]".repeat(10_000)), "expected a path of at most 32 keys"),
            (
                &format!(
                    "id,{}\n{}\n",
                    (0..65).map(|n| format!("x[].c{n}")).collect::<Vec<_>>().join(","),
                    ",".repeat(65)
                ),
                "expected at most 64 columns in one array of objects",
            ),
        ] {
            let told = one(csv).unwrap_err();
            assert!(told.contains(message), "{told}");
        }
    }
}
