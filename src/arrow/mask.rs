//! Evaluates a filter on a record batch without an engine: `Filter::mask`.

use std::ops::Range;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::Schema;

use super::bind::{BoundKind, BoundNode, Object, bind};
use super::cast::cast_batch;
use super::memo::Memo;
use super::plan::Plan;
use super::value::value_of;
use super::values::list_range;
use crate::catalog::{ArrayId, Catalog, ElementArray, Field, FieldId};
use crate::error::{Error, ErrorKind};
use crate::filter::Filter;
use crate::operator::Connective;
use crate::predicate::{Elements, Leaf, Matcher, Node, Set, Test, Tree};
use crate::value::Value;

/// Filtering record batches without an engine. Requires the feature `arrow`.
impl Filter {
    /// Returns a mask of the rows that match the filter. It contains true or false for each row, and no nulls.
    ///
    /// Column names and types are as in [`Import::parquet`](crate::Import::parquet). Columns that the filter does not test may have
    /// any type. If a field has no column, it is absent in every row. A null is treated as absent. This method builds no index, so
    /// use it for a stream of batches that are scanned once.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{RecordBatch, StringArray};
    /// use casefilter::{Catalog, Filter};
    ///
    /// let filter = Filter::compile_text(&Catalog::cases(), "status = open and priority = medium")?;
    /// let states = Arc::new(StringArray::from(vec![Some("open"), Some("blocked"), None])) as _;
    /// let batch = RecordBatch::try_from_iter([("caseReview.status", states)])?;
    /// let mask = filter.mask(&batch)?;
    /// assert_eq!(mask.values().iter().collect::<Vec<_>>(), [true, false, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the type of a column does not fit its field, or if two columns contain the same field. Also returns an
    /// error if a value is invalid. The path of the error is the column or the field.
    ///
    /// # Complexity
    /// Linear in the number of values of the tested columns, times the number of criteria on each column.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray, Error> {
        FilterMask::new(self, &batch.schema())?.of(batch)
    }
}

/// A filter with the plan of a schema, for all batches of this schema.
pub(super) struct FilterMask<'f> {
    columns: Columns<'f>,
    plan: Plan,
}

impl<'f> FilterMask<'f> {
    /// Creates the plan of a filter for a schema.
    ///
    /// # Errors
    /// Returns an error if a column does not fit the catalogue of the filter.
    pub(super) fn new(filter: &'f Filter, schema: &Schema) -> Result<Self, Error> {
        let mut fields = filter.predicate().fields();
        // The number of elements of an array can depend on any column of its members, so all of these columns are read.
        for array in arrays_of(filter.predicate()) {
            fields.extend_from_slice(filter.catalog().fields_of_array(array));
        }
        fields.sort_unstable();
        fields.dedup();
        let (plan, planned) = Plan::of_fields(schema, filter.catalog(), &fields)?;
        Ok(Self { columns: Columns { filter, planned }, plan })
    }

    /// Returns the mask of a batch.
    ///
    /// # Errors
    /// Returns an error if a value is invalid.
    pub(super) fn of(&self, batch: &RecordBatch) -> Result<BooleanArray, Error> {
        let batch = cast_batch(batch, &self.plan)?;
        let schema_mismatch =
            || Error::new(ErrorKind::WrongType, 0, "a batch of another schema", "the schema of the mask");
        let case = bind(&self.plan.members, &batch).ok_or_else(schema_mismatch)?;
        let rows = batch.num_rows();
        let mask = self.columns.tree(self.columns.filter.predicate(), &Place::Case(&case, rows))?;
        Ok(BooleanArray::new(mask, None))
    }
}

/// Returns the arrays whose elements a tree tests, including the arrays of nested tests.
pub(super) fn arrays_of(tree: &Tree<Leaf>) -> Vec<ElementArray> {
    let mut arrays = Vec::new();
    let mut open = vec![tree];
    while let Some(tree) = open.pop() {
        for node in tree.nodes() {
            let Node::Leaf(leaf) = node else { continue };
            if let Some(elements) = leaf.test.elements() {
                arrays.push(elements.array);
                open.push(&elements.tree);
            }
        }
    }
    arrays
}

/// The entries on which a tree is evaluated.
pub(super) enum Place<'s, 'b> {
    /// The cases of the batch.
    Case(&'s Object<'b>, usize),
    /// The elements of all lists of a list column. A bit of the buffer is set if the list that contains the element is not null.
    Elements(&'s BoundNode<'b>, &'s BooleanBuffer),
    /// The objects of a list that is stored as parallel list columns: one column for each member of the objects.
    Lanes(&'s Lanes<'s, 'b>),
}

impl Place<'_, '_> {
    fn len(&self) -> usize {
        match self {
            Self::Case(_, rows) => *rows,
            Self::Elements(_, there) => there.len(),
            Self::Lanes(lanes) => lanes.ends.last().copied().unwrap_or(0),
        }
    }

    /// Evaluates a search on the entries of this place. Returns a mask of the entries that the search finds. If this place has no
    /// column of the field or array that the search looks for, no bit of the mask is set.
    pub(super) fn find(&self, search: &impl Seek) -> Result<BooleanBuffer, Error> {
        let found = match self {
            Self::Case(case, rows) => search.object(case, &BooleanBuffer::new_set(*rows), None),
            Self::Elements(element, there) => search.part(element, there),
            Self::Lanes(lanes) => lanes.find(search),
        };
        found.unwrap_or_else(|| Ok(BooleanBuffer::new_unset(self.len())))
    }
}

/// The objects of a list that is stored as parallel list columns: one column for each member of the objects. A row has as many
/// objects as its longest list has elements.
pub(super) struct Lanes<'s, 'b> {
    lanes: &'s [(&'b str, BoundNode<'b>)],
    /// The rows in which the enclosing object is present.
    there: &'s BooleanBuffer,
    /// For each row, the end index of its objects.
    ends: Vec<usize>,
}

impl<'s, 'b> Lanes<'s, 'b> {
    fn new(lanes: &'s [(&'b str, BoundNode<'b>)], there: &'s BooleanBuffer) -> Self {
        let mut end = 0_usize;
        let ends = (0..there.len()).map(|row| {
            let lengths = lanes.iter().map(|(_, lane)| lane_range(lane, there, row).len());
            end = end.saturating_add(lengths.max().unwrap_or(0));
            end
        });
        Self { lanes, there, ends: ends.collect() }
    }

    fn find(&self, search: &impl Seek) -> Found {
        self.lanes.iter().find_map(|(_, lane)| {
            let BoundKind::List(offsets, element, _) = &lane.kind else { return None };
            let own = lane.nulls.map(|nulls| self.there & &nulls.inner().slice(0, self.there.len()));
            let there = elements_there(offsets, own.as_ref().unwrap_or(self.there));
            let found = match search.part(element, &there)? {
                Ok(found) => found,
                Err(error) => return Some(Err(error)),
            };
            let mut bits = BooleanBufferBuilder::new(0);
            for (row, end) in self.ends.iter().enumerate() {
                let range = lane_range(lane, self.there, row);
                for at in range {
                    bits.append(at < found.len() && found.value(at));
                }
                bits.append_n(end.saturating_sub(bits.len()), false);
            }
            Some(Ok(bits.finish()))
        })
    }
}

/// Returns the range of the elements of a list column in a row. The range is empty if the list is null.
fn lane_range(lane: &BoundNode<'_>, there: &BooleanBuffer, row: usize) -> Range<usize> {
    match &lane.kind {
        BoundKind::List(offsets, ..)
            if there.value(row) && !lane.nulls.is_some_and(|nulls| nulls.is_null(row)) =>
        {
            let (start, end) = list_range(offsets, row);
            start..end
        }
        _ => 0..0,
    }
}

struct Columns<'f> {
    filter: &'f Filter,
    /// The catalogue that the plan was made for. The array ids in the plan are ids of this catalogue.
    planned: Catalog,
}

impl Columns<'_> {
    /// Evaluates a tree on all entries of a place.
    fn tree(&self, tree: &Tree<Leaf>, place: &Place<'_, '_>) -> Result<BooleanBuffer, Error> {
        let count = place.len();
        let mut truths: Vec<BooleanBuffer> = Vec::with_capacity(tree.nodes().len());
        for node in tree.nodes() {
            let truth = match node {
                Node::Constant(true) => BooleanBuffer::new_set(count),
                Node::Constant(false) => BooleanBuffer::new_unset(count),
                Node::Leaf(leaf) => self.leaf(leaf, place)?,
                Node::Branch(connective, children) => {
                    let children = children.iter().filter_map(|child| truths.get(*child));
                    match connective {
                        Connective::And => {
                            children.fold(BooleanBuffer::new_set(count), |all, child| &all & child)
                        }
                        Connective::Or => {
                            children.fold(BooleanBuffer::new_unset(count), |any, child| &any | child)
                        }
                    }
                }
            };
            truths.push(truth);
        }
        Ok(truths.pop().unwrap_or_else(|| BooleanBuffer::new_unset(count)))
    }

    fn leaf(&self, leaf: &Leaf, place: &Place<'_, '_>) -> Result<BooleanBuffer, Error> {
        let any = |set: &Set| match set {
            Set::Matching(pattern) => {
                let matcher = Matcher::new(pattern);
                let passes =
                    |value: &Value<'_>| matches!(value, Value::String(text) if matcher.is_match(text));
                self.exists(leaf.field, place, &passes)
            }
            _ => self.exists(leaf.field, place, &|value| set.contains(value)),
        };
        let truth = match &leaf.test {
            Test::Any(set) => any(set)?,
            Test::None(set) => !&any(set)?,
            Test::All(set) | Test::NotAll(set) => {
                let mut all = BooleanBuffer::new_set(place.len());
                for point in set.points() {
                    all = &all & &self.exists(leaf.field, place, &|value| *value == point)?;
                }
                if leaf.test.is_negated() { !&all } else { all }
            }
            Test::Elem(elements) => return self.elements(elements, place),
            Test::NoElem(elements) => return Ok(!&self.elements(elements, place)?),
        };
        let defaults = self.filter.catalog().defaults();
        let Some((_, default)) = defaults.iter().find(|(field, _)| *field == leaf.field) else {
            return Ok(truth);
        };
        let has_value = self.exists(leaf.field, place, &|_| true)?;
        Ok(match leaf.matches(std::iter::once(default)) {
            true => &truth | &!&has_value,
            false => &truth & &has_value,
        })
    }

    /// Returns the entries in which at least one value of the field passes the test.
    fn exists(
        &self,
        field: FieldId,
        place: &Place<'_, '_>,
        passes: &impl Fn(&Value<'_>) -> bool,
    ) -> Result<BooleanBuffer, Error> {
        place.find(&Search { field, catalog_field: self.filter.catalog().field(field), passes })
    }

    /// Returns the entries in which an element of the array passes the tests.
    fn elements(&self, elements: &Elements, place: &Place<'_, '_>) -> Result<BooleanBuffer, Error> {
        match self.planned.array_id(elements.array) {
            Some(array) => place.find(&ElementSearch { columns: self, array, tree: &elements.tree }),
            None => Ok(BooleanBuffer::new_unset(place.len())),
        }
    }
}

/// A mask of the entries that a search found. `None` if the searched node and its descendants do not include the node that the
/// search looks for.
pub(super) type Found = Option<Result<BooleanBuffer, Error>>;

/// A search for one node of a bound case: the values of a field, or an array of objects. It recurses once for each level of the
/// plan, whose depth is limited.
pub(super) trait Seek {
    /// Evaluates the search on one node. Returns `None` if this is not the node that the search looks for. The caller then searches
    /// the children of the node. `there` contains the entries in which the node is present. The values of all other entries are
    /// undefined.
    fn hit(&self, kind: &BoundKind<'_>, there: &BooleanBuffer) -> Found;

    /// Searches the members of an object. `around` contains the entries in which the enclosing node is present. `own` contains the
    /// entries in which the struct column of the object is not null.
    fn object(&self, object: &Object<'_>, around: &BooleanBuffer, own: Option<&BooleanBuffer>) -> Found {
        object.members.iter().find_map(|entry| {
            let around = own.filter(|_| entry.is_struct_child).unwrap_or(around);
            self.part(&entry.node, around)
        })
    }

    /// Searches a node. `around` contains the entries in which the enclosing node is present. The values of all other entries are
    /// undefined.
    fn part(&self, part: &BoundNode<'_>, around: &BooleanBuffer) -> Found {
        // The array may contain more elements after the elements of the last list, so the bitmap is cut to the length of `around`.
        let own = part.nulls.map(|nulls| around & &nulls.inner().slice(0, around.len()));
        let there = own.as_ref().unwrap_or(around);
        if let Some(found) = self.hit(&part.kind, there) {
            return Some(found);
        }
        match &part.kind {
            BoundKind::Object(object) => self.object(object, around, Some(there)),
            BoundKind::Zip(lanes, _) => lanes.iter().find_map(|(_, lane)| self.part(lane, there)),
            BoundKind::List(offsets, element, _) => {
                let elements = self.part(element, &elements_there(offsets, there))?;
                Some(elements.map(|elements| lists_with_any(offsets, &elements, there)))
            }
            BoundKind::Value(..) => None,
        }
    }
}

/// Returns the elements that belong to the lists of the entries in `there`.
fn elements_there(offsets: &[i32], there: &BooleanBuffer) -> BooleanBuffer {
    let mut elements = BooleanBufferBuilder::new(0);
    for at in there.set_indices() {
        let (start, end) = list_range(offsets, at);
        // The elements of the lists are stored one after the other. Elements between two of these lists belong to entries that are
        // not in `there`.
        elements.append_n(start.saturating_sub(elements.len()), false);
        elements.append_n(end.saturating_sub(elements.len()), true);
    }
    elements.append_n(list_range(offsets, there.len()).0.saturating_sub(elements.len()), false);
    elements.finish()
}

/// Returns the entries in `there` whose lists have at least one of the `elements`.
fn lists_with_any(offsets: &[i32], elements: &BooleanBuffer, there: &BooleanBuffer) -> BooleanBuffer {
    let has_any = |at: usize| {
        let (start, end) = list_range(offsets, at);
        there.value(at) && (start..end.min(elements.len())).any(|at| elements.value(at))
    };
    BooleanBuffer::collect_bool(there.len(), has_any)
}

/// A search for values of a field that pass a test.
struct Search<'s, P> {
    field: FieldId,
    catalog_field: &'s Field,
    passes: &'s P,
}

impl<P: Fn(&Value<'_>) -> bool> Seek for Search<'_, P> {
    fn hit(&self, kind: &BoundKind<'_>, there: &BooleanBuffer) -> Found {
        let BoundKind::Value(field, values) = kind else { return None };
        if *field != Some(self.field) {
            return None;
        }
        let mut truths = BooleanBufferBuilder::new(there.len());
        truths.append_n(there.len(), false);
        let mut memo = Memo::new(values);
        for at in there.set_indices() {
            let test = || value_of(self.catalog_field, values, at).map(|value| (self.passes)(&value));
            match memo.result(at, test) {
                Ok(passes) => truths.set_bit(at, passes),
                Err(error) => return Some(Err(error.at(self.catalog_field.name()))),
            }
        }
        Some(Ok(truths.finish()))
    }
}

/// A search for the elements of an array that pass the tests of a tree.
struct ElementSearch<'s> {
    columns: &'s Columns<'s>,
    array: ArrayId,
    tree: &'s Tree<Leaf>,
}

impl Seek for ElementSearch<'_> {
    fn hit(&self, kind: &BoundKind<'_>, there: &BooleanBuffer) -> Found {
        match kind {
            BoundKind::List(offsets, element, array) if *array == Some(self.array) => {
                let elements = elements_there(offsets, there);
                let passing = self.columns.tree(self.tree, &Place::Elements(element, &elements));
                Some(passing.map(|passing| lists_with_any(offsets, &passing, there)))
            }
            BoundKind::Zip(lanes, array) if *array == Some(self.array) => {
                let lanes = Lanes::new(lanes, there);
                let passing = self.columns.tree(self.tree, &Place::Lanes(&lanes));
                let has_any = |passing: BooleanBuffer| {
                    let start = |row: usize| row.checked_sub(1).and_then(|row| lanes.ends.get(row).copied());
                    BooleanBuffer::collect_bool(there.len(), |row| {
                        let end = lanes.ends.get(row).copied().unwrap_or(0);
                        (start(row).unwrap_or(0)..end).any(|at| passing.value(at))
                    })
                };
                Some(passing.map(has_any))
            }
            _ => None,
        }
    }
}
