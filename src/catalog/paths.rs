//! A tree of keys (a trie) that maps positions in a document to fields.

use super::arrays::ArrayId;
use super::error::CatalogError;
use super::field::Field;
use super::id::FieldId;

/// The kind of value that a document must have at a position, unless the value there is `null` or absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object. Its children are the keys that lead to fields.
    Object,
    /// An array. The only child of the node represents all elements.
    Array,
    /// A value of this field.
    Leaf(FieldId),
}

/// The id of a node of [`Paths`].
pub(crate) type PathId = usize;

#[derive(Clone, Debug)]
struct Node {
    /// The key and the id of each child. The child of an array has an empty key.
    children: Vec<(Box<str>, PathId)>,
}

/// The properties of a node, which the readers of documents need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathNode {
    /// The id of the parent. The root is its own parent.
    pub(crate) parent: PathId,
    /// The number of brackets that are open where the value starts.
    pub(crate) depth: usize,
    pub(crate) shape: Shape,
    /// The array of objects whose elements the node represents.
    pub(crate) element_of: Option<ArrayId>,
}

/// A tree of keys. Node 0, the root, represents the document itself, which is an object.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    /// The properties of each node. The index is the id of the node.
    steps: Vec<PathNode>,
    /// The number of arrays of objects.
    arrays: u32,
}

impl Paths {
    pub(crate) const ROOT: PathId = 0;

    /// Returns a tree that contains only the id. Every document must have an id, even if the field is hidden.
    pub(super) fn identity(id: &str) -> Self {
        let mut paths = Self { nodes: Vec::new(), steps: Vec::new(), arrays: 0 };
        paths.push(Self::ROOT, "", Shape::Object);
        paths.push(Self::ROOT, id, Shape::Leaf(FieldId::ID));
        paths
    }

    /// Adds a field. Returns the arrays of objects around it, from the outermost to the innermost.
    pub(super) fn insert(&mut self, field: &Field, id: FieldId) -> Result<Box<[ArrayId]>, CatalogError> {
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
        let mut around = Vec::new();
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
            around.extend(self.element_of(node));
        }
        match self.steps.get(node) {
            Some(leaf) if leaf.shape == Shape::Leaf(id) => Ok(around.into()),
            _ => Err(conflict()),
        }
    }

    /// Adds a node. For the first node, `parent` is the node itself.
    fn push(&mut self, parent: PathId, key: &str, shape: Shape) -> PathId {
        let child = self.nodes.len();
        let depth = self.steps.get(parent).map_or(0, |parent| parent.depth.saturating_add(1));
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children.push((key.into(), child));
        }
        self.nodes.push(Node { children: Vec::new() });
        let is_element = shape == Shape::Object && child > 0 && self.shape(parent) == Shape::Array;
        let element_of = is_element.then_some(ArrayId(self.arrays));
        self.arrays = self.arrays.saturating_add(u32::from(is_element));
        self.steps.push(PathNode { parent, depth, shape, element_of });
        child
    }

    /// Returns the array of objects whose elements the node represents.
    pub(crate) fn element_of(&self, node: PathId) -> Option<ArrayId> {
        self.steps.get(node).and_then(|step| step.element_of)
    }

    /// Returns the key of a node within its parent. Empty for the root and for the elements of an array.
    #[cfg(feature = "serde")]
    pub(crate) fn key(&self, node: PathId) -> &str {
        let parent = self.steps.get(node).and_then(|step| self.nodes.get(step.parent));
        let own = parent.and_then(|parent| parent.children.iter().find(|(_, child)| *child == node));
        own.map_or("", |(key, _)| key)
    }

    /// Finds the child of `node` with this key. Returns the child's index among the children, and its id.
    pub(crate) fn child(&self, node: PathId, key: &str) -> Option<(usize, PathId)> {
        let children = &self.nodes.get(node)?.children;
        children.iter().position(|(name, _)| **name == *key).and_then(|at| Some((at, children.get(at)?.1)))
    }

    /// Finds a child as [`child`](Self::child) does, but tries the index `likely` first.
    pub(crate) fn child_near(&self, node: PathId, key: &str, likely: usize) -> Option<(usize, PathId)> {
        match self.nodes.get(node)?.children.get(likely) {
            Some((name, child)) if **name == *key => Some((likely, *child)),
            _ => self.child(node, key),
        }
    }

    pub(crate) fn shape(&self, node: PathId) -> Shape {
        self.steps.get(node).map_or(Shape::Object, |step| step.shape)
    }

    /// Returns the keys that lead to an object, joined by dots. Returns `None` if the object is within an array.
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

    /// Returns the id of the node that represents the elements of an array.
    pub(crate) fn element(&self, array: PathId) -> Option<PathId> {
        self.nodes.get(array)?.children.first().map(|(_, child)| *child)
    }

    /// Returns the properties of all nodes. The index is the id of the node.
    pub(crate) fn steps(&self) -> &[PathNode] {
        &self.steps
    }

    /// Returns all fields at or below `node`.
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
