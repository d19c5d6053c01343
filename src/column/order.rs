//! Sorts strings by comparing eight bytes at a time.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indexes of strings that are in memory, and lengths of their prefixes"
)]

use super::radix::sort_from_bit;

/// An element of a sorted list of strings. It refers to a string by its index in the input.
#[derive(Clone, Copy)]
pub(super) struct Ranked {
    pub(super) number: u32,
    /// True if the string equals the previous string of the sorted list.
    pub(super) is_repeated: bool,
    /// The eight bytes of the string that are currently compared, as a big-endian integer.
    eight: u64,
}

/// Sorts `count` strings by their bytes. `bytes` returns the bytes of the string at an index in `0..count`. The sort is stable.
///
/// For each range that it sorts, it skips the prefix that all strings of the range share. For each string, it stores the following
/// eight bytes together with the string's index. Most comparisons need only these eight bytes and do not read the string. If the
/// input consists of ascending sequences, these are merged.
pub(super) fn ascending<'t>(count: u32, bytes: impl Fn(u32) -> &'t [u8]) -> Vec<Ranked> {
    let bytes = |ranked: &Ranked| bytes(ranked.number);
    let unranked = |number| Ranked { number, is_repeated: false, eight: 0 };
    let mut order: Vec<Ranked> = (0..count).map(unranked).collect();
    // The ranges that have not been sorted yet. Each is stored with the length of the prefix that its strings share.
    let mut open = vec![(0..order.len(), shared_len(order.iter().map(bytes)))];
    while let Some((range, shared)) = open.pop() {
        let from = range.start;
        let part = &mut order[range];
        for ranked in part.iter_mut() {
            // Every string of the range has at least `shared` bytes.
            ranked.eight = eight_bytes(bytes(ranked).get(shared..).unwrap_or_default());
        }
        sort_by_eight(part);
        let mut start: usize = 0;
        for run in part.chunk_by_mut(|a, b| a.eight == b.eight) {
            let end = start + run.len();
            match run {
                [] | [_] => {}
                // Trailing zeros may be bytes of the string or padding, so the complete strings are compared here.
                [first, ..] if first.eight & 0xff == 0 => {
                    run.sort_by(|a, b| bytes(a).cmp(bytes(b)));
                    let mut before = None;
                    for ranked in run {
                        ranked.is_repeated = before.replace(bytes(ranked)) == Some(bytes(ranked));
                    }
                }
                _ => {
                    let range = from + start..from + end;
                    open.push((range, shared + 8));
                }
            }
            start = end;
        }
    }
    order
}

/// The minimum number of strings for the radix sort. For fewer strings, the standard sort is used, because it is then faster.
const MANY: usize = 512;
/// The minimum average length of ascending sequences for which the standard sort is used. The standard sort merges such sequences.
/// If they are shorter on average, the radix sort is faster.
const RUN: usize = 8;
/// The number of low bits of a sort word. They contain the index of a string within its range. The other bits are the upper bits of
/// [`Ranked::eight`].
const PLACE_BITS: u32 = u16::BITS;
/// The number of low bits of [`Ranked::eight`] that the radix sort ignores. The remaining bits usually distinguish nearly all
/// strings.
const LOW_BITS: u32 = 20;

/// Sorts by [`Ranked::eight`]. The sort is stable.
fn sort_by_eight(part: &mut [Ranked]) {
    let falls = part.windows(2).filter(|pair| matches!(pair, [a, b] if a.eight > b.eight)).count();
    if part.len() < MANY || part.len() > 1 << PLACE_BITS || falls < part.len() / RUN {
        return part.sort_by_key(|ranked| ranked.eight);
    }
    let places = 0_u64..1 << PLACE_BITS;
    let word = |(ranked, place): (&Ranked, u64)| ranked.eight >> LOW_BITS << LOW_BITS | place;
    let mut words: Vec<u64> = part.iter().zip(places).map(word).collect();
    sort_from_bit(&mut words, LOW_BITS);
    #[expect(clippy::cast_possible_truncation, reason = "the index is the lowest bits")]
    let place = |word: u64| usize::from(word as u16);
    let sorted: Vec<Ranked> = words.iter().map(|word| part[place(*word)]).collect();
    part.copy_from_slice(&sorted);
    for run in part.chunk_by_mut(|a, b| a.eight >> LOW_BITS == b.eight >> LOW_BITS) {
        if run.len() > 1 {
            run.sort_by_key(|ranked| ranked.eight);
        }
    }
}

/// Returns the length in bytes of the prefix that all strings share.
fn shared_len<'t>(mut strings: impl Iterator<Item = &'t [u8]>) -> usize {
    let Some(first) = strings.next() else { return 0 };
    strings.fold(first.len(), |shared, other| {
        first.iter().zip(other).take(shared).take_while(|(a, b)| a == b).count()
    })
}

/// Returns the first eight bytes as a big-endian integer. If there are fewer bytes, pads them with zeros.
#[inline]
fn eight_bytes(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => {
            let mut eight = [0; 8];
            for (to, from) in eight.iter_mut().zip(bytes) {
                *to = *from;
            }
            u64::from_be_bytes(eight)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(strings: &[String], what: &str) {
        let order = ascending(strings.len() as u32, |number| strings[number as usize].as_bytes());
        let mut expected: Vec<u32> = (0..strings.len() as u32).collect();
        expected.sort_by_key(|number| &strings[*number as usize]);
        assert!(order.iter().map(|ranked| ranked.number).eq(expected), "{what}");
        let text = |ranked: &Ranked| &strings[ranked.number as usize];
        let is_repeated = |at: usize| at > 0 && text(&order[at]) == text(&order[at - 1]);
        assert!((0..order.len()).all(|at| order[at].is_repeated == is_repeated(at)), "{what}");
    }

    #[test]
    fn strings_come_out_as_any_sort_has_them() {
        let random = |n: u64| n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        type Make = Box<dyn Fn(u64) -> String>;
        let shapes: [(&str, Make); 10] = [
            ("hexadecimal digits", Box::new(move |n| format!("{:016x}", random(n)))),
            ("as long as they are", Box::new(move |n| format!("{:x}", random(n) >> (n % 60)))),
            ("numbers in order", Box::new(|n| format!("{n:08}"))),
            ("numbers backwards", Box::new(|n| format!("{:08}", 99_999_999 - n))),
            ("a few", Box::new(move |n| format!("s{}", random(n) % 7))),
            ("most twice", Box::new(move |n| format!("{:016x}", random(n / 2)))),
            (
                "the same but for low bits of eight bytes",
                Box::new(move |n| format!("aaaaaa{:02x}", random(n) >> 56)),
            ),
            (
                "the same at first",
                Box::new(move |n| format!("{}-{:x}", "x".repeat((n % 3) as usize * 9), random(n))),
            ),
            ("with zeros", Box::new(move |n| "\0a\0\0".repeat(4)[..(random(n) >> 60) as usize].to_owned())),
            ("one", Box::new(|_| "one and the same".to_owned())),
        ];
        for (shape, make) in shapes {
            for len in [0, 1, 2, 511, 512, 513, 4000] {
                let strings: Vec<String> = (0..len).map(&make).collect();
                check(&strings, &format!("{len} strings, {shape}"));
            }
        }
    }

    #[test]
    fn more_strings_than_rows_are_sorted_too() {
        let strings: Vec<String> = (0..70_000_u64)
            .map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 60_000))
            .collect();
        check(&strings, "70,000 strings");
        check(&strings[..1 << PLACE_BITS], "as many as there are places");
    }
}
