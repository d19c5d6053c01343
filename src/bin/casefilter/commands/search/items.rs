//! Replaces the documents in the JSON of an answer.

/// Returns an answer in which each document is replaced by the text that `write` appends. `documents` must be all documents of the
/// answer. All other members stay as they are.
pub(super) fn replace_items<'d>(
    answer: &str,
    documents: impl Iterator<Item = &'d str>,
    mut write: impl FnMut(&'d str, &mut String),
) -> String {
    let items = answer.find('[').map_or(0, |bracket| bracket.saturating_add(1));
    let (front, mut rest) = answer.split_at_checked(items).unwrap_or_default();
    let mut replaced = front.to_owned();
    for (number, document) in documents.enumerate() {
        if number > 0 {
            replaced.push(',');
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        rest = rest.strip_prefix(document).unwrap_or(rest);
        write(document, &mut replaced);
    }
    replaced.push_str(rest);
    replaced
}
