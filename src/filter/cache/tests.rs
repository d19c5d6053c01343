//! Tests of the filter cache: hits, collisions, and eviction.

use super::*;

fn cache(capacity_bytes: usize) -> FilterCache {
    FilterCache::new(FilterBuilder::new(&Catalog::cases()), capacity_bytes)
}

fn body(n: usize) -> String {
    format!(r#"{{"criteria":[{{"field":"name","op":"=","values":["{n}"]}}]}}"#)
}

fn validate(cache: &FilterCache) {
    for shard in &cache.shards {
        assert_eq!(shard.lock().validate(), Ok(()));
    }
}

#[test]
fn a_cached_filter_equals_a_compiled_one() {
    let cache = cache(1 << 20);
    for round in 0..3 {
        for n in 0..200 {
            let body = body(n);
            let fresh = Filter::compile(&Catalog::cases(), body.as_bytes());
            assert_eq!(cache.compile(body.as_bytes()), fresh, "round {round}");
        }
    }
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.entries), (400, 200, 200));
    validate(&cache);
}

#[test]
fn bodies_are_distinguished_by_every_byte() {
    let cache = cache(1 << 20);
    let (plain, spaced) = (body(1), format!("{} ", body(1)));
    assert_eq!(cache.compile(plain.as_bytes()), cache.compile(spaced.as_bytes()));
    assert_eq!(cache.stats().misses, 2);
}

#[test]
fn a_body_with_the_hash_of_another_is_compiled() {
    let cache = cache(1 << 20);
    let (own, other) = (body(1), body(2));
    let fresh = |body: &str| Filter::compile(&Catalog::cases(), body.as_bytes()).unwrap();
    let hash = cache.hasher.hash_one(own.as_bytes());
    for shard in &cache.shards {
        shard.lock().insert(hash, &fresh(&other));
    }
    for _ in 0..2 {
        assert_eq!(cache.compile(own.as_bytes()), Ok(fresh(&own)));
    }
}

#[test]
fn a_bound_applies_to_cached_and_to_compiled_filters() {
    let all = Catalog::cases();
    let bound = |text| Filter::compile_text(&all, text).unwrap();
    let narrow = FilterCache::new(FilterBuilder::new(&all.allow(["id", "name"]).unwrap()), 1 << 20);
    let narrow = narrow.within(&bound("clientId = acme")).unwrap().within(&bound("priority = high")).unwrap();
    for _ in 0..2 {
        let filter = narrow.compile(br#"{"ids":["a"]}"#).unwrap();
        let matches = |document: &str| filter.matches(document.as_bytes()).unwrap();
        assert!(matches(r#"{"id":"a","clientId":"acme","priority":"high"}"#));
        assert!(!matches(r#"{"id":"a","clientId":"acme"}"#));
        assert!(!matches(r#"{"id":"a","clientId":"x","priority":"high"}"#));
        assert!(!matches(r#"{"id":"b","clientId":"acme","priority":"high"}"#));
        assert!(narrow.compile(br#"{"criteria":[{"field":"clientId","op":"=","values":["x"]}]}"#).is_err());
    }
    let stats = narrow.stats();
    assert_eq!((stats.hits, stats.entries), (1, 1));
}

#[test]
fn the_steps_of_programs_are_counted_before_they_are_made() {
    let cache = cache(1 << 20);
    let criteria: Vec<String> = (0..100)
        .map(|n| {
            format!(r#"{{"op":"$or","children":[{{"field":"tags","op":"$all","values":["a{n}","b"]}},{{"field":"name","op":"<>","values":["{n}"]}}]}}"#)
        })
        .collect();
    let body = format!(r#"{{"criteria":[{}]}}"#, criteria.join(","));
    let filter = cache.compile(body.as_bytes()).unwrap();
    let before = filter.size_bytes();
    assert!(filter.predicate().size_bytes() + 200 * 64 < before, "{before} bytes");
    let document = crate::filter::Document::parse(&Catalog::cases(), br#"{"id":"1"}"#).unwrap();
    assert_eq!(filter.selects(&document), Ok(true));
    assert_eq!(filter.size_bytes(), before);
    assert!(cache.stats().size_bytes >= before);
}

#[test]
fn errors_are_not_kept() {
    let cache = cache(1 << 20);
    for _ in 0..2 {
        let errors = Filter::compile(&Catalog::cases(), b"{}").unwrap_err();
        assert_eq!(cache.compile(b"{}"), Err(errors));
    }
    assert_eq!(cache.stats(), CacheStats { misses: 2, ..CacheStats::default() });
}

#[test]
fn a_flood_of_bodies_stays_within_the_capacity_and_spares_used_filters() {
    let cache = cache(1 << 18);
    let kept = body(usize::MAX);
    cache.compile(kept.as_bytes()).unwrap();
    for n in 0..20_000 {
        cache.compile(body(n).as_bytes()).unwrap();
        if n % 10 == 0 {
            cache.compile(kept.as_bytes()).unwrap();
        }
        if n % 500 == 0 {
            validate(&cache);
        }
    }
    validate(&cache);
    let stats = cache.stats();
    assert!(stats.entries > 100 && stats.size_bytes <= 1 << 18, "{stats:?}");
    assert_eq!((stats.hits, stats.misses), (2000, 20_001));
}

#[test]
fn filters_that_are_too_large_are_not_cached() {
    let cache = cache(SHARDS << 10);
    let large = body(0).replace("\"0\"", &format!("\"{}\"", "x".repeat(2000)));
    for _ in 0..2 {
        assert!(cache.compile(large.as_bytes()).is_ok());
    }
    assert_eq!(cache.stats(), CacheStats { misses: 2, ..CacheStats::default() });
    let none = self::cache(0);
    assert!(none.compile(body(1).as_bytes()).is_ok());
    assert_eq!(none.stats().entries, 0);
}

#[test]
fn threads_share_a_cache() {
    let cache = cache(1 << 16);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for n in 0..3000 {
                    let body = body((n * (thread + 1)) % 500);
                    let fresh = Filter::compile(&Catalog::cases(), body.as_bytes());
                    assert_eq!(cache.compile(body.as_bytes()), fresh);
                }
            });
        }
    });
    validate(&cache);
    let stats = cache.stats();
    assert_eq!(stats.hits + stats.misses, 12_000);
    assert!(stats.hits > 0);
}
