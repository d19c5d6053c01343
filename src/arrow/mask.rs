//! Filters over record batches.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::bind::{Bound, Object, Part, bind};
use super::plan::Plan;
use super::value::value_of;
use super::values::range;
use super::view::view;
use crate::catalog::FieldId;
use crate::error::{Error, ErrorKind};
use crate::filter::Filter;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test};
use crate::value::Value;

/// Record batches as they are, without an engine; with the feature `arrow`.
impl Filter {
    /// Which rows of a batch it selects: true or false for each, never null.
    ///
    /// Columns are found, and may have the types, as in [`Import::parquet`](crate::Import::parquet); those that the
    /// filter does not ask for may have any. A field without a column is absent from every row, as is a
    /// null. Nothing is indexed: this is for rows that are looked at once, in a stream of batches.
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
    /// A column of a type that its field cannot have, two columns for one field, and a value that its field cannot
    /// have; the path is that of the column, or of the field.
    ///
    /// Complexity: linear in the values of the columns that it asks for, times its criteria on each.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray, Error> {
        let nodes = self.predicate().nodes();
        let fields = nodes.iter().filter_map(|node| match node {
            Node::Leaf(leaf) => Some(leaf.field),
            Node::Constant(_) | Node::Branch(..) => None,
        });
        let plan = Plan::of_fields(&batch.schema(), self.catalog(), &fields.collect::<Vec<_>>())?;
        let batch = view(batch, &plan)?;
        let foreign = || Error::new(ErrorKind::WrongType, 0, "a batch of another schema", "one of its own");
        let columns = Columns { filter: self, case: bind(&plan.members, &batch).ok_or_else(foreign)? };
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
        let any = |set: &Set| self.exists(leaf.field, rows, &|value| set.contains(value));
        let truth = match &leaf.test {
            Test::Any(set) => any(set)?,
            Test::None(set) => !&any(set)?,
            Test::All(set) => {
                let mut all = BooleanBuffer::new_set(rows);
                for point in set.points() {
                    all = &all & &self.exists(leaf.field, rows, &|value| *value == point)?;
                }
                all
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

    /// In which rows the field has a value that passes.
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

/// The search for the values of a field: as deep as the plan, which is bounded.
struct Search<'s, P> {
    field: FieldId,
    catalog_field: &'s crate::catalog::Field,
    passes: &'s P,
}

/// Where there is a value that passes; `None` where the field does not lie.
type Found = Option<Result<BooleanBuffer, Error>>;

impl<P: Fn(&Value<'_>) -> bool> Search<'_, P> {
    /// `around` says where the objects can be, `own` where the struct column has them.
    fn object(&self, object: &Object<'_>, around: &BooleanBuffer, own: Option<&BooleanBuffer>) -> Found {
        object.members.iter().find_map(|entry| {
            let around = own.filter(|_| entry.of_struct).unwrap_or(around);
            self.part(&entry.part, around)
        })
    }

    /// `around` says at which places the part can be; elsewhere its values mean nothing.
    fn part(&self, part: &Part<'_>, around: &BooleanBuffer) -> Found {
        // Behind the last list there may be elements that belong to none.
        let own = part.nulls.map(|nulls| around & &nulls.inner().slice(0, around.len()));
        let there = own.as_ref().unwrap_or(around);
        match &part.shape {
            Bound::Object(object) => self.object(object, around, Some(there)),
            Bound::Zip(lanes) => lanes.iter().find_map(|(_, lane)| self.part(lane, there)),
            Bound::List(offsets, element) => self.list(offsets, element, there),
            Bound::Value(field, values) if *field == Some(self.field) => {
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
            Bound::Value(..) => None,
        }
    }

    fn list(&self, offsets: &[i32], element: &Part<'_>, there: &BooleanBuffer) -> Found {
        let mut elements = BooleanBufferBuilder::new(0);
        for at in there.set_indices() {
            let (start, end) = range(offsets, at);
            // Lists lie one behind the other; what is between them belongs to lists that are null.
            elements.append_n(start.saturating_sub(elements.len()), false);
            elements.append_n(end.saturating_sub(elements.len()), true);
        }
        elements.append_n(range(offsets, there.len()).0.saturating_sub(elements.len()), false);
        let elements = match self.part(element, &elements.finish())? {
            Ok(elements) => elements,
            Err(error) => return Some(Err(error)),
        };
        let has_any = |at: usize| {
            let (start, end) = range(offsets, at);
            there.value(at) && (start..end.min(elements.len())).any(|at| elements.value(at))
        };
        Some(Ok(BooleanBuffer::collect_bool(there.len(), has_any)))
    }
}
