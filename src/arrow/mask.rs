//! Evaluates a filter on a record batch without an engine: `Filter::mask`.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::bind::{BoundKind, BoundNode, Object, bind};
use super::cast::cast_batch;
use super::plan::Plan;
use super::value::value_of;
use super::values::list_range;
use crate::catalog::FieldId;
use crate::error::{Error, ErrorKind};
use crate::filter::Filter;
use crate::operator::Connective;
use crate::predicate::{Leaf, Matcher, Node, Set, Test};
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
        let nodes = self.predicate().nodes();
        let fields = nodes.iter().filter_map(|node| match node {
            Node::Leaf(leaf) => Some(leaf.field),
            Node::Constant(_) | Node::Branch(..) => None,
        });
        let plan = Plan::of_fields(&batch.schema(), self.catalog(), &fields.collect::<Vec<_>>())?;
        let batch = cast_batch(batch, &plan)?;
        let schema_mismatch =
            || Error::new(ErrorKind::WrongType, 0, "a batch of another schema", "a batch of its own schema");
        let columns =
            Columns { filter: self, case: bind(&plan.members, &batch).ok_or_else(schema_mismatch)? };
        let rows = batch.num_rows();
        let mut truths: Vec<BooleanBuffer> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let truth = match node {
                Node::Constant(true) => BooleanBuffer::new_set(rows),
                Node::Constant(false) => BooleanBuffer::new_unset(rows),
                Node::Leaf(leaf) => columns.leaf(leaf, rows)?,
                Node::Branch(connective, children) => {
                    let children = children.iter().filter_map(|child| truths.get(*child));
                    match connective {
                        Connective::And => {
                            children.fold(BooleanBuffer::new_set(rows), |all, child| &all & child)
                        }
                        Connective::Or => {
                            children.fold(BooleanBuffer::new_unset(rows), |any, child| &any | child)
                        }
                    }
                }
            };
            truths.push(truth);
        }
        Ok(BooleanArray::new(truths.pop().unwrap_or_else(|| BooleanBuffer::new_unset(rows)), None))
    }
}

struct Columns<'f, 'b> {
    filter: &'f Filter,
    case: Object<'b>,
}

impl Columns<'_, '_> {
    fn leaf(&self, leaf: &Leaf, rows: usize) -> Result<BooleanBuffer, Error> {
        let any = |set: &Set| match set {
            Set::Matching(pattern) => {
                let matcher = Matcher::new(pattern);
                let passes =
                    |value: &Value<'_>| matches!(value, Value::String(text) if matcher.is_match(text));
                self.exists(leaf.field, rows, &passes)
            }
            _ => self.exists(leaf.field, rows, &|value| set.contains(value)),
        };
        let truth = match &leaf.test {
            Test::Any(set) => any(set)?,
            Test::None(set) => !&any(set)?,
            Test::All(set) | Test::NotAll(set) => {
                let mut all = BooleanBuffer::new_set(rows);
                for point in set.points() {
                    all = &all & &self.exists(leaf.field, rows, &|value| *value == point)?;
                }
                if leaf.test.is_negated() { !&all } else { all }
            }
        };
        let defaults = self.filter.catalog().defaults();
        let Some((_, default)) = defaults.iter().find(|(field, _)| *field == leaf.field) else {
            return Ok(truth);
        };
        let has_value = self.exists(leaf.field, rows, &|_| true)?;
        let default = Value::String((&**default).into());
        Ok(match leaf.matches(std::iter::once(&default)) {
            true => &truth | &!&has_value,
            false => &truth & &has_value,
        })
    }

    /// Returns the rows in which at least one value of the field passes the test.
    fn exists(
        &self,
        field: FieldId,
        rows: usize,
        passes: &impl Fn(&Value<'_>) -> bool,
    ) -> Result<BooleanBuffer, Error> {
        let search = Search { field, catalog_field: self.filter.catalog().field(field), passes };
        let found = search.object(&self.case, &BooleanBuffer::new_set(rows), None);
        found.unwrap_or_else(|| Ok(BooleanBuffer::new_unset(rows)))
    }
}

/// A search for values of a field that pass a test. It recurses as deeply as the plan nests, which is limited.
struct Search<'s, P> {
    field: FieldId,
    catalog_field: &'s crate::catalog::Field,
    passes: &'s P,
}

/// A bitmap of the rows or elements that have a value that passes the test. `None` if the node does not contain the field.
type Found = Option<Result<BooleanBuffer, Error>>;

impl<P: Fn(&Value<'_>) -> bool> Search<'_, P> {
    /// Tests the members of an object. `around` contains the rows in which the enclosing node is present. `own` contains the rows
    /// in which the struct column is not null.
    fn object(&self, object: &Object<'_>, around: &BooleanBuffer, own: Option<&BooleanBuffer>) -> Found {
        object.members.iter().find_map(|entry| {
            let around = own.filter(|_| entry.is_struct_child).unwrap_or(around);
            self.part(&entry.node, around)
        })
    }

    /// Tests a node. `around` contains the rows in which the enclosing node is present. The values of all other rows are undefined.
    fn part(&self, part: &BoundNode<'_>, around: &BooleanBuffer) -> Found {
        // The array may contain more elements after those of the last list, so the bitmap is cut to the length of `around`.
        let own = part.nulls.map(|nulls| around & &nulls.inner().slice(0, around.len()));
        let there = own.as_ref().unwrap_or(around);
        match &part.kind {
            BoundKind::Object(object) => self.object(object, around, Some(there)),
            BoundKind::Zip(lanes) => lanes.iter().find_map(|(_, lane)| self.part(lane, there)),
            BoundKind::List(offsets, element) => self.list(offsets, element, there),
            BoundKind::Value(field, values) if *field == Some(self.field) => {
                let mut truths = BooleanBufferBuilder::new(there.len());
                truths.append_n(there.len(), false);
                for at in there.set_indices() {
                    match value_of(self.catalog_field, values, at) {
                        Ok(value) => truths.set_bit(at, (self.passes)(&value)),
                        Err(error) => return Some(Err(error.at(self.catalog_field.name()))),
                    }
                }
                Some(Ok(truths.finish()))
            }
            BoundKind::Value(..) => None,
        }
    }

    fn list(&self, offsets: &[i32], element: &BoundNode<'_>, there: &BooleanBuffer) -> Found {
        let mut elements = BooleanBufferBuilder::new(0);
        for at in there.set_indices() {
            let (start, end) = list_range(offsets, at);
            // The elements of the lists are stored one after the other. Elements between two lists belong to null lists.
            elements.append_n(start.saturating_sub(elements.len()), false);
            elements.append_n(end.saturating_sub(elements.len()), true);
        }
        elements.append_n(list_range(offsets, there.len()).0.saturating_sub(elements.len()), false);
        let elements = match self.part(element, &elements.finish())? {
            Ok(elements) => elements,
            Err(error) => return Some(Err(error)),
        };
        let has_any = |at: usize| {
            let (start, end) = list_range(offsets, at);
            there.value(at) && (start..end.min(elements.len())).any(|at| elements.value(at))
        };
        Some(Ok(BooleanBuffer::collect_bool(there.len(), has_any)))
    }
}
