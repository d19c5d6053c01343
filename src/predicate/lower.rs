//! Lowering: converts the syntax tree of a body to a typed tree. Resolves fields, checks operators and parses values.
//!
//! There are two lowerings:
//!
//! - [`compile`] returns the normal form, which engines run. It stops at the first error without reporting it.
//! - [`lower`] returns the tree as written, with one node for each criterion, and the errors. Warnings, `why` and the reference
//!   evaluator read this tree.
//!
//! Invariant: `compile` returns a tree if and only if `lower` finds no error and the parser has found no error in a criterion.

mod errors;
mod operand;
mod rounded;
mod scope;

use smallvec::SmallVec;

use self::errors::{bad_id, no_array, no_field, noted};
use self::operand::{set_of_ids, value};
pub(crate) use self::rounded::rounded_numbers;
use self::scope::{Scope, negated, scopes};
use super::optimize::Builder;
use super::reading::Reading;
use super::set::Set;
use super::tree::{Children, Comparison, Leaf, Node, NodeId, Tree, Values, Written};
use crate::catalog::{Catalog, Field, FieldId, FieldType, IdType};
use crate::criteria::{Body, Criterion, Text};
use crate::error::{Error, ErrorKind, REPORTED_ERRORS, is_dropped, push_error, quote};
use crate::operator::{Complex, Connective, Language, Operands, Operator, Quantifier};
use crate::value::{Value, ValueClass, canonical_id, words};

/// The maximum total number of known values in the order comparisons of a body, such as `priority >= low`. Each comparison adds the
/// number of all known values of its field to the total. The total is limited because the normal form of a comparison contains each
/// known value that it selects.
const MOST_RANKED: usize = 1 << 20;

/// Compiles a body to its normal form. Returns `None` if the body has an error.
///
/// Takes linear time in the number of criteria and values, apart from sorting them.
pub(crate) fn compile(body: &Body<'_>, catalog: &Catalog) -> Option<Tree<Leaf>> {
    let mut builder = Builder::new(catalog, body.nodes.len().saturating_add(3));
    let language = Language::new(body.syntax, catalog.grammar());
    let reading = Reading { language, grammar: body.grammar, clock: body.clock };
    let negated = negated(body);
    let scopes = scopes(body, catalog, reading.language);
    // The total number of known values of the fields in all order comparisons so far.
    let mut ranked: usize = 0;
    // A stack of the builder's node ids: criteria whose parent has not been reached yet.
    let mut made: SmallVec<[NodeId; 24]> = SmallVec::new();
    for (at, criterion) in body.nodes.iter().enumerate() {
        let is_negated = negated.get(at).copied().unwrap_or(false);
        let node = match criterion {
            Criterion::Field { field, operator, values } => {
                let (operator, _) = (*operator)?;
                let scope = scopes.get(at).copied().unwrap_or_default();
                let id = scope.field(&body.text(*field)?.text, catalog, reading.language)?;
                let field = catalog.field(id);
                let (kind, is_many) = (field.field_type(), field.is_many());
                if !operator.applies_to(field, body.grammar) {
                    return None;
                }
                let texts = body.texts(values).iter().map(|value| &*value.text);
                let id_type = catalog.field(id).id_type();
                if is_ranked(field, operator) {
                    // Only known values have a rank.
                    if texts.clone().any(|text| field.known_rank(text).is_none()) {
                        return None;
                    }
                    ranked = ranked.saturating_add(field.known_values().len());
                    if ranked > MOST_RANKED {
                        return None;
                    }
                }
                let operands = match operator.operands() {
                    // Filters rarely test ids that are not plain strings.
                    Operands::OfField | Operands::NotEmpty | Operands::Words if id_type != IdType::String => {
                        set_of_ids(id_type, operator, body.texts(values))?
                    }
                    Operands::OfField => Set::from_texts(kind, reading, is_many, texts)?,
                    Operands::Truth => Set::from_texts(FieldType::Boolean, reading, is_many, texts)?,
                    Operands::NotEmpty if texts.clone().any(str::is_empty) => return None,
                    Operands::Words if texts.clone().any(|text| words(text).is_empty()) => return None,
                    Operands::NotEmpty | Operands::Words => Set::of_strings(texts)?,
                };
                // `$all` needs each span of time separately, but a set does not keep adjacent spans apart.
                if operator.shape().quantifier == Quantifier::All && !operands.are_points() {
                    return None;
                }
                builder.leaf(id, operator, operands, is_negated)
            }
            Criterion::Complex { operator: Complex::Join(connective), children, .. } => {
                let first = made.len().checked_sub(*children)?;
                let connective = if is_negated { connective.dual() } else { *connective };
                let node = builder.make(connective, made.get(first..)?);
                made.truncate(first);
                node
            }
            // The child has already been built in its negated form.
            Criterion::Complex { operator: Complex::Not, .. } => made.pop()?,
            Criterion::Complex { operator: Complex::Elem(_), array, children } => {
                let scope = scopes.get(at).copied().unwrap_or_default();
                let array = scope.array(&body.text((*array)?)?.text, catalog, reading.language)?;
                let first = made.len().checked_sub(*children)?;
                let child = builder.make(Connective::And, made.get(first..)?);
                made.truncate(first);
                builder.elements(array, child, is_negated)
            }
            Criterion::Broken => return None,
        };
        made.push(node);
    }
    if made.len() != body.criteria.unwrap_or(0) {
        return None;
    }
    let ids = match &body.ids {
        None => None,
        Some(ids) if ids.is_empty() => Some(builder.constant(false)),
        Some(ids) => {
            let set = match catalog.id_type() {
                IdType::String => Set::of_strings(body.texts(ids).iter().map(|id| &*id.text))?,
                id_type => set_of_ids(id_type, Operator::Contains, body.texts(ids))?,
            };
            Some(builder.leaf(FieldId::ID, Operator::Contains, set, false))
        }
    };
    let criteria = body.criteria.map(|_| match made.as_slice() {
        [] => builder.constant(false),
        criteria => builder.make(Connective::And, criteria),
    });
    let root = match (ids, criteria) {
        (Some(only), None) | (None, Some(only)) => only,
        (Some(ids), Some(criteria)) => builder.make(Connective::Or, &[ids, criteria]),
        (None, None) => builder.constant(false),
    };
    Some(builder.finish(root))
}

/// Lowers a body to its tree as written, with one node for each criterion, in the same order.
///
/// An additional node joins the criteria by `$and`. If the body has `ids` too, the root joins the ids and the criteria by `$or`.
///
/// The returned list contains the errors that cannot be found without the catalogue, such as an unknown field. If there are more
/// than ten, it contains at least the first ten in the text of the body. The paths of the errors are empty. If there is an error,
/// or if the parser has found an error in a criterion, the tree must not be used.
pub(crate) fn lower<'b>(body: &'b Body<'_>, catalog: &Catalog) -> (Written<'b>, Vec<Error>) {
    let language = Language::new(body.syntax, catalog.grammar());
    let reading = Reading { language, grammar: body.grammar, clock: body.clock };
    let scopes = scopes(body, catalog, language);
    let mut errors = Vec::new();
    let mut nodes: Vec<Node<Comparison<'b>, Complex>> =
        Vec::with_capacity(body.nodes.len().saturating_add(3));
    // A stack of node ids: criteria whose parent has not been reached yet.
    let mut open: Vec<NodeId> = Vec::new();
    let mut ranked: usize = 0;
    for (at, criterion) in body.nodes.iter().enumerate() {
        let scope = scopes.get(at).copied().unwrap_or_default();
        let node = match criterion {
            Criterion::Broken => Node::Constant(false),
            // Field criteria are in document order, so an error in this criterion would not be among the first ten.
            Criterion::Field { .. } if errors.len() >= REPORTED_ERRORS => Node::Constant(false),
            Criterion::Complex { operator, array, children } => {
                let first = open.len().saturating_sub(*children);
                let children = open.drain(first..).collect();
                let array = array.and_then(|array| body.text(array));
                match (operator, array) {
                    (Complex::Elem(_), Some(name)) => match scope.array(&name.text, catalog, language) {
                        Some(array) => Node::Branch(Complex::Elem(array), children),
                        None => {
                            if scope != Scope::Unknown && !is_dropped(&errors, name.offset) {
                                push_error(&mut errors, no_array(catalog, language, scope, name));
                            }
                            Node::Constant(false)
                        }
                    },
                    _ => Node::Branch(*operator, children),
                }
            }
            Criterion::Field { field, operator, values } => {
                let texts = body.texts(values);
                let comparison = body.text(*field).and_then(|name| {
                    comparison(catalog, reading, scope, (name, *operator), texts, &mut errors)
                });
                if let (Some(comparison), Some((operator, offset))) = (&comparison, operator)
                    && is_ranked(catalog.field(comparison.field), *operator)
                    && ranked <= MOST_RANKED
                {
                    let field = catalog.field(comparison.field);
                    ranked = ranked.saturating_add(field.known_values().len());
                    if ranked > MOST_RANKED {
                        push_error(&mut errors, too_many_ranked(field, *offset));
                    }
                }
                comparison.map_or(Node::Constant(false), Node::Leaf)
            }
        };
        open.push(nodes.len());
        nodes.push(node);
    }
    let mut roots = Children::new();
    if let Some(ids) = &body.ids {
        roots.push(nodes.len());
        nodes.push(Node::Leaf(by_ids(catalog, body.texts(ids), &mut errors)));
    }
    if body.criteria.is_some() {
        roots.push(nodes.len());
        nodes.push(if open.is_empty() {
            Node::Constant(false)
        } else {
            Node::Branch(Connective::And.into(), open.into())
        });
    }
    if roots.len() != 1 {
        nodes.push(Node::Branch(Connective::Or.into(), roots));
    }
    (Tree::from_nodes(nodes), errors)
}

/// Returns true for an order comparison on a string field, which compares the known values of the field by their rank.
fn is_ranked(field: &Field, operator: Operator) -> bool {
    field.field_type() == FieldType::String && operator.ray().is_some()
}

/// Returns the error for the order comparison at which the total number of known values exceeds [`MOST_RANKED`].
fn too_many_ranked(field: &Field, offset: usize) -> Error {
    Error::new(
        ErrorKind::TooManyValues,
        offset,
        format!(
            "a comparison with the {} known values of {}",
            field.known_values().len(),
            quote(field.name())
        ),
        format!("order comparisons with at most {MOST_RANKED} known values in all"),
    )
}

/// Returns the comparison that is equivalent to `ids`.
fn by_ids<'b>(catalog: &Catalog, ids: &'b [Text<'_>], errors: &mut Vec<Error>) -> Comparison<'b> {
    let id_type = catalog.id_type();
    let mut values = Values::with_capacity(ids.len());
    for text in ids {
        match canonical_id(id_type, &text.text) {
            Some(id) => values.push(Value::String(id).into()),
            None if is_dropped(errors, text.offset) => {}
            None => _ = push_error(errors, bad_id(catalog.field(FieldId::ID), text)),
        }
    }
    Comparison { field: FieldId::ID, operator: Operator::Contains, values }
}

/// Lowers a field criterion. Returns `None` if it has an error, which is then in `errors` or was reported by the parser.
fn comparison<'b>(
    catalog: &Catalog,
    reading: Reading,
    scope: Scope,
    (name, operator): (&Text<'_>, Option<(Operator, usize)>),
    texts: &'b [Text<'_>],
    errors: &mut Vec<Error>,
) -> Option<Comparison<'b>> {
    let language = reading.language;
    // The keys of a criterion may be in any order, so an error at an earlier offset may be found later.
    let mut report = |error| push_error(errors, error);
    let Some(id) = scope.field(&name.text, catalog, language) else {
        if let Some(error) = no_field(catalog, language, scope, name) {
            report(error);
        }
        return None;
    };
    let field = catalog.field(id);
    let mut valid = true;
    if let Some((operator, operator_offset)) = operator
        && !operator.applies_to(field, reading.grammar)
    {
        let class = ValueClass::of_field(field.field_type());
        let fitting = Operator::listed(language, Some((class, field.is_ranked(reading.grammar))));
        report(Error::new(
            ErrorKind::OperatorNotForType,
            operator_offset,
            format!(
                "{} on {}, {} field",
                quote(operator.spelled(language.syntax())),
                quote(field.name()),
                field.field_type().with_article()
            ),
            format!("one of {}", fitting.join(", ")),
        ));
        valid = false;
    }
    let mut values = Values::with_capacity(texts.len());
    for text in texts {
        let is_only = texts.len() == 1;
        let operator = operator.map(|(operator, _)| operator);
        match value(field, reading, operator, is_only, text)
            .map_err(|error| noted(*error, catalog, language, field, operator, text))
        {
            Ok(value) => values.push(value),
            Err(error) => {
                report(error);
                valid = false;
            }
        }
    }
    let (operator, _) = operator.filter(|_| valid && !values.is_empty())?;
    Some(Comparison { field: id, operator, values })
}
