//! Compiled filters by the bytes of their bodies.

#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;

use super::builder::FilterBuilder;
use super::compiled::Filter;
use super::params::SearchParams;
use super::request::SearchRequest;
use crate::catalog::Catalog;
use crate::error::{Error, Errors};
use crate::limits::Limits;

/// A bounded cache of compiled filters, for a host that gets the same bodies again and again.
///
/// A filter is found by the bytes of its body, which are compared one by one: bodies that mean the
/// same but are written in other ways are different bodies. Bodies with errors are not kept.
///
/// `Send + Sync`; threads wait for each other no longer than it takes to look up a hash, or to put in
/// what was compiled, which may free what makes room for it. When the cache is full, filters that were
/// not asked for since they came in, or since they were last spared, make room for new ones.
///
/// ```
/// use casefilter::{Catalog, FilterBuilder, FilterCache};
/// let cache = FilterCache::new(FilterBuilder::new(&Catalog::cases()), 16 << 20);
/// let body = br#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;
/// assert_eq!(cache.compile(body)?, cache.compile(body)?);
/// let stats = cache.stats();
/// assert_eq!((stats.hits, stats.misses, stats.entries), (1, 1, 1));
/// # Ok::<(), casefilter::Errors>(())
/// ```
pub struct FilterCache {
    builder: FilterBuilder,
    /// The filter that every filter is joined with by *and*.
    bound: Option<Filter>,
    /// Its keys are random, so that no client can make bodies collide.
    hasher: foldhash::quality::RandomState,
    shards: Box<[Shard]>,
}

/// Counts of a [`FilterCache`]: lookups so far, and its content now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Bodies that were found.
    pub hits: u64,
    /// Bodies that had to be compiled, those with errors too.
    pub misses: u64,
    /// Filters in the cache.
    pub entries: usize,
    /// About how much memory they take.
    pub size_bytes: usize,
}

/// The number of shards: enough that threads with different bodies seldom meet in one.
const SHARDS: usize = 16;

/// The memory of an entry beside its filter: its slot, and its place in a table that may be half empty.
const ENTRY_BYTES: usize = size_of::<Entry>() + 4 * size_of::<usize>();

/// The largest number of used filters in a row that eviction spares; it evicts the next one all the same.
const MOST_SPARED: usize = 8;

impl FilterCache {
    /// Returns an empty cache of the filters that `builder` compiles.
    ///
    /// The filters in it take about `capacity_bytes` at most, and none of them more than a sixteenth of that.
    #[must_use]
    pub fn new(builder: FilterBuilder, capacity_bytes: usize) -> Self {
        let capacity_bytes = capacity_bytes / SHARDS;
        let shards = (0..SHARDS).map(|_| Shard(Mutex::new(Entries { capacity_bytes, ..Entries::default() })));
        Self {
            builder,
            bound: None,
            hasher: foldhash::quality::RandomState::default(),
            shards: shards.collect(),
        }
    }

    /// This cache, empty, every filter of which selects [what `bound` selects too](Filter::and).
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, FilterBuilder, FilterCache, Operator};
    /// let own = Filter::test(&Catalog::cases(), "clientId", Operator::Equal, ["acme"])?;
    /// let cache = FilterCache::new(FilterBuilder::new(&Catalog::cases()), 16 << 20).within(&own)?;
    /// let filter = cache.compile(br#"{"ids":["a","b"]}"#)?;
    /// assert!(filter.matches(br#"{"id":"a","clientId":"acme"}"#)?);
    /// assert!(!filter.matches(br#"{"id":"b","clientId":"other"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), as for [`Filter::and`].
    pub fn within(self, bound: &Filter) -> Result<Self, Error> {
        let bound = self.bound.as_ref().map_or_else(|| Ok(bound.clone()), |own| own.and(bound))?;
        // Fails here rather than at the first body.
        Filter::all(self.catalog()).and(&bound)?;
        let capacity_bytes = self.shards.first().map_or(0, |shard| shard.lock().capacity_bytes);
        let empty = Self::new(self.builder, capacity_bytes.saturating_mul(SHARDS));
        Ok(Self { bound: Some(bound), ..empty })
    }

    /// The filter of a JSON body, compiled unless these very bytes were compiled before.
    ///
    /// # Errors
    /// Everything wrong with the body, up to ten errors in document order, as from
    /// [`FilterBuilder::json`].
    ///
    /// # Complexity
    /// Linear in the length of the body. A new filter makes others leave, each of which came in once.
    pub fn compile(&self, body: &[u8]) -> Result<Filter, Errors> {
        if body.len() > self.limits().body_bytes {
            return self.compile_anew(body);
        }
        let hash = self.hasher.hash_one(body);
        // The table takes other bits of the hash.
        let Some(shard) = usize::try_from(hash >> 32).ok().and_then(|bits| self.shards.get(bits % SHARDS))
        else {
            return self.compile_anew(body);
        };
        // Compared without holding the lock. Another body with the same hash, 64 bits with random keys, is all but impossible; it would
        // be compiled anew each time.
        let found = shard.lock().find(hash);
        if let Some(filter) = found.filter(|filter| filter.body() == Some(body)) {
            return Ok(filter);
        }
        let filter = self.compile_anew(body)?;
        shard.lock().insert(hash, &filter);
        Ok(filter)
    }

    /// Compiles a JSON body, unless its filter is in the cache, and parses the parameters beside it.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterBuilder, FilterCache, SearchParams};
    /// let cache = FilterCache::new(FilterBuilder::new(&Catalog::cases()), 16 << 20);
    /// let body = br#"{"ids":["a"]}"#;
    /// let first = cache.request(body, &SearchParams::new())?;
    /// let second = cache.request(body, &SearchParams::new().limit("5"))?;
    /// assert_eq!((first.limit, second.limit, cache.stats().hits), (100, 5, 1));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Everything wrong with body and parameters, the body's first, ten at most.
    pub fn request(&self, body: &[u8], params: &SearchParams<'_>) -> Result<SearchRequest, Errors> {
        let paging = params.parse(self.catalog(), self.limits());
        let (filter, paging) = Errors::both(self.compile(body), paging)?;
        Ok(SearchRequest::new(filter).with_paging(paging))
    }

    fn compile_anew(&self, body: &[u8]) -> Result<Filter, Errors> {
        let filter = self.builder.json(body)?;
        match &self.bound {
            Some(bound) => Ok(filter.and(bound)?),
            None => Ok(filter),
        }
    }

    /// The catalogue that the filters are compiled for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.builder.catalog()
    }

    /// The limits under which bodies are compiled.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.builder.limits_in_force()
    }

    /// Returns the counts since the cache was made, and its content now.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let mut stats = CacheStats::default();
        for shard in &self.shards {
            let entries = shard.lock();
            stats.hits = stats.hits.saturating_add(entries.hits);
            stats.misses = stats.misses.saturating_add(entries.misses);
            stats.entries = stats.entries.saturating_add(entries.slots.len());
            stats.size_bytes = stats.size_bytes.saturating_add(entries.size_bytes);
        }
        stats
    }
}

impl std::fmt::Debug for FilterCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilterCache").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// A part of the cache with a lock of its own, and with cache lines of its own. A lock that lets many read would have a
/// hit wait for three atomic operations, the count of hits among them, where it waits for two.
#[repr(align(64))]
struct Shard(Mutex<Entries>);

impl Shard {
    // Nothing panics while it holds the lock, and if it did, the worst would be a filter missed.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Entry {
    hash: u64,
    filter: Filter,
    size_bytes: usize,
    /// Asked for since it came in, or since the hand last passed.
    used: bool,
}

/// Filters in a ring, and a hand that goes round and takes out those that were not used.
#[derive(Default)]
struct Entries {
    /// The slots, by the hash of the body.
    table: HashTable<usize>,
    slots: Vec<Entry>,
    hand: usize,
    size_bytes: usize,
    capacity_bytes: usize,
    hits: u64,
    misses: u64,
}

impl Entries {
    /// The slot of the body with this hash.
    fn slot(&self, hash: u64) -> Option<usize> {
        self.table.find(hash, |slot| self.slots.get(*slot).is_some_and(|entry| entry.hash == hash)).copied()
    }

    /// The filter of the body with this hash, noted as used.
    fn find(&mut self, hash: u64) -> Option<Filter> {
        let Some(entry) = self.slot(hash).and_then(|slot| self.slots.get_mut(slot)) else {
            self.misses = self.misses.wrapping_add(1);
            return None;
        };
        self.hits = self.hits.wrapping_add(1);
        entry.used = true;
        Some(entry.filter.clone())
    }

    fn insert(&mut self, hash: u64, filter: &Filter) {
        let size_bytes = filter.size_bytes().saturating_add(ENTRY_BYTES);
        // Another thread may have been faster.
        if size_bytes > self.capacity_bytes || self.slot(hash).is_some() {
            return;
        }
        while self.size_bytes.saturating_add(size_bytes) > self.capacity_bytes && !self.slots.is_empty() {
            self.evict();
        }
        self.size_bytes = self.size_bytes.saturating_add(size_bytes);
        let slot = self.slots.len();
        self.slots.push(Entry { hash, filter: filter.clone(), size_bytes, used: false });
        let slots = &self.slots;
        self.table.insert_unique(hash, slot, |slot| slots.get(*slot).map_or(0, |entry| entry.hash));
    }

    /// Takes out the next filter that was not used, or the last of [`MOST_SPARED`] that were.
    fn evict(&mut self) {
        for spared in 0..=MOST_SPARED {
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
            let Some(entry) = self.slots.get_mut(self.hand) else { return };
            if spared == MOST_SPARED || !std::mem::take(&mut entry.used) {
                break;
            }
            self.hand = self.hand.saturating_add(1);
        }
        let gone = self.slots.swap_remove(self.hand);
        self.size_bytes = self.size_bytes.saturating_sub(gone.size_bytes);
        if let Ok(place) = self.table.find_entry(gone.hash, |slot| *slot == self.hand) {
            place.remove();
        }
        // The last filter stands in its slot now.
        let (last, hand) = (self.slots.len(), self.hand);
        if let Some(moved) = self.slots.get(hand)
            && let Some(slot) = self.table.find_mut(moved.hash, |slot| *slot == last)
        {
            *slot = hand;
        }
    }

    #[cfg(test)]
    fn validate(&self) -> Result<(), String> {
        let sizes: usize = self.slots.iter().map(|entry| entry.size_bytes).sum();
        if sizes != self.size_bytes || sizes > self.capacity_bytes {
            return Err(format!("{} bytes of {sizes}, at most {}", self.size_bytes, self.capacity_bytes));
        }
        if self.table.len() != self.slots.len() {
            return Err(format!("{} slots in the table of {}", self.table.len(), self.slots.len()));
        }
        for (slot, entry) in self.slots.iter().enumerate() {
            if self.table.find(entry.hash, |other| *other == slot).is_none() {
                return Err(format!("slot {slot} is not in the table"));
            }
        }
        Ok(())
    }
}
