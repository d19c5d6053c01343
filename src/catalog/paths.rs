//! Where the fields of a catalogue lie in a document: a tree of keys.

use super::error::CatalogError;
use super::field::Field;
use super::id::FieldId;

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
    /// Key and node of each child; an array's child has an empty key.
    children: Vec<(Box<str>, PathId)>,
}

/// The facts about a node that the template reader needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The node above; of the document itself, that too.
    pub(crate) parent: PathId,
    /// How many brackets are open around it.
    pub(crate) depth: usize,
    pub(crate) shape: Shape,
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
        paths.push(Self::ROOT, "", Shape::Object);
        paths.push(Self::ROOT, "id", Shape::Leaf(FieldId::ID));
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
            if self.steps.get(node).map(|step| step.shape) != Some(*shape) {
                return Err(conflict());
            }
            let child_shape = match steps.get(i.saturating_add(1)) {
                Some((Shape::Array, _)) => Shape::Array,
                Some(_) => Shape::Object,
                None => Shape::Leaf(id),
            };
            node = match self.child(node, key) {
                Some((_, child)) => child,
                None => self.push(node, key, child_shape),
            };
        }
        match self.steps.get(node) {
            Some(leaf) if leaf.shape == Shape::Leaf(id) => Ok(()),
            _ => Err(conflict()),
        }
    }

    /// Adds a node; the first one is above itself.
    fn push(&mut self, parent: PathId, key: &str, shape: Shape) -> PathId {
        let child = self.nodes.len();
        let depth = self.steps.get(parent).map_or(0, |parent| parent.depth.saturating_add(1));
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children.push((key.into(), child));
        }
        self.nodes.push(Node { children: Vec::new() });
        self.steps.push(Step { parent, depth, shape });
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
        self.steps.get(node).map_or(Shape::Object, |step| step.shape)
    }

    /// The keys that lead to an object, joined by dots; `None` of one within an array.
    pub(crate) fn path_in_objects(&self, object: PathId) -> Option<String> {
        let mut keys = Vec::new();
        let mut at = object;
        while at != Self::ROOT {
            let parent = self.steps.get(at)?.parent;
            let children = &self.nodes.get(parent).filter(|_| self.shape(parent) == Shape::Object)?.children;
            keys.push(&**children.iter().find(|(_, child)| *child == at).map(|(key, _)| key)?);
            at = parent;
        }
        keys.reverse();
        Some(keys.join("."))
    }

    /// The node of an array's elements.
    pub(crate) fn element(&self, array: PathId) -> Option<PathId> {
        self.nodes.get(array)?.children.first().map(|(_, child)| *child)
    }

    /// Returns the facts about each node, by its number.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Every field at or below `node`.
    pub(crate) fn fields_below(&self, node: PathId) -> Vec<FieldId> {
        let mut found = Vec::new();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if let Shape::Leaf(field) = self.shape(node) {
                found.push(field);
            }
            let children = self.nodes.get(node).map_or(&[][..], |node| &node.children);
            open.extend(children.iter().map(|(_, child)| *child));
        }
        found
    }
}
