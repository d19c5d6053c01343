//! Where the fields of a catalogue lie in a document: a tree of keys.

use wide::u8x16;

use super::{CatalogError, Field, FieldId, FieldType};

/// What must stand at a place of a document (or `null`, or nothing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object whose listed keys lead on.
    Object,
    /// An array, each of whose elements is the node's only child.
    Array,
    /// A value of this field.
    Leaf(FieldId),
}

/// As [`Shape`], with the form of a leaf's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Anything: no field lies here or below.
    Anything,
    Object,
    Array,
    String(FieldId),
    Number(FieldId),
    /// A string in the text form of timestamps.
    Timestamp(FieldId),
    /// Milliseconds since the Unix epoch, a string or a number.
    UnixMillis(FieldId),
    Boolean(FieldId),
}

impl Expected {
    fn of(field: &Field, id: FieldId) -> Self {
        match field.kind() {
            FieldType::String => Self::String(id),
            FieldType::Number => Self::Number(id),
            FieldType::Timestamp if field.is_unix_millis() => Self::UnixMillis(id),
            FieldType::Timestamp => Self::Timestamp(id),
            FieldType::Boolean => Self::Boolean(id),
        }
    }
}

/// The number of a node of [`Paths`].
pub(crate) type PathId = usize;

#[derive(Clone, Debug)]
struct Node {
    shape: Shape,
    /// Key and node of each child; an array's child has an empty key.
    children: Vec<(Box<str>, PathId)>,
}

/// What a reader of usual documents asks about a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// How its key stands in compact JSON.
    pub(crate) tag: Tag,
    /// The bit of its place among the children of the node above; none behind the 64th.
    pub(crate) bit: u64,
    pub(crate) expected: Expected,
}

/// A bit for each of sixteen bytes.
const ALL_BYTES: u32 = 0xffff;

/// Which of sixteen bytes are the same, a bit each.
#[inline(always)]
fn equal_bytes(one: [u8; 16], other: u8x16) -> u32 {
    u8x16::new(one).simd_eq(other).to_bitmask()
}

/// A key in its quotes and the colon behind it, compared sixteen bytes at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    /// The bytes; zero behind the end.
    bytes: [u8x16; 2],
    /// Which of the bytes do not count: those that are behind the end.
    beyond: [u32; 2],
    len: usize,
}

impl Tag {
    /// That of a key that is too long, or that JSON may not hold as it stands, stands nowhere.
    fn new(key: &str) -> Self {
        let text = format!("\"{key}\":").into_bytes();
        let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        if !key.bytes().all(is_plain) || text.len() > size_of::<[u128; 2]>() {
            // No text has this byte.
            return Self { bytes: [u8x16::splat(0xff); 2], beyond: [0; 2], len: 0 };
        }
        let mut bytes = [[0; 16]; 2];
        for (slot, byte) in bytes.as_flattened_mut().iter_mut().zip(&text) {
            *slot = *byte;
        }
        let beyond = [0, 16].map(|start| ALL_BYTES << text.len().saturating_sub(start).min(16) & ALL_BYTES);
        Self { bytes: bytes.map(u8x16::new), beyond, len: text.len() }
    }

    /// How many bytes of `text` the key takes if it stands at its front; `None` also where the text ends soon.
    #[inline(always)]
    pub(crate) fn stands_in(&self, text: &[u8]) -> Option<usize> {
        let (front, rest) = text.split_first_chunk()?;
        let ([first, second], [beyond_first, beyond_second]) = (self.bytes, self.beyond);
        if equal_bytes(*front, first) | beyond_first != ALL_BYTES {
            return None;
        }
        if beyond_second != ALL_BYTES
            && equal_bytes(*rest.first_chunk()?, second) | beyond_second != ALL_BYTES
        {
            return None;
        }
        Some(self.len)
    }
}

/// The tree of keys; node 0 is the document itself, an object.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    /// By node.
    steps: Vec<Step>,
}

impl Paths {
    pub(crate) const ROOT: PathId = 0;

    /// The tree that leads to `id` alone, which every document needs, be it visible or not.
    pub(super) fn identity() -> Self {
        let mut paths = Self { nodes: Vec::new(), steps: Vec::new() };
        paths.push(Self::ROOT, "", Shape::Object, Expected::Object);
        paths.push(Self::ROOT, "id", Shape::Leaf(FieldId::ID), Expected::String(FieldId::ID));
        paths
    }

    pub(super) fn insert(&mut self, field: &Field, id: FieldId) -> Result<(), CatalogError> {
        let path = field.path();
        let bad = || CatalogError::BadPath(path.into());
        let conflict = || CatalogError::PathConflict(path.into());
        let mut steps = Vec::new();
        for segment in path.split('.') {
            let key = segment.trim_end_matches("[]");
            if key.is_empty() || key.contains("[]") {
                return Err(bad());
            }
            steps.push((Shape::Object, key));
            let arrays = segment.len().saturating_sub(key.len()) / 2;
            steps.extend(std::iter::repeat_n((Shape::Array, ""), arrays));
        }
        let mut node = Self::ROOT;
        for (i, (shape, key)) in steps.iter().enumerate() {
            if self.nodes.get(node).map(|node| node.shape) != Some(*shape) {
                return Err(conflict());
            }
            let (child_shape, expected) = match steps.get(i.saturating_add(1)) {
                Some((Shape::Array, _)) => (Shape::Array, Expected::Array),
                Some(_) => (Shape::Object, Expected::Object),
                None => (Shape::Leaf(id), Expected::of(field, id)),
            };
            node = match self.child(node, key) {
                Some((_, child)) => child,
                None => self.push(node, key, child_shape, expected),
            };
        }
        match self.nodes.get(node) {
            Some(leaf) if leaf.shape == Shape::Leaf(id) => Ok(()),
            _ => Err(conflict()),
        }
    }

    /// Adds a node; the first one is above itself.
    fn push(&mut self, parent: PathId, key: &str, shape: Shape, expected: Expected) -> PathId {
        let child = self.nodes.len();
        let place = self.nodes.get(parent).map_or(0, |parent| parent.children.len());
        let bit = u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0);
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children.push((key.into(), child));
        }
        self.nodes.push(Node { shape, children: Vec::new() });
        self.steps.push(Step { tag: Tag::new(key), bit, expected });
        child
    }

    /// The child of `node` under `key`, and its place among the children.
    pub(crate) fn child(&self, node: PathId, key: &str) -> Option<(usize, PathId)> {
        let children = &self.nodes.get(node)?.children;
        children.iter().position(|(name, _)| **name == *key).and_then(|at| Some((at, children.get(at)?.1)))
    }

    /// As [`child`](Self::child), for an object's key that is likely the child at a place.
    pub(crate) fn child_near(&self, node: PathId, key: &str, likely: usize) -> Option<(usize, PathId)> {
        match self.nodes.get(node)?.children.get(likely) {
            Some((name, child)) if **name == *key => Some((likely, *child)),
            _ => self.child(node, key),
        }
    }

    pub(crate) fn shape(&self, node: PathId) -> Shape {
        self.nodes.get(node).map_or(Shape::Object, |node| node.shape)
    }

    /// The node of an array's elements.
    pub(crate) fn element(&self, array: PathId) -> Option<PathId> {
        self.nodes.get(array)?.children.first().map(|(_, child)| *child)
    }

    /// What a reader of usual documents asks about each node, by its number.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Every field at or below `node`.
    pub(crate) fn fields_below(&self, node: PathId) -> Vec<FieldId> {
        let mut found = Vec::new();
        let mut open = vec![node];
        while let Some(node) = open.pop().and_then(|node| self.nodes.get(node)) {
            if let Shape::Leaf(field) = node.shape {
                found.push(field);
            }
            open.extend(node.children.iter().map(|(_, child)| *child));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_where_all_its_bytes_stand_and_no_others() {
        for len in [0, 1, 12, 13, 14, 15, 28, 29, 30, 60] {
            let key = "abcdefghij".repeat(6).split_at(len).0.to_owned();
            let tag = Tag::new(&key);
            let text = format!("\"{key}\":{}", "x".repeat(40));
            // Thirty-two bytes are compared, those of the quotes and the colon among them.
            let expected = (len <= 29).then_some(len + 3);
            assert_eq!(tag.stands_in(text.as_bytes()), expected, "{key}");
            for at in 0..len + 3 {
                let mut other = text.clone().into_bytes();
                other[at] ^= 1;
                assert_eq!(tag.stands_in(&other), None, "{key} with another byte at {at}");
            }
            assert_eq!(tag.stands_in(&text.as_bytes()[..15]), None);
        }
        assert_eq!(Tag::new("a\"b").stands_in(format!("{:40}", "\"a\"b\":").as_bytes()), None);
    }
}
