//! A cache of compiled filters, with second-chance eviction.

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

/// A bounded cache of compiled filters, for a host that receives the same bodies repeatedly.
///
/// The key of a filter is its body, byte by byte. Two equivalent bodies with different bytes have two entries. Bodies with errors
/// are not cached.
///
/// The cache is `Send + Sync`. A thread holds a lock only to look up a hash, or to insert a filter, which may evict other filters.
/// When the cache is full, it evicts filters that were not used since they were inserted or last skipped (second-chance eviction).
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
    /// A filter that is joined by *and* with every compiled filter.
    bound: Option<Filter>,
    /// The hash function. Its keys are random, so that clients cannot construct bodies with equal hashes.
    hasher: foldhash::quality::RandomState,
    shards: Box<[Shard]>,
}

/// Statistics of a [`FilterCache`]: its lookups so far, and its current content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CacheStats {
    /// The number of lookups that found a filter.
    pub hits: u64,
    /// The number of lookups that found no filter, including lookups of invalid bodies.
    pub misses: u64,
    /// The number of filters in the cache.
    pub entries: usize,
    /// The approximate memory of the filters in bytes.
    pub size_bytes: usize,
}

/// The number of shards. With sixteen shards, threads with different bodies seldom need the same lock.
const SHARDS: usize = 16;

/// The memory of an entry in bytes, without its filter: its slot, and its part of a table that may be half empty.
const ENTRY_BYTES: usize = size_of::<Entry>() + 4 * size_of::<usize>();

/// The maximum number of recently used filters that one eviction skips. After that, it evicts the next filter, even if that filter
/// was recently used.
const MOST_SPARED: usize = 8;

impl FilterCache {
    /// Creates an empty cache. `builder` compiles its filters.
    ///
    /// All filters together take about `capacity_bytes` at most. A filter that takes more than a sixteenth of `capacity_bytes` is
    /// not cached.
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

    /// Returns an empty cache with the same settings. The new cache restricts each compiled filter by `bound`: it joins the two by
    /// [`Filter::and`].
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
    /// Returns [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) under the same conditions as [`Filter::and`].
    pub fn within(self, bound: &Filter) -> Result<Self, Error> {
        let bound = self.bound.as_ref().map_or_else(|| Ok(bound.clone()), |own| own.and(bound))?;
        // Report a mismatch here rather than at the first body.
        Filter::all(self.catalog()).and(&bound)?;
        let capacity_bytes = self.shards.first().map_or(0, |shard| shard.lock().capacity_bytes);
        let empty = Self::new(self.builder, capacity_bytes.saturating_mul(SHARDS));
        Ok(Self { bound: Some(bound), ..empty })
    }

    /// Returns the filter of a JSON body. Compiles it if the cache does not have it.
    ///
    /// # Errors
    /// Returns the errors of [`FilterBuilder::json`]: the first ten errors in the body, in document order.
    ///
    /// # Complexity
    /// Linear in the length of the body. The cost of evictions is amortised, since each filter is inserted once and evicted once.
    pub fn compile(&self, body: &[u8]) -> Result<Filter, Errors> {
        if body.len() > self.limits().body_bytes {
            return self.compile_anew(body);
        }
        let hash = self.hasher.hash_one(body);
        // Choose the shard by bits of the hash that the table does not use.
        let Some(shard) = usize::try_from(hash >> 32).ok().and_then(|bits| self.shards.get(bits % SHARDS))
        else {
            return self.compile_anew(body);
        };
        // Compare the bodies after releasing the lock. Two bodies with the same hash of 64 bits are very unlikely, because the
        // keys of the hash function are random. If it happens, the second body is compiled each time.
        let found = shard.lock().find(hash);
        if let Some(filter) = found.filter(|filter| filter.body() == Some(body)) {
            return Ok(filter);
        }
        let filter = self.compile_anew(body)?;
        shard.lock().insert(hash, &filter);
        Ok(filter)
    }

    /// Returns the request with these parameters, and with the filter that [`compile`](Self::compile) returns for a JSON body.
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
    /// Returns the first ten errors in the body and the parameters. Errors of the body come first.
    pub fn request(&self, body: &[u8], params: &SearchParams<'_>) -> Result<SearchRequest, Errors> {
        let paging = params.parse(self.catalog(), self.limits());
        let (filter, paging) = Errors::both(self.compile(body), paging)?;
        Ok(SearchRequest::new(filter).with_paging(paging))
    }

    /// Returns the builder that compiles bodies, without the filter that [`within`](Self::within) has set.
    pub(crate) fn builder(&self) -> &FilterBuilder {
        &self.builder
    }

    /// Returns the filter that [`within`](Self::within) has set.
    pub(crate) fn bound(&self) -> Option<&Filter> {
        self.bound.as_ref()
    }

    fn compile_anew(&self, body: &[u8]) -> Result<Filter, Errors> {
        let filter = self.builder.json(body)?;
        match &self.bound {
            Some(bound) => Ok(filter.and(bound)?),
            None => Ok(filter),
        }
    }

    /// Returns the catalogue that the filters are compiled for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.builder.catalog()
    }

    /// Returns the limits for bodies.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.builder.limits()
    }

    /// Returns the number of lookups since the cache was created, and its current content.
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

/// A part of the cache with its own lock, on its own cache lines.
///
/// A mutex is faster than a read-write lock here. With a read-write lock, a hit would take three atomic operations instead of two,
/// because it also updates a counter.
#[repr(align(64))]
struct Shard(Mutex<Entries>);

impl Shard {
    // No code panics while it holds the lock. Even after a panic, the cache would at worst miss a filter.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Entry {
    hash: u64,
    filter: Filter,
    size_bytes: usize,
    /// True if the filter was used since it was inserted, or since an eviction last skipped it.
    used: bool,
}

/// The filters of a shard, as a ring for the second-chance (clock) algorithm.
///
/// An eviction moves the index `hand` around the ring. It clears the flag `used` of each filter that it skips, and evicts the first
/// filter without the flag.
#[derive(Default)]
struct Entries {
    /// The index of the slot of each body, by the hash of the body.
    table: HashTable<usize>,
    slots: Vec<Entry>,
    hand: usize,
    size_bytes: usize,
    capacity_bytes: usize,
    hits: u64,
    misses: u64,
}

impl Entries {
    /// Returns the index of the slot of the body with this hash.
    fn slot(&self, hash: u64) -> Option<usize> {
        self.table.find(hash, |slot| self.slots.get(*slot).is_some_and(|entry| entry.hash == hash)).copied()
    }

    /// Returns the filter of the body with this hash and marks it as used.
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
        // Another thread may have inserted the body in the meantime.
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

    /// Evicts the next filter that was not used. After skipping [`MOST_SPARED`] used filters, evicts the next filter in any case.
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
        // `swap_remove` moved the last filter into the free slot: adjust its index.
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
