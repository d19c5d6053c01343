//! Builds a segment from new filters and from the filters of older segments.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;

use super::super::hasher::Hasher;
use super::super::reads::Reads;
use super::atoms::{AtomKind, Atoms};
use super::compile::{Intern, compile};
use super::count::count;
use super::filing::{Filed, file};
use super::keys::Keys;
use super::names::{Names, Watched};
use super::patterns::FieldPatterns;
use super::program::{self, Operation, Step};
use super::rules::rules;
use super::segment::{REPEATED, Segment};
use crate::catalog::{Catalog, FieldId};
use crate::filter::{Filter, PreparedFilter};
use crate::predicate::Leaf;

/// A name with the text of its filter, as offsets in [`Builder::texts`].
struct NewName {
    start: u32,
    name_end: u32,
    end: u32,
    expression: u32,
    watched: Option<Watched>,
}

/// The atoms and the other tests of the rules so far.
struct Interned<'b> {
    hasher: &'b Hasher,
    atoms: Atoms,
    others: Vec<Arc<PreparedFilter>>,
    numbers: HashMap<Filter, u32>,
}

impl Intern for Interned<'_> {
    fn atom(&mut self, leaf: &Leaf, kind: AtomKind, text: &str) -> u32 {
        self.atoms.intern(self.hasher, leaf.field, kind, text)
    }

    fn other(&mut self, filter: Filter) -> u32 {
        if let Some(number) = self.numbers.get(&filter) {
            return *number;
        }
        self.prepared(Arc::new(PreparedFilter::new(&filter)))
    }
}

impl Interned<'_> {
    fn prepared(&mut self, filter: Arc<PreparedFilter>) -> u32 {
        if let Some(number) = self.numbers.get(filter.filter()) {
            return *number;
        }
        let number = count(self.others.len());
        self.numbers.insert(filter.filter().clone(), number);
        self.others.push(filter);
        number
    }
}

/// A segment that is being built.
///
/// An *expression* consists of all rules of a normal form. Filters with the same expression share it.
pub(in crate::standing) struct Builder<'b> {
    catalog: &'b Catalog,
    interned: Interned<'b>,
    /// The steps of all rules.
    words: Vec<u32>,
    /// For each rule: the index in `words` after its last step.
    rule_ends: Vec<u32>,
    /// For each expression: the index in `rule_ends` after its last rule.
    expression_ends: Vec<u32>,
    expressions: HashTable<u32>,
    names: Vec<NewName>,
    texts: String,
}

fn slice<T>(items: &[T], start: u32, end: u32) -> &[T] {
    items.get(start as usize..end as usize).unwrap_or_default()
}

/// Returns the start and the end of the part with the index `at`. `ends` contains the end of each part.
fn part(ends: &[u32], at: u32) -> (u32, u32) {
    let end = |at: usize| ends.get(at).copied().unwrap_or_default();
    let at = at as usize;
    (at.checked_sub(1).map_or(0, end), end(at))
}

impl<'b> Builder<'b> {
    pub(in crate::standing) fn new(catalog: &'b Catalog, hasher: &'b Hasher) -> Self {
        let interned =
            Interned { hasher, atoms: Atoms::default(), others: Vec::new(), numbers: HashMap::new() };
        Self {
            catalog,
            interned,
            words: Vec::new(),
            rule_ends: Vec::new(),
            expression_ends: Vec::new(),
            expressions: HashTable::new(),
            names: Vec::new(),
            texts: String::new(),
        }
    }

    /// Returns the number of filters so far.
    pub(in crate::standing) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the total length of the texts so far.
    pub(in crate::standing) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// Adds a filter. Its name must be new.
    pub(in crate::standing) fn add(&mut self, name: &str, filter: &Filter, watched: Option<Watched>) {
        let (first_word, first_rule) = (self.words.len(), self.rule_ends.len());
        // In this tree, each test of elements is joined with conditions on the whole case, which can be keys.
        let tree = filter.searched();
        for rule in rules(tree) {
            let is_small = compile(tree, &rule, self.catalog, &mut self.interned, &mut self.words).is_some();
            if !is_small {
                self.words.truncate(first_word);
                self.rule_ends.truncate(first_rule);
                let number = self.interned.other(filter.clone());
                let step = Step {
                    operation: Operation::Other,
                    field: 0,
                    is_negated: false,
                    jumps: None,
                    arguments: &[number],
                };
                program::write(&step, &mut self.words);
                self.rule_ends.push(count(self.words.len()));
                break;
            }
            self.rule_ends.push(count(self.words.len()));
        }
        let expression = self.intern_expression(first_word, first_rule);
        let start = count(self.texts.len());
        self.texts.push_str(name);
        let name_end = count(self.texts.len());
        filter.keep(&mut self.texts);
        self.names.push(NewName { start, name_end, end: count(self.texts.len()), expression, watched });
    }

    /// Adds each filter of a segment for whose name `is_live` returns true. These names must be new.
    pub(in crate::standing) fn add_segment(&mut self, segment: &Segment, is_live: impl Fn(u32) -> bool) {
        let mut atoms: Vec<Option<u32>> = vec![None; segment.atoms.len()];
        let mut others: Vec<Option<u32>> = vec![None; segment.others.len()];
        let mut arguments: Vec<u32> = Vec::new();
        for expression in 0..segment.expressions() {
            let mut live = segment.names_of(expression).filter(|name| is_live(*name)).peekable();
            if live.peek().is_none() {
                continue;
            }
            let (first_word, first_rule) = (self.words.len(), self.rule_ends.len());
            for rule in segment.rules_of(expression) {
                let words = segment.rule(rule);
                let mut at = 0;
                while let Some((step, next)) = program::read(words, at) {
                    at = next;
                    let mut number = |old: &u32| match step.operation {
                        Operation::Atom | Operation::Atoms => {
                            let Some(place) = atoms.get_mut(*old as usize) else { return *old };
                            *place.get_or_insert_with(|| match segment.atoms.get(*old) {
                                Some((field, kind, text)) => {
                                    self.interned.atoms.intern(self.interned.hasher, field, kind, text)
                                }
                                None => *old,
                            })
                        }
                        Operation::Other => {
                            let Some(place) = others.get_mut(*old as usize) else { return *old };
                            *place.get_or_insert_with(|| match segment.others.get(*old as usize) {
                                Some(other) => self.interned.prepared(Arc::clone(other)),
                                None => *old,
                            })
                        }
                        Operation::Range | Operation::Ranges | Operation::Present => *old,
                    };
                    arguments.clear();
                    arguments.extend(step.arguments.iter().map(&mut number));
                    if step.operation == Operation::Atoms {
                        arguments.sort_unstable();
                    }
                    program::write(&Step { arguments: &arguments, ..step }, &mut self.words);
                }
                self.rule_ends.push(count(self.words.len()));
            }
            let number = self.intern_expression(first_word, first_rule);
            for name in live {
                let start = count(self.texts.len());
                self.texts.push_str(segment.names.name(name));
                let name_end = count(self.texts.len());
                self.texts.push_str(segment.names.kept(name));
                self.names.push(NewName {
                    start,
                    name_end,
                    end: count(self.texts.len()),
                    expression: number,
                    watched: segment.names.watched(name).cloned(),
                });
            }
        }
    }

    /// Returns the number of the expression that consists of the last rules, from `first_rule` on. Removes these rules if an
    /// earlier expression has the same rules.
    fn intern_expression(&mut self, first_word: usize, first_rule: usize) -> u32 {
        let content = |expression: u32, ends: &[u32]| {
            let (start, end) = part(ends, expression);
            // The lengths of the rules, and their words.
            let lens = (start..end)
                .map(|rule| part(&self.rule_ends, rule))
                .map(|(start, end)| end.wrapping_sub(start));
            let from = part(&self.rule_ends, start).0;
            let to = if start < end { part(&self.rule_ends, end.wrapping_sub(1)).1 } else { from };
            (lens, slice(&self.words, from, to))
        };
        let hash = |expression: u32, ends: &[u32]| {
            let (lens, words) = content(expression, ends);
            self.interned.hasher.hash_one((lens.len(), words))
        };
        self.expression_ends.push(count(self.rule_ends.len()));
        let number = count(self.expression_ends.len()).wrapping_sub(1);
        let ends = &self.expression_ends;
        let own = hash(number, ends);
        let is_same = |other: &u32| {
            let ((lens, words), (other_lens, other_words)) = (content(number, ends), content(*other, ends));
            words == other_words && lens.eq(other_lens)
        };
        match self.expressions.find(own, is_same).copied() {
            Some(other) => {
                self.expression_ends.pop();
                self.words.truncate(first_word);
                self.rule_ends.truncate(first_rule);
                other
            }
            None => {
                self.expressions.insert_unique(own, number, |other| hash(*other, ends));
                number
            }
        }
    }

    /// Builds the tree by which the rules are found, and returns the segment.
    pub(in crate::standing) fn finish(self) -> Segment {
        let Self { catalog, interned, words, rule_ends, expression_ends, names, texts, expressions } = self;
        drop(expressions);
        let Interned { hasher, mut atoms, others, numbers } = interned;
        drop(numbers);
        atoms.shrink();
        let rule = |rule: u32| {
            let (start, end) = part(&rule_ends, rule);
            slice(&words, start, end)
        };
        let all = 0..count(rule_ends.len());
        let keys = Keys::of(all.clone().map(rule), atoms.len());
        let field_of = |atom: u32| atoms.get(atom).map_or(0, |(field, ..)| field.index());
        let Filed { mut lookup, order, repeated } = file(&keys, rule, field_of);
        drop(keys);

        // Expressions are numbered in the order of their first rules in the tree, so that rules which are found together are
        // together in memory.
        let mut expression_of = vec![0; rule_ends.len()];
        for expression in 0..count(expression_ends.len()) {
            let (start, end) = part(&expression_ends, expression);
            expression_of.get_mut(start as usize..end as usize).unwrap_or_default().fill(expression);
        }
        let old_expression = |rule: u32| expression_of.get(rule as usize).copied().unwrap_or_default();
        let mut new_numbers: Vec<Option<u32>> = vec![None; expression_ends.len()];
        let mut ordered = Vec::with_capacity(expression_ends.len());
        for expression in order.into_iter().map(old_expression).chain(0..count(expression_ends.len())) {
            if let Some(place @ None) = new_numbers.get_mut(expression as usize) {
                *place = Some(count(ordered.len()));
                ordered.push(expression);
            }
        }
        let mut new_rules = vec![0; rule_ends.len()];
        let mut new_words = Vec::with_capacity(words.len());
        let mut new_ends = Vec::with_capacity(rule_ends.len());
        let mut rule_expressions = Vec::with_capacity(rule_ends.len());
        for (number, expression) in ordered.iter().enumerate() {
            let (start, end) = part(&expression_ends, *expression);
            let several = if end.saturating_sub(start) > 1 { REPEATED } else { 0 };
            for old in start..end {
                if let Some(place) = new_rules.get_mut(old as usize) {
                    *place = count(new_ends.len());
                }
                new_words.extend_from_slice(rule(old));
                new_ends.push(count(new_words.len()));
                rule_expressions.push(count(number) | several);
            }
        }
        let new_rule = |old: u32| new_rules.get(old as usize).copied().unwrap_or_default();
        lookup.postings.iter_mut().for_each(|rule| *rule = new_rule(*rule));
        lookup.ranges.iter_mut().for_each(|range| range.rule = new_rule(range.rule));
        lookup.finish();
        for rule in repeated {
            if let Some(expression) = rule_expressions.get_mut(new_rule(rule) as usize) {
                *expression |= REPEATED;
            }
        }

        let mut is_used = vec![false; catalog.fields().len()];
        for rule in all.map(rule) {
            let mut at = 0;
            while let Some((step, next)) = program::read(rule, at) {
                at = next;
                if step.operation != Operation::Other
                    && let Some(is_used) = is_used.get_mut(usize::from(step.field))
                {
                    *is_used = true;
                }
            }
        }
        let is_used = |field: &FieldId| is_used.get(field.index()) == Some(&true);
        let fields: Vec<FieldId> = catalog.field_ids().filter(is_used).collect();
        let mut reads = Reads::default();
        reads.add(&fields);
        others.iter().for_each(|other| reads.add_filter(other.filter()));
        names.iter().for_each(|name| reads.add(name.watched.as_deref().unwrap_or_default()));
        reads.settle();

        let number =
            |name: &NewName| new_numbers.get(name.expression as usize).copied().flatten().unwrap_or(0);
        let mut by_expression: Vec<&NewName> = names.iter().collect();
        by_expression.sort_by_key(|name| number(name));
        let mut named = Names::with_capacity(names.len(), texts.len());
        let mut name_ends = Vec::with_capacity(ordered.len());
        for name in by_expression {
            let own = number(name) as usize;
            // The names are in the order of their expressions, and every expression has a name. So all earlier expressions already
            // have all of their names.
            name_ends.resize(own, count(named.len()));
            let text = |start: u32, end: u32| texts.get(start as usize..end as usize).unwrap_or_default();
            named.push(
                hasher,
                text(name.start, name.name_end),
                text(name.name_end, name.end),
                name.watched.clone(),
            );
        }
        name_ends.resize(ordered.len(), count(named.len()));
        let patterns = FieldPatterns::all(&atoms);
        Segment {
            atoms,
            patterns,
            fields,
            reads,
            others,
            lookup,
            words: new_words,
            rule_ends: new_ends,
            rule_expressions,
            name_ends,
            names: named,
        }
    }
}
