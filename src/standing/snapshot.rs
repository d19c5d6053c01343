//! The filters of a set at one moment: segments, and the filters that were added last.

use std::sync::Arc;

use super::hasher::Hasher;
use super::reads::Reads;
use super::removed::Removed;
use super::segment::{Builder, Scratch, Segment, Watched};
use crate::batch::OwnedRow;
use crate::catalog::Catalog;
use crate::filter::{Filter, PreparedFilter};

/// When a set has this number of filters that are not in a segment, they become a segment. Until then, the insertion of one filter
/// takes constant time, but each of these filters is tested with every case.
const MOST_RECENT: usize = 32;

/// The number of segments of about the same size that are merged into one.
const FAN_IN: usize = 4;

/// If the texts of a segment are longer than this, no more filters are added to it. So offsets fit into 32 bits.
const MOST_BYTES: usize = 1 << 30;

/// A filter that is not in a segment yet.
pub(super) struct Recent {
    pub(super) name: Box<str>,
    pub(super) filter: PreparedFilter,
    pub(super) watched: Option<Watched>,
}

/// A segment without the names that were removed from it.
#[derive(Clone)]
pub(super) struct Layer {
    pub(super) segment: Arc<Segment>,
    pub(super) removed: Removed,
}

impl Layer {
    fn len(&self) -> usize {
        self.segment.names.len().saturating_sub(self.removed.len())
    }

    fn find(&self, hasher: &Hasher, name: &str) -> Option<u32> {
        self.segment.names.find(hasher, name).filter(|id| !self.removed.contains(*id))
    }
}

/// The place of a name in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In `recent`.
    Recent(u32),
    /// In a layer, with the id of the name.
    Layer(u32, u32),
}

/// The filters of a set at one moment. They never change.
///
/// Invariant: a name has at most one place, not counting segments from which it was removed.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    /// The older and larger segments are first.
    pub(super) layers: Vec<Layer>,
    pub(super) recent: Vec<Arc<Recent>>,
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Snapshot {
    pub(super) fn len(&self) -> usize {
        self.layers.iter().map(Layer::len).fold(self.recent.len(), usize::saturating_add)
    }

    pub(super) fn find(&self, hasher: &Hasher, name: &str) -> Option<Place> {
        let recent = self.recent.iter().position(|recent| &*recent.name == name);
        if let Some(at) = recent {
            return Some(Place::Recent(number(at)));
        }
        self.layers
            .iter()
            .enumerate()
            .find_map(|(at, layer)| layer.find(hasher, name).map(|id| Place::Layer(number(at), id)))
    }

    /// Returns the places of all names.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let of_layer = |(at, layer): (usize, &Layer)| {
            let live = (0..number(layer.segment.names.len())).filter(|id| !layer.removed.contains(*id));
            live.map(|id| Place::Layer(number(at), id)).collect::<Vec<Place>>()
        };
        let recent = (0..number(self.recent.len())).map(Place::Recent);
        self.layers.iter().enumerate().flat_map(of_layer).chain(recent)
    }

    /// Returns the name at a place.
    pub(super) fn name(&self, place: Place) -> &str {
        match place {
            Place::Recent(at) => self.recent.get(at as usize).map_or("", |recent| &recent.name),
            Place::Layer(at, id) => {
                self.layers.get(at as usize).map_or("", |layer| layer.segment.names.name(id))
            }
        }
    }

    /// Returns the fields whose changes the filter at a place reports, if it has some.
    pub(super) fn watched(&self, place: Place) -> Option<&Watched> {
        match place {
            Place::Recent(at) => self.recent.get(at as usize)?.watched.as_ref(),
            Place::Layer(at, id) => self.layers.get(at as usize)?.segment.names.watched(id),
        }
    }

    /// Returns the fields that the filters read from a case: the fields of their tests, and the fields whose changes they report.
    pub(super) fn reads(&self) -> Reads {
        let mut reads = Reads::default();
        for layer in &self.layers {
            reads.add_all(&layer.segment.reads);
        }
        for recent in &self.recent {
            reads.add_filter(recent.filter.filter());
            reads.add(recent.watched.as_deref().unwrap_or_default());
        }
        reads.settle();
        reads
    }

    /// Calls `found` with the place of each filter that selects the case `row`.
    pub(super) fn matching(
        &self,
        row: &OwnedRow,
        catalog: &Catalog,
        hasher: &Hasher,
        scratch: &mut Scratch,
        mut found: impl FnMut(Place),
    ) {
        for (at, layer) in self.layers.iter().enumerate() {
            let at = number(at);
            layer.segment.matching(row, catalog, hasher, scratch, |id| {
                if !layer.removed.contains(id) {
                    found(Place::Layer(at, id));
                }
            });
        }
        for (at, recent) in self.recent.iter().enumerate() {
            if recent.filter.selects(row, catalog) {
                found(Place::Recent(number(at)));
            }
        }
    }

    /// Removes a name from its place.
    pub(super) fn remove(&mut self, place: Place) {
        match place {
            Place::Recent(at) => {
                self.recent.remove(at as usize);
            }
            Place::Layer(at, id) => {
                if let Some(layer) = self.layers.get_mut(at as usize) {
                    layer.removed.add(id);
                }
            }
        }
    }

    /// Rebuilds a segment if most of its names were removed.
    pub(super) fn tidy(&mut self, catalog: &Catalog, hasher: &Hasher) {
        self.layers.retain(|layer| layer.len() > 0);
        for layer in &mut self.layers {
            if layer.removed.len() > layer.len() {
                let mut builder = Builder::new(catalog, hasher);
                builder.add_segment(&layer.segment, |id| !layer.removed.contains(id));
                *layer = Layer { segment: Arc::new(builder.finish()), removed: Removed::default() };
            }
        }
    }

    /// Adds filters whose names are new.
    pub(super) fn add(
        &mut self,
        added: Vec<(Box<str>, Filter, Option<Watched>)>,
        catalog: &Catalog,
        hasher: &Hasher,
    ) {
        if self.recent.len().saturating_add(added.len()) < MOST_RECENT {
            self.recent.extend(added.into_iter().map(|(name, filter, watched)| {
                Arc::new(Recent { name, filter: PreparedFilter::new(&filter), watched })
            }));
            return;
        }
        let mut builder = Builder::new(catalog, hasher);
        for recent in self.recent.drain(..) {
            builder.add(&recent.name, recent.filter.filter(), recent.watched.clone());
        }
        for (name, filter, watched) in added {
            if builder.text_bytes() > MOST_BYTES {
                let full = std::mem::replace(&mut builder, Builder::new(catalog, hasher));
                self.layers.push(Layer { segment: Arc::new(full.finish()), removed: Removed::default() });
            }
            builder.add(&name, &filter, watched);
        }
        self.absorb(&mut builder);
        self.layers.push(Layer { segment: Arc::new(builder.finish()), removed: Removed::default() });
    }

    /// Moves the last segments into the new segment that `builder` builds. Moves segments of smaller size classes and, if there are
    /// enough segments, also those of the same size class. So each filter is moved once for each size class, and there are few
    /// segments.
    fn absorb(&mut self, builder: &mut Builder<'_>) {
        loop {
            let class = class(builder.len());
            let is_absorbed = |layer: &&Layer| self::class(layer.len()) <= class;
            let run: Vec<&Layer> = self.layers.iter().rev().take_while(is_absorbed).collect();
            let smaller = run.iter().take_while(|layer| self::class(layer.len()) < class).count();
            let count = if run.len() >= FAN_IN.saturating_sub(1) { run.len() } else { smaller };
            let bytes = run.iter().take(count).map(|layer| layer.segment.names.text_bytes());
            let bytes = bytes.fold(builder.text_bytes(), usize::saturating_add);
            if count == 0 || bytes > MOST_BYTES {
                return;
            }
            for layer in run.into_iter().take(count) {
                builder.add_segment(&layer.segment, |id| !layer.removed.contains(id));
            }
            self.layers.truncate(self.layers.len().saturating_sub(count));
        }
    }
}

/// Returns the size class of a segment: 0 for a small segment, and one more for each factor of `FAN_IN`. If filters are inserted
/// one by one, each filter of the segment has been moved about this number of times.
fn class(len: usize) -> u32 {
    (len / MOST_RECENT).max(1).ilog(FAN_IN)
}
