//! From a body as written to a typed tree: fields resolved, operators checked, values parsed.

use std::borrow::Cow;

use super::lint::Rounded;
use super::optimize::{Builder, Optimizer};
use super::set::Set;
use super::tree::{Children, Comparison, Leaf, Node, NodeId, Tree, Values};
use crate::catalog::{Catalog, Field, FieldId, FieldType};
use crate::criteria::{self, Body, Criterion, Sink, Text};
use crate::error::{Error, ErrorKind, REPORTED_ERRORS, quote, quote_whole};
use crate::limits::Limits;
use crate::operator::{Connective, Operator};
use crate::value::{Number, Span, Timestamp, Value};

/// The typed tree of a body, one node for each criterion in the same order.
///
/// The root joins the criteria with `$and`, and that with `ids` with `$or`. The errors are the
/// first ten of this stage, paths still empty; with any of them, or with broken criteria, the
/// tree means nothing.
pub(crate) fn lower<'b>(body: &'b Body<'_>, catalog: &Catalog) -> (Tree<Comparison<'b>>, Vec<Error>) {
    let mut nodes = Vec::with_capacity(body.nodes.len().saturating_add(3));
    let errors = walk(body, catalog, |node| nodes.push(node));
    (Tree::from_nodes(nodes), errors)
}

/// The normal form of a body, and the errors that [`lower`] finds, with any of which it means nothing.
pub(crate) fn compile(body: &Body<'_>, catalog: &Catalog) -> (Tree<Leaf>, Vec<Error>) {
    let mut optimizer = Optimizer::new(catalog, body.nodes.len().saturating_add(3));
    let errors = walk(body, catalog, |node| optimizer.push(&node));
    (optimizer.finish(), errors)
}

/// The normal form of a body, if it is plainly sound, made as it is read; what [`compile`] gives for the same body.
pub(crate) fn compile_sound(text: &str, catalog: &Catalog, limits: &Limits) -> Option<Tree<Leaf>> {
    // A criterion has about fifty bytes; room for those of large bodies may grow.
    let likely = (text.len() / 50).saturating_add(2).min(32);
    let builder = Builder::new(catalog, likely);
    let mut lowering = Lowering { catalog, builder, ids: None, criteria: None };
    criteria::read(text, limits, &mut lowering)?;
    let Lowering { mut builder, ids, criteria, .. } = lowering;
    let root = match (ids, criteria) {
        (Some(only), None) | (None, Some(only)) => only,
        (Some(ids), Some(criteria)) => builder.make(Connective::Or, &[ids, criteria]),
        (None, None) => builder.constant(false),
    };
    Some(builder.finish(root))
}

/// The numbers of a body without errors that a double rounds, by the nodes of [`lower`].
pub(crate) fn rounded_numbers(body: &Body<'_>, catalog: &Catalog) -> Vec<Rounded> {
    let mut rounded = Vec::new();
    for (node, criterion) in body.nodes.iter().enumerate() {
        let Criterion::Field { field, values, .. } = criterion else { continue };
        let kind = catalog.find(&field.text).map(|id| catalog.field(id).kind());
        if kind != Some(FieldType::Number) {
            continue;
        }
        for (value, text) in body.texts(values).iter().enumerate() {
            if let Some(number) =
                Number::parse(&text.text).filter(|number| number.is_rounded_from(&text.text))
            {
                rounded.push(Rounded { node, value, written: text.text.to_string(), number });
            }
        }
    }
    rounded
}

/// A body on its way to its normal form.
struct Lowering<'c> {
    catalog: &'c Catalog,
    builder: Builder<'c>,
    /// The nodes of the two parts that a body may have.
    ids: Option<NodeId>,
    criteria: Option<NodeId>,
}

impl<'a> Sink<'a> for Lowering<'_> {
    fn field(&mut self, field: Text<'a>, operator: (Operator, usize), values: &[Text<'a>]) -> Option<NodeId> {
        // Whoever reads the body again finds the errors.
        let id = self.catalog.find(&field.text)?;
        let (operator, _) = operator;
        let kind = self.catalog.field(id).kind();
        if operator.is_range() && !kind.is_ordered() {
            return None;
        }
        let texts = values.iter().map(|value| &*value.text);
        Some(self.builder.leaf(id, operator, Set::from_texts(kind, texts)?))
    }

    fn branch(&mut self, connective: Connective, children: &[NodeId]) -> NodeId {
        self.builder.make(connective, children)
    }

    fn ids(&mut self, ids: &[Text<'a>]) {
        self.ids = Some(match Set::of_strings(ids.iter().map(|id| &*id.text)) {
            Some(set) => self.builder.leaf(FieldId::ID, Operator::Contains, set),
            None => self.builder.constant(false),
        });
    }

    fn criteria(&mut self, criteria: &[NodeId]) {
        self.criteria = Some(match criteria {
            [] => self.builder.constant(false),
            criteria => self.builder.make(Connective::And, criteria),
        });
    }
}

/// What `ids` ask.
fn by_ids<'b>(ids: &'b [Text<'_>]) -> Comparison<'b> {
    let values = ids.iter().map(|id| Value::String(Cow::Borrowed(&*id.text))).collect();
    Comparison { field: FieldId::ID, operator: Operator::Contains, values }
}

/// Gives the nodes of the typed tree one by one, the root last.
fn walk<'b>(body: &'b Body<'_>, catalog: &Catalog, mut push: impl FnMut(Node<Comparison<'b>>)) -> Vec<Error> {
    let mut errors = Vec::new();
    for criterion in &body.nodes {
        push(match criterion {
            Criterion::Broken => Node::Constant(false),
            // Field criteria come in document order, so that no error in this one is among the first ten.
            Criterion::Field { .. } if errors.len() >= REPORTED_ERRORS => Node::Constant(false),
            Criterion::Complex { connective, children } => {
                Node::Branch(*connective, Children::from_slice(body.children(children)))
            }
            Criterion::Field { field, operator, values } => {
                match comparison(catalog, field, *operator, body.texts(values), &mut errors) {
                    Some(comparison) => Node::Leaf(comparison),
                    None => Node::Constant(false),
                }
            }
        });
    }
    let mut count = body.nodes.len();
    let mut roots = Children::new();
    if let Some(ids) = &body.ids {
        roots.push(count);
        count = count.saturating_add(1);
        push(Node::Leaf(by_ids(body.texts(ids))));
    }
    if let Some(criteria) = &body.criteria {
        let children = body.children(criteria);
        roots.push(count);
        push(if children.is_empty() {
            Node::Constant(false)
        } else {
            Node::Branch(Connective::And, Children::from_slice(children))
        });
    }
    if roots.len() != 1 {
        push(Node::Branch(Connective::Or, roots));
    }
    errors
}

fn comparison<'b>(
    catalog: &Catalog,
    name: &Text<'_>,
    operator: Option<(Operator, usize)>,
    texts: &'b [Text<'_>],
    errors: &mut Vec<Error>,
) -> Option<Comparison<'b>> {
    let mut report = |error| {
        // One criterion may have many values; its keys stand in any order.
        if errors.len() < 8 * REPORTED_ERRORS {
            errors.push(error);
        }
    };
    let id = match catalog.resolve(&name.text, name.offset) {
        Ok(id) => id,
        Err(error) => {
            report(error);
            return None;
        }
    };
    let field = catalog.field(id);
    let mut sound = true;
    if let Some((operator, operator_offset)) = operator
        && operator.is_range()
        && !field.kind().is_ordered()
    {
        report(Error::new(
            ErrorKind::OperatorNotForType,
            operator_offset,
            format!("{} on {}, a {} field", quote(operator.name()), quote(field.name()), field.kind()),
            "one of `=`, `<>`, `$contains`, `$all`",
        ));
        sound = false;
    }
    let mut values = Values::with_capacity(texts.len());
    for text in texts {
        match value(field, operator.map(|(operator, _)| operator), texts.len() == 1, text) {
            Ok(value) => values.push(value),
            Err(error) => {
                report(*error);
                sound = false;
            }
        }
    }
    let (operator, _) = operator.filter(|_| sound && !values.is_empty())?;
    Some(Comparison { field: id, operator, values })
}

fn value<'b>(
    field: &Field,
    operator: Option<Operator>,
    is_only: bool,
    text: &'b Text<'_>,
) -> Result<Value<'b>, Box<Error>> {
    let error = |kind, expected: &str| {
        let asks_absence =
            ["", "null", "none", "nil", "undefined"].iter().any(|word| word.eq_ignore_ascii_case(&text.text));
        let note = if asks_absence { "; a test for absence is not in the language" } else { "" };
        Box::new(Error::new(
            kind,
            text.offset,
            quote(&text.text),
            format!("{expected}, since {} is a {} field{note}", quote(field.name()), field.kind()),
        ))
    };
    match field.kind() {
        FieldType::String => Ok(Value::String(Cow::Borrowed(&*text.text))),
        FieldType::Number => Number::parse(&text.text).map(Value::Number).ok_or_else(|| {
            let meant = Number::respell(&text.text).and_then(|meant| quote_whole(&meant));
            let expected = "a finite number such as `12`, `-0.5` or `1e3`";
            Box::new(error(ErrorKind::BadNumber, expected).suggest(meant))
        }),
        FieldType::Timestamp => Timestamp::parse(&text.text).map(Value::Timestamp).map_err(|fault| {
            let span = Timestamp::respell(&text.text);
            let meant =
                span.and_then(|span| meant_by_span(field, operator.filter(|_| is_only), &span, &text.text));
            Box::new(error(ErrorKind::BadTimestamp, fault.expected()).suggest(meant))
        }),
        FieldType::Boolean => match &*text.text {
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            other => {
                let near = ["true", "false"].into_iter().find(|word| word.eq_ignore_ascii_case(other));
                Err(Box::new(error(ErrorKind::BadBoolean, "`true` or `false`").suggest(near.map(quote))))
            }
        },
    }
}

/// What says of a whole day or minute, or of an instant within a second, what `operator` says of it; `None` where nothing does.
fn meant_by_span(field: &Field, operator: Option<Operator>, span: &Span, written: &str) -> Option<String> {
    let string = |text: &str| format!("\"{text}\"");
    let start = string(&span.start);
    let operator = operator?;
    if span.is_within {
        // Documents have whole seconds, but where they have milliseconds.
        return match operator {
            _ if field.is_unix_millis() => None,
            Operator::Greater | Operator::GreaterOrEqual => quote_whole(&format!("> {start}")),
            Operator::Less | Operator::LessOrEqual => quote_whole(&format!("<= {start}")),
            Operator::Equal | Operator::NotEqual | Operator::Contains | Operator::All => None,
        };
    }
    let Some(end) = span.end.as_deref().map(string) else { return quote_whole(&start) };
    let written = quote(written);
    let written = written.trim_matches('`');
    match operator {
        Operator::GreaterOrEqual | Operator::Less => quote_whole(&start),
        Operator::LessOrEqual => {
            quote_whole(&format!("< {end}")).map(|meant| format!("{meant}, all of {written} included"))
        }
        Operator::Greater => {
            quote_whole(&format!(">= {end}")).map(|meant| format!("{meant}, all of {written} left out"))
        }
        // Two values of a list may meet the two bounds.
        Operator::Equal | Operator::Contains if !field.is_many() => {
            let both = quote_whole(&format!(">= {start} and {} < {end}", field.name()));
            both.map(|both| format!("{both}, which is all of {written}"))
        }
        // What is absent is within no bounds, and is not equal.
        Operator::Equal | Operator::Contains | Operator::NotEqual | Operator::All => None,
    }
}
