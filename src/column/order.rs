//! Sorting strings.

/// The numbers of so many strings, which `text` gives, in the order of the strings; equal ones stay in order.
///
/// Strings are compared by eight of their bytes at a time, from where the first difference is on, so that most
/// comparisons read no string. Ascending runs are found and merged.
pub(super) fn ascending<'t>(count: u32, text: impl Fn(u32) -> &'t str) -> Vec<u32> {
    let bytes = |number: u32| text(number).as_bytes();
    let mut order: Vec<(u64, u32)> = (0..count).map(|number| (0, number)).collect();
    // Strings in a range have so many bytes in common; those behind decide their order.
    let mut open = vec![(0..order.len(), shared_len((0..count).map(bytes)))];
    while let Some((range, shared)) = open.pop() {
        let from = range.start;
        let Some(part) = order.get_mut(range) else { continue };
        for (eight, number) in part.iter_mut() {
            *eight = eight_bytes(bytes(*number).get(shared..).unwrap_or_default());
        }
        part.sort_by_key(|(eight, _)| *eight);
        let mut start: usize = 0;
        for run in part.chunk_by_mut(|(a, _), (b, _)| a == b) {
            let end = start.saturating_add(run.len());
            match run {
                [] | [_] => {}
                // Zeros at the end may be those of a string or stand for its end.
                [(eight, _), ..] if *eight & 0xff == 0 => {
                    run.sort_by(|(_, a), (_, b)| bytes(*a).cmp(bytes(*b)));
                }
                _ => {
                    let range = from.saturating_add(start)..from.saturating_add(end);
                    open.push((range, shared.saturating_add(8)));
                }
            }
            start = end;
        }
    }
    order.into_iter().map(|(_, number)| number).collect()
}

/// How many bytes all strings begin with alike.
fn shared_len<'t>(mut strings: impl Iterator<Item = &'t [u8]>) -> usize {
    let Some(first) = strings.next() else { return 0 };
    strings.fold(first.len(), |shared, other| {
        first.iter().zip(other).take(shared).take_while(|(a, b)| a == b).count()
    })
}

/// The first eight bytes as a number that has their order; zeros stand for those that are missing.
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
