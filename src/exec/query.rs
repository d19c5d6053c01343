//! A predicate looked up once in what all batches of a snapshot have in common.

use std::sync::{Arc, OnceLock};

use smallvec::{SmallVec, smallvec};

use super::evaluate::Tiles;
use super::kernels;
use super::source::prefetch_values;
use super::trace::Trace;
use crate::batch::{Batch, Directory, FieldDirectory, GlobalRow, Occurrences, Zones, split};
use crate::catalog::FieldId;
use crate::column::{Column, Dictionary};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test, Tree};

/// A predicate ready to run on the batches of one snapshot.
pub(crate) struct Query<'q> {
    pub(super) predicate: &'q Tree<Leaf>,
    pub(super) directory: &'q Directory,
    /// By node of the predicate: how leaves are reached in the batches that the directory covers.
    pub(super) accesses: Arc<[Access<'q>]>,
    /// Some node below the root is a leaf that zone maps may settle.
    has_zones: bool,
    /// Where the rows of a batch are combined.
    pub(super) tiles: Tiles,
    /// Where notes are taken, if anywhere.
    pub(super) trace: Option<&'q Trace<'q>>,
}

/// How the rows of a leaf are reached.
pub(super) enum Access<'q> {
    /// Through the column of each batch.
    Column,
    /// Through the occurrences of its strings.
    Strings(Vec<&'q Occurrences>, /* of how many strings */ usize),
    /// Through these rows, which have one of its strings.
    Rows(KeyRows),
}

/// Rows found by key, which are sorted only for those who need that.
pub(super) struct KeyRows {
    found: Vec<GlobalRow>,
    ascending: OnceLock<Vec<GlobalRow>>,
}

impl KeyRows {
    /// In any order.
    fn found(&self) -> &[GlobalRow] {
        &self.found
    }

    pub(super) fn ascending(&self) -> &[GlobalRow] {
        self.ascending.get_or_init(|| {
            let mut rows = self.found.clone();
            rows.sort_unstable();
            rows
        })
    }
}

/// Rows of the covered batches, dead ones among them, that are known without asking a batch.
pub(crate) enum Known<'q> {
    /// Those that have one of these strings of a field, of which no row has two.
    Strings(FieldId, &'q [&'q Occurrences]),
    /// These, in any order.
    Rows(&'q [GlobalRow]),
}

impl<'q> Query<'q> {
    /// `batch` gives the covered batch of a number.
    pub(crate) fn new<'b>(
        predicate: &'q Tree<Leaf>,
        directory: &'q Directory,
        batch: impl Fn(usize) -> Option<&'b Batch>,
    ) -> Self {
        let accesses = predicate.nodes().iter().map(|node| match node {
            Node::Leaf(leaf) => access(leaf, directory, &batch),
            _ => Access::Column,
        });
        let has_zone = |node: &Node<Leaf>| match node {
            Node::Leaf(leaf) => matches!(
                directory.field(leaf.field),
                FieldDirectory::Numbers(_) | FieldDirectory::Timestamps(_)
            ),
            _ => false,
        };
        Self {
            predicate,
            directory,
            accesses: accesses.collect(),
            has_zones: predicate.nodes().len() > 1 && predicate.nodes().iter().any(has_zone),
            tiles: Tiles::default(),
            trace: None,
        }
    }

    /// What makes the same query on another thread; none where notes are taken.
    #[cfg(feature = "parallel")]
    pub(crate) fn fork(&self) -> Option<impl Fn() -> Query<'q> + Sync + use<'q>> {
        let (predicate, directory) = (self.predicate, self.directory);
        let (accesses, has_zones) = (Arc::clone(&self.accesses), self.has_zones);
        self.trace.is_none().then_some(move || Query {
            predicate,
            directory,
            accesses: Arc::clone(&accesses),
            has_zones,
            tiles: Tiles::default(),
            trace: None,
        })
    }

    /// This query, with notes taken of what it is used for.
    pub(crate) fn traced(self, trace: &'q Trace<'q>) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// How a leaf, the predicate's node `node`, is reached in the batch of this number.
    pub(super) fn access(&self, node: usize, number: usize) -> &Access<'q> {
        match self.accesses.get(node) {
            Some(access) if self.directory.covers(number) => access,
            // Any other batch has only itself to ask.
            _ => &Access::Column,
        }
    }

    /// Whether asking a single row takes no longer than about one look for each leaf.
    pub(crate) fn asks_rows_fast(&self) -> bool {
        /// All of more values than this are a look for each of them.
        const FEW_VALUES: usize = 8;
        self.predicate.nodes().iter().all(|node| match node {
            Node::Leaf(Leaf { test: Test::All(set), .. }) => set.len() <= FEW_VALUES,
            _ => true,
        })
    }

    /// By node, what the zone maps of a batch settle, for no row or for every row; nodes that only settled ones lie above are of no
    /// interest, and count as settled. Nothing, where there are no zone maps.
    ///
    /// They lie one behind the other, apart from the batches: most batches that a range leaves out are
    /// never looked at for the criteria beside it.
    pub(super) fn settled_by_zones(&self, number: usize) -> SmallVec<[Option<bool>; 32]> {
        let mut settled: SmallVec<[Option<bool>; 32]> = SmallVec::new();
        if !self.has_zones || !self.directory.covers(number) {
            return settled;
        }
        for node in self.predicate.nodes() {
            let value = match node {
                Node::Constant(value) => Some(*value),
                Node::Leaf(leaf) => self.settled_leaf(leaf, number),
                Node::Branch(connective, children) => {
                    let neutral = *connective == Connective::And;
                    let value = |child: &usize| settled.get(*child).copied().flatten();
                    if children.iter().any(|child| value(child) == Some(!neutral)) {
                        Some(!neutral)
                    } else {
                        children.iter().all(|child| value(child) == Some(neutral)).then_some(neutral)
                    }
                }
            };
            settled.push(value);
        }
        if settled.iter().all(Option::is_none) {
            return SmallVec::new();
        }
        // A node is of interest if one of its parents is that is not settled; parents stand behind their children.
        let mut is_needed: SmallVec<[bool; 32]> = smallvec![false; settled.len()];
        if let Some(root) = is_needed.last_mut() {
            *root = true;
        }
        for (id, node) in self.predicate.nodes().iter().enumerate().rev() {
            let Some(value) = settled.get_mut(id) else { continue };
            match node {
                _ if is_needed.get(id) != Some(&true) => *value = value.or(Some(false)),
                Node::Branch(_, children) if value.is_none() => {
                    for child in children {
                        if let Some(is_needed) = is_needed.get_mut(*child) {
                            *is_needed = true;
                        }
                    }
                }
                _ => {}
            }
        }
        settled
    }

    fn settled_leaf(&self, leaf: &Leaf, number: usize) -> Option<bool> {
        let (set, otherwise) = match &leaf.test {
            Test::Any(set) => (set, false),
            Test::None(set) => (set, true),
            Test::All(_) => return None,
        };
        let meets = match (self.directory.field(leaf.field), set) {
            (FieldDirectory::Timestamps(zones), Set::Timestamps(ranges)) => {
                meets(zones, number, ranges.as_slice())
            }
            (FieldDirectory::Numbers(zones), Set::Numbers(ranges)) => meets(zones, number, ranges.as_slice()),
            _ => true,
        };
        (!meets).then_some(otherwise)
    }

    /// The numbers of the covered batches that may have a row, ascending.
    pub(crate) fn batches(&self) -> Vec<usize> {
        let batches = self.directory.numbers();
        let root = self.predicate.root();
        let conjuncts: &[usize] = match self.predicate.get(root) {
            Some(Node::Branch(Connective::And, children)) => children,
            Some(Node::Constant(false)) | None => return Vec::new(),
            _ => &[root],
        };
        let mut kept: Option<Vec<usize>> = None;
        for id in conjuncts {
            let Some(Node::Leaf(leaf)) = self.predicate.get(*id) else { continue };
            self.retain(leaf, self.accesses.get(*id), batches, &mut kept);
        }
        kept.unwrap_or_else(|| (0..batches).collect())
    }

    /// Keeps the batches in which a leaf may select a row.
    fn retain(
        &self,
        leaf: &Leaf,
        access: Option<&Access<'_>>,
        batches: usize,
        kept: &mut Option<Vec<usize>>,
    ) {
        let Test::Any(set) = &leaf.test else { return };
        let all = || (0..batches).collect::<Vec<usize>>();
        match (access, self.directory.field(leaf.field), set) {
            (Some(Access::Rows(rows)), _, _) => {
                let mut with_rows: Vec<usize> = rows.ascending().iter().map(|row| split(*row).0).collect();
                with_rows.dedup();
                if let Some(kept) = &kept {
                    with_rows.retain(|batch| kept.binary_search(batch).is_ok());
                }
                *kept = Some(with_rows);
            }
            (_, FieldDirectory::Timestamps(zones), Set::Timestamps(ranges)) => {
                kept.get_or_insert_with(all).retain(|batch| meets(zones, *batch, ranges.as_slice()));
            }
            (_, FieldDirectory::Numbers(zones), Set::Numbers(ranges)) => {
                kept.get_or_insert_with(all).retain(|batch| meets(zones, *batch, ranges.as_slice()));
            }
            _ => {}
        }
    }

    /// True when the predicate is one test of strings, on rows that the directory counts or lists.
    pub(crate) fn is_listed(&self) -> bool {
        let root = self.predicate.root();
        matches!(self.predicate.get(root), Some(Node::Leaf(Leaf { test: Test::Any(_), .. })))
            && matches!(self.accesses.get(root), Some(Access::Strings(..) | Access::Rows(_)))
    }

    /// The rows of the covered batches that are selected, dead ones among them, in any order, where the directory lists them and they
    /// are few.
    pub(crate) fn listed(&self) -> Option<&[GlobalRow]> {
        /// Sorting more rows than these takes longer than asking the batches that they lie in.
        const MOST_LISTED: usize = 1 << 12;
        match self.known()? {
            Known::Rows(rows) if rows.len() <= MOST_LISTED => Some(rows),
            _ => None,
        }
    }

    /// What the directory knows of how many rows of the covered batches are selected, where no batch need be asked.
    pub(crate) fn known(&self) -> Option<Known<'_>> {
        let root = self.predicate.root();
        let is_single = |field: &FieldId| match self.directory.field(*field) {
            FieldDirectory::Strings(strings) => strings.is_single(),
            _ => false,
        };
        match (self.predicate.get(root)?, self.accesses.get(root)?) {
            // The rows of several values are disjoint only where a row has one at most.
            (Node::Leaf(Leaf { field, test: Test::Any(_) }), Access::Strings(found, wanted))
                if *wanted == 1 || is_single(field) =>
            {
                Some(Known::Strings(*field, found))
            }
            (Node::Leaf(Leaf { test: Test::Any(_), .. }), Access::Rows(rows)) => {
                Some(Known::Rows(rows.found()))
            }
            _ => None,
        }
    }
}

/// True when the zone of a batch and one of the ranges have a value in common.
fn meets<T: Ord + Copy>(zones: &Zones<T>, batch: usize, ranges: &[(T, T)]) -> bool {
    let Some((least, greatest)) = zones.get(batch) else { return false };
    let at = ranges.partition_point(|(_, high)| *high < least);
    ranges.get(at).is_some_and(|(low, _)| *low <= greatest)
}

/// How a leaf is answered; `batch` gives a covered batch by its number.
fn access<'q, 'b>(
    leaf: &'q Leaf,
    directory: &'q Directory,
    batch: &impl Fn(usize) -> Option<&'b Batch>,
) -> Access<'q> {
    let (Test::Any(Set::Strings(points))
    | Test::None(Set::Strings(points))
    | Test::All(Set::Strings(points))) = &leaf.test
    else {
        return Access::Column;
    };
    let texts = points.as_slice();
    match directory.field(leaf.field) {
        FieldDirectory::Strings(strings) => {
            Access::Strings(texts.iter().filter_map(|text| strings.get(text)).collect(), texts.len())
        }
        FieldDirectory::Keys(_) => {
            /// A string that is a key for some still has a few rows.
            const LIKELY: usize = 4;
            let mut found = Vec::with_capacity(texts.len().max(LIKELY));
            find_keys(directory, leaf.field, texts, batch, |row, _| found.push(row));
            Access::Rows(KeyRows { found, ascending: OnceLock::new() })
        }
        _ => Access::Column,
    }
}

/// Rows whose strings are compared together.
const TOGETHER: usize = 32;

/// Gives the rows of covered batches, dead ones too, that have one of these strings in a key field, each with the
/// number of its string; `batch` gives a covered batch by its number.
///
/// Candidates go through loops in each of which the processor is told of one load, so that those of many overlap: the code, where its
/// string stands, the string.
pub(crate) fn find_keys<'b>(
    directory: &Directory,
    field: FieldId,
    texts: &[impl AsRef<str>],
    batch: &impl Fn(usize) -> Option<&'b Batch>,
    mut take: impl FnMut(GlobalRow, u32),
) {
    let FieldDirectory::Keys(keys) = directory.field(field) else { return };
    let column = |row| {
        let (batch_number, row) = split(row);
        Some((batch(batch_number)?.column(field)?, usize::from(row)))
    };
    if let [text] = texts {
        for found in directory.probe(keys, text.as_ref()) {
            if column(found).and_then(|(column, row)| column.string(row)) == Some(text.as_ref()) {
                take(found, 0);
            }
        }
        return;
    }
    let found = directory.probe_all(keys, texts, kernels::prefetch);
    let mut places: SmallVec<[Option<(&Column, usize)>; TOGETHER]> = SmallVec::new();
    let mut codes: SmallVec<[Option<(&Dictionary, usize)>; TOGETHER]> = SmallVec::new();
    let mut strings: SmallVec<[Option<&[u8]>; TOGETHER]> = SmallVec::new();
    for found in found.chunks(TOGETHER) {
        places.clear();
        places.extend(found.iter().map(|(row, _)| {
            let (column, row) = column(*row)?;
            prefetch_values(column, row);
            Some((column, row))
        }));
        codes.clear();
        codes.extend(places.iter().map(|place| {
            let (column, row) = (*place)?;
            let (dictionary, code) = column.code(row)?;
            kernels::prefetch(dictionary.ends(), code);
            Some((dictionary, code))
        }));
        strings.clear();
        strings.extend(codes.iter().map(|code| {
            let (dictionary, code) = (*code)?;
            let string = dictionary.bytes(code);
            kernels::prefetch(string, 0);
            Some(string)
        }));
        for ((row, number), string) in found.iter().zip(&strings) {
            if string.is_some() && *string == texts.get(*number as usize).map(|text| text.as_ref().as_bytes())
            {
                take(*row, *number);
            }
        }
    }
}
