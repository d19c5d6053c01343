//! A predicate looked up once in what all batches of a snapshot have in common.

use std::sync::{Arc, OnceLock};

use smallvec::{SmallVec, smallvec};

use super::evaluate::Tiles;
use super::kernels;
use super::source::prefetch_code;
use super::trace::{Trace, Work};
use crate::batch::Batch;
use crate::catalog::FieldId;
use crate::column::{Codes, Dictionary};
use crate::index::{Directory, FieldDirectory, GlobalRow, Occurrences, Zones, split};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test, Tree};
use crate::value::OrdinalRange;

/// A predicate ready to run on the batches of one snapshot.
pub(crate) struct Query<'q> {
    pub(super) predicate: &'q Tree<Leaf>,
    pub(super) directory: &'q Directory,
    /// By node of the predicate: how leaves are reached in the batches that the directory covers.
    pub(super) accesses: Arc<[Access<'q>]>,
    /// Some leaf may be settled by zone maps in a batch of those [that may have a row](Self::batches).
    has_zones: bool,
    /// What is no part of this query.
    left_out: Option<Arc<LeftOut>>,
    /// Where the rows of a batch are combined.
    pub(super) tiles: Tiles,
    /// Where notes are taken, if anywhere.
    pub(super) trace: Option<&'q Trace<'q>>,
}

/// Alternatives of a predicate that are rows which the directory lists, and which somebody else counts.
struct LeftOut {
    /// Their nodes, children of the root, which count as if they selected no row of a covered batch. (In one of few rows that are
    /// asked one by one they do; those of their rows that are selected are not counted either way.)
    nodes: SmallVec<[usize; 2]>,
    /// The node of what is left; none when nothing is.
    root: Option<usize>,
    /// Their rows, ascending, each once; dead ones among them.
    rows: Vec<GlobalRow>,
}

/// How the rows of a leaf are reached.
pub(super) enum Access<'q> {
    /// Not at all: they are left out.
    Nowhere,
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
        let query = Self {
            predicate,
            directory,
            accesses: accesses.collect(),
            has_zones: false,
            left_out: None,
            tiles: Tiles::default(),
            trace: None,
        };
        let has_zones = query.has_zones();
        Self { has_zones, ..query }
    }

    /// Whether zone maps may settle a leaf in a batch that [may have a row](Self::batches): one that every row must pass
    /// has ruled out the batches in which no row does.
    fn has_zones(&self) -> bool {
        if self.predicate.nodes().len() == 1 {
            return false;
        }
        let has_zones = |leaf: &Leaf| matches!(self.directory.field(leaf.field), FieldDirectory::Ordered(_));
        let may_be_settled = |node: &Node<Leaf>| matches!(node, Node::Leaf(leaf) if has_zones(leaf));
        let has_ruled_out = |node: &&usize| match self.predicate.get(**node) {
            Some(Node::Leaf(leaf)) => has_zones(leaf) && matches!(leaf.test, Test::Any(_)),
            _ => false,
        };
        let root = self.covered_root().unwrap_or_default();
        let ruling_out = self.conjuncts(&root).iter().filter(has_ruled_out).count();
        self.predicate.nodes().iter().filter(|node| may_be_settled(node)).nth(ruling_out).is_some()
    }

    /// The node of what the query asks of the batch of this number.
    pub(super) fn root(&self, number: usize) -> usize {
        match &self.left_out {
            Some(left_out) if self.directory.covers(number) => {
                left_out.root.unwrap_or_else(|| self.predicate.root())
            }
            _ => self.predicate.root(),
        }
    }

    /// The node of what is not left out; none when everything is.
    pub(super) fn covered_root(&self) -> Option<usize> {
        self.left_out.as_ref().map_or(Some(self.predicate.root()), |left_out| left_out.root)
    }

    /// What every row must pass, where that is the node `root`: its children, or itself.
    pub(super) fn conjuncts<'c>(&'c self, root: &'c usize) -> &'c [usize] {
        match self.predicate.get(*root) {
            Some(Node::Branch(Connective::And, children)) => children,
            _ => std::slice::from_ref(root),
        }
    }

    /// Whether some alternatives are few rows that the directory lists, so that the [others](Self::others) are better counted
    /// by themselves.
    pub(crate) fn is_partly_listed(&self) -> bool {
        /// More rows than so many a batch are faster combined with the others.
        const MOST_PER_BATCH: usize = 64;
        let rows = self.listed_alternatives().map(|(_, rows)| rows.found().len());
        let (alternatives, rows) = rows.fold((0, 0), |(all, sum): (usize, usize), rows| {
            (all.saturating_add(1), sum.saturating_add(rows))
        });
        alternatives > 0 && rows <= self.directory.numbers().saturating_mul(MOST_PER_BATCH)
    }

    /// This query without the alternatives that are rows which the directory lists: [these](Self::left_out_rows) are left out, unless
    /// they are selected by another one. In batches that the directory does not cover, it is as this one.
    pub(crate) fn others(&self) -> Self {
        let mut left_out = LeftOut { nodes: SmallVec::new(), root: None, rows: Vec::new() };
        for (node, rows) in self.listed_alternatives() {
            left_out.nodes.push(node);
            left_out.rows.extend_from_slice(rows.found());
        }
        left_out.rows.sort_unstable();
        left_out.rows.dedup();
        let root = self.predicate.root();
        if let Some(Node::Branch(_, children)) = self.predicate.get(root) {
            let mut others = children.iter().filter(|child| !left_out.nodes.contains(child));
            left_out.root = match (others.next(), others.next()) {
                (only, None) => only.copied(),
                _ => Some(root),
            };
        }
        let query = Self {
            predicate: self.predicate,
            directory: self.directory,
            accesses: Arc::clone(&self.accesses),
            has_zones: false,
            left_out: Some(Arc::new(left_out)),
            tiles: self.tiles.hand_on(),
            trace: self.trace,
        };
        let has_zones = query.has_zones();
        Self { has_zones, ..query }
    }

    /// The rows that the directory lists for the alternatives that are left out, ascending, each once; dead ones among them.
    pub(crate) fn left_out_rows(&self) -> &[GlobalRow] {
        self.left_out.as_ref().map_or(&[], |left_out| &left_out.rows)
    }

    /// The children of the root, any of which will do, that are rows which the directory lists.
    fn listed_alternatives(&self) -> impl Iterator<Item = (usize, &KeyRows)> {
        let children = match self.predicate.get(self.predicate.root()) {
            Some(Node::Branch(Connective::Or, children)) => &children[..],
            _ => &[],
        };
        children.iter().filter_map(|child| match (self.predicate.get(*child), self.accesses.get(*child)) {
            (Some(Node::Leaf(Leaf { test: Test::Any(_), .. })), Some(Access::Rows(rows))) => {
                Some((*child, rows))
            }
            _ => None,
        })
    }

    pub(super) fn leaves_out(&self) -> bool {
        self.left_out.is_some()
    }

    fn is_left_out(&self, node: usize) -> bool {
        self.left_out.as_ref().is_some_and(|left_out| left_out.nodes.contains(&node))
    }

    /// Makes what makes the same query on another thread, which has scratch memory and a trace of its own.
    #[cfg(feature = "parallel")]
    pub(crate) fn fork(&self) -> impl Fn() -> Query<'q> + Sync + use<'q> {
        let (predicate, directory) = (self.predicate, self.directory);
        let (accesses, has_zones) = (Arc::clone(&self.accesses), self.has_zones);
        let left_out = self.left_out.clone();
        move || Query {
            predicate,
            directory,
            accesses: Arc::clone(&accesses),
            has_zones,
            left_out: left_out.clone(),
            tiles: Tiles::default(),
            trace: None,
        }
    }

    /// The trace in which the work is noted, if any.
    pub(crate) fn trace(&self) -> Option<&'q Trace<'q>> {
        self.trace
    }

    /// Notes work, if the search is traced.
    #[inline]
    pub(crate) fn note(&self, note: impl FnOnce(&mut Work)) {
        if let Some(trace) = self.trace {
            trace.note(note);
        }
    }

    /// This query, with notes taken of what it is used for.
    pub(crate) fn traced(self, trace: &'q Trace<'q>) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// How a leaf, the predicate's node `node`, is reached in the batch of this number.
    pub(super) fn access(&self, node: usize, number: usize) -> &Access<'q> {
        match self.accesses.get(node) {
            Some(_) if self.is_left_out(node) && self.directory.covers(number) => &Access::Nowhere,
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
        for (id, node) in self.predicate.nodes().iter().enumerate() {
            let value = match node {
                _ if self.is_left_out(id) => Some(false),
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
            (FieldDirectory::Ordered(zones), Set::Ordered(ranges)) => meets(zones, number, ranges.as_slice()),
            _ => true,
        };
        (!meets).then_some(otherwise)
    }

    /// The numbers of the covered batches that may have a row, ascending.
    pub(crate) fn batches(&self) -> Vec<usize> {
        let batches = self.directory.numbers();
        let Some(root) = self.covered_root() else { return Vec::new() };
        if let Some(Node::Constant(false)) | None = self.predicate.get(root) {
            return Vec::new();
        }
        let mut kept: Option<Vec<usize>> = None;
        for id in self.conjuncts(&root) {
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
        match (access, self.directory.field(leaf.field), set) {
            (Some(Access::Rows(rows)), _, _) => {
                let mut with_rows: Vec<usize> = rows.ascending().iter().map(|row| split(*row).0).collect();
                with_rows.dedup();
                if let Some(kept) = &kept {
                    with_rows.retain(|batch| kept.binary_search(batch).is_ok());
                }
                *kept = Some(with_rows);
            }
            (_, FieldDirectory::Ordered(zones), Set::Ordered(ranges)) => {
                retain_meeting(zones, batches, ranges.as_slice(), kept);
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
        match (self.predicate.get(root)?, self.accesses.get(root)?) {
            // The rows of several values are disjoint only where a row has one at most.
            (Node::Leaf(Leaf { field, test: Test::Any(_) }), Access::Strings(found, wanted))
                if are_disjoint(self.directory, *field, *wanted) =>
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

/// As [`Query::known`], of a predicate that is one test of strings which the directory counts, without a query.
pub(crate) fn counted_strings<'q>(
    predicate: &Tree<Leaf>,
    directory: &'q Directory,
) -> Option<(FieldId, SmallVec<[&'q Occurrences; 8]>)> {
    let Some(Node::Leaf(Leaf { field, test: Test::Any(Set::Strings(points)) })) =
        predicate.get(predicate.root())
    else {
        return None;
    };
    let FieldDirectory::Strings(strings) = directory.field(*field) else { return None };
    let texts = points.as_slice();
    are_disjoint(directory, *field, texts.len())
        .then(|| (*field, texts.iter().filter_map(|text| strings.get(text)).collect()))
}

/// Whether no row has two of so many strings of a field.
fn are_disjoint(directory: &Directory, field: FieldId, wanted: usize) -> bool {
    wanted == 1 || matches!(directory.field(field), FieldDirectory::Strings(strings) if strings.is_single())
}

/// Keeps the batches, at first all of so many, whose zone has a value in one of the ranges.
fn retain_meeting(zones: &Zones, batches: usize, ranges: &[OrdinalRange], kept: &mut Option<Vec<usize>>) {
    match (kept, ranges) {
        (Some(kept), _) => kept.retain(|batch| meets(zones, *batch, ranges)),
        // One range, as a rule.
        (none, [range]) => {
            *none = Some(zones.overlapping(*range).take_while(|batch| *batch < batches).collect());
        }
        (none, _) => *none = Some((0..batches).filter(|batch| meets(zones, *batch, ranges)).collect()),
    }
}

/// True when the zone of a batch and one of the ranges have a value in common.
fn meets(zones: &Zones, batch: usize, ranges: &[OrdinalRange]) -> bool {
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
    // Where more rows are found than there are batches, each of these is looked up once.
    let batches = if found.len() > directory.numbers() { directory.numbers() } else { 0 };
    let mut known: Vec<Option<Option<(&Dictionary, &Codes)>>> = vec![None; batches];
    let mut strings = |number: usize| {
        let strings = || batch(number)?.column(field)?.dictionary();
        match known.get_mut(number) {
            Some(known) => *known.get_or_insert_with(strings),
            None => strings(),
        }
    };
    for found in found.chunks(TOGETHER) {
        let mut places = [None; TOGETHER];
        for (place, (row, _)) in places.iter_mut().zip(found) {
            let (number, row) = split(*row);
            *place = strings(number).map(|(dictionary, codes)| {
                prefetch_code(codes, usize::from(row));
                (dictionary, codes, usize::from(row))
            });
        }
        let mut coded = [None; TOGETHER];
        for (coded, place) in coded.iter_mut().zip(&places) {
            // What the directory has a key of has a value.
            *coded = place.map(|(dictionary, codes, row)| {
                let code = codes.get(row);
                kernels::prefetch(dictionary.ends(), code);
                (dictionary, code)
            });
        }
        let mut texts_found = [None; TOGETHER];
        for (text, coded) in texts_found.iter_mut().zip(&coded) {
            *text = coded.map(|(dictionary, code)| {
                let text = dictionary.bytes(code);
                kernels::prefetch(text, 0);
                text
            });
        }
        for ((row, number), text) in found.iter().zip(&texts_found) {
            let wanted = texts.get(*number as usize).map(|text| text.as_ref().as_bytes());
            if text.is_some() && *text == wanted {
                take(*row, *number);
            }
        }
    }
}
