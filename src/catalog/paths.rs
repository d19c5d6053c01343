//! Where the fields of a catalogue lie in a document: a tree of keys.

use super::{CatalogError, FieldId};

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

/// The number of a node of [`Paths`].
pub(crate) type PathId = usize;

#[derive(Clone, Debug)]
struct Node {
    shape: Shape,
    /// Key and node of each child; an array's child has an empty key.
    children: Vec<(Box<str>, PathId)>,
    /// Its place among the children of the node above.
    place: usize,
    /// How its key stands in compact JSON.
    tag: Option<Tag>,
}

/// A key in its quotes and the colon behind it, compared sixteen bytes at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    /// The bytes, little-endian; zero behind the end.
    words: [u128; 2],
    /// Which bits of the words count.
    masks: [u128; 2],
    len: usize,
}

impl Tag {
    /// `None` for a key that is too long, or that JSON may not hold as it stands.
    fn new(key: &str) -> Option<Self> {
        let text = format!("\"{key}\":").into_bytes();
        let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        if !key.bytes().all(is_plain) || text.len() > size_of::<[u128; 2]>() {
            return None;
        }
        let (mut words, mut masks) = ([0; 2], [0; 2]);
        for ((word, mask), bytes) in words.iter_mut().zip(&mut masks).zip(text.chunks(16)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte));
            *mask = bytes.iter().fold(0, |mask, _| mask << 8 | 0xff);
        }
        Some(Self { words, masks, len: text.len() })
    }

    /// How many bytes of `text` the key takes if it stands at its front; `None` also where the text ends soon.
    #[inline]
    pub(crate) fn stands_in(&self, text: &[u8]) -> Option<usize> {
        let (front, rest) = text.split_first_chunk()?;
        let ([first, second], [first_mask, second_mask]) = (self.words, self.masks);
        if (u128::from_le_bytes(*front) ^ first) & first_mask != 0 {
            return None;
        }
        if second_mask != 0 && (u128::from_le_bytes(*rest.first_chunk()?) ^ second) & second_mask != 0 {
            return None;
        }
        Some(self.len)
    }
}

/// The tree of keys; node 0 is the document itself, an object.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
}

impl Paths {
    pub(crate) const ROOT: PathId = 0;

    /// The tree that leads to `id` alone, which every document needs, be it visible or not.
    pub(super) fn identity() -> Self {
        let root = Node { shape: Shape::Object, children: vec![("id".into(), 1)], place: 0, tag: None };
        let id =
            Node { shape: Shape::Leaf(FieldId::ID), children: Vec::new(), place: 0, tag: Tag::new("id") };
        Self { nodes: vec![root, id] }
    }

    pub(super) fn insert(&mut self, path: &str, field: FieldId) -> Result<(), CatalogError> {
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
            let child_shape = match steps.get(i.saturating_add(1)) {
                Some((shape, _)) => *shape,
                None => Shape::Leaf(field),
            };
            node = match self.child(node, key) {
                Some((_, child)) => child,
                None => self.push(node, key, child_shape),
            };
        }
        match self.nodes.get(node) {
            Some(leaf) if leaf.shape == Shape::Leaf(field) => Ok(()),
            _ => Err(conflict()),
        }
    }

    fn push(&mut self, parent: PathId, key: &str, shape: Shape) -> PathId {
        let child = self.nodes.len();
        let place = self.nodes.get(parent).map_or(0, |parent| parent.children.len());
        self.nodes.push(Node { shape, children: Vec::new(), place, tag: Tag::new(key) });
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children.push((key.into(), child));
        }
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

    /// As [`shape`](Self::shape); `None` of a number that no node has.
    #[inline]
    pub(crate) fn shape_if_any(&self, node: PathId) -> Option<Shape> {
        self.nodes.get(node).map(|node| node.shape)
    }

    /// The node of an array's elements.
    #[inline]
    pub(crate) fn element(&self, array: PathId) -> Option<PathId> {
        self.nodes.get(array)?.children.first().map(|(_, child)| *child)
    }

    /// How many nodes there are; their numbers are below that.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// How the key of `node` stands in compact JSON, and its place among the children of the node above.
    #[inline]
    pub(crate) fn tag(&self, node: PathId) -> Option<(&Tag, usize)> {
        let node = self.nodes.get(node)?;
        Some((node.tag.as_ref()?, node.place))
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
