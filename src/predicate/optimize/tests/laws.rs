//! Laws of the normal form, on random trees over few values, so that the rules apply often.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::bodies::*;
use crate::catalog::{Catalog, Field};
use crate::criteria;
use crate::filter::Filter;
use crate::limits::Limits;
use crate::operator::{Connective, Grammar};
use crate::predicate::lower;
use crate::predicate::optimize::{joined, normalize};
use crate::predicate::tree::{Leaf, Node, Test, Tree};

/// Returns the first node that violates an invariant of tests or of normal forms.
fn misfit<'t>(tree: &'t Tree<Leaf>, catalog: &Catalog) -> Option<&'t Node<Leaf>> {
    tree.nodes().iter().enumerate().find_map(|(id, node)| {
        let fits = match node {
            Node::Constant(_) => tree.nodes().len() == 1,
            Node::Leaf(Leaf { field, test }) => match test {
                Test::Any(set) | Test::None(set) => !set.is_empty(),
                Test::All(set) | Test::NotAll(set) => {
                    set.len() >= 2 && set.are_points() && catalog.field(*field).is_many()
                }
                Test::Elem(elements) | Test::NoElem(elements) => {
                    let is_true = elements.tree.nodes() == [Node::Constant(true)];
                    let is_below = |leaf: &Leaf| catalog.is_below(leaf.field, elements.array);
                    let mut leaves = elements.tree.nodes().iter().filter_map(|node| match node {
                        Node::Leaf(leaf) => Some(leaf),
                        _ => None,
                    });
                    *field == elements.array.field
                        && leaves.all(is_below)
                        && (is_true || misfit(&elements.tree, catalog).is_none())
                        && elements.tree.nodes() != [Node::Constant(false)]
                }
            },
            Node::Branch(connective, children) => {
                let mixed = children.iter().all(
                    |child| !matches!(tree.get(*child), Some(Node::Branch(inner, _)) if inner == connective),
                );
                children.len() >= 2 && children.is_sorted_by(|a, b| a < b) && mixed && id > 0
            }
        };
        (!fits).then_some(node)
    })
}

fn compile(catalog: &Catalog, body: &Body) -> Filter {
    Filter::compile(catalog, body.json().as_bytes()).unwrap()
}

/// Returns two normal forms of a body: from `compile`, and from the criteria as written. Each is `None` if the body has errors.
fn both_ways(catalog: &Catalog, json: &str) -> (Option<Tree<Leaf>>, Option<Tree<Leaf>>) {
    let limits = Limits::default();
    let compiled =
        criteria::read(json, Grammar::Extended, &limits).and_then(|body| lower::compile(&body, catalog));
    let (body, errors) = criteria::parse_strictly(json, Grammar::Extended, &limits, criteria::NO_FIELDS);
    let (written, more) = lower::lower(&body, catalog);
    let as_written = (errors.is_empty() && more.is_empty()).then(|| {
        let unoptimized = normalize(&written, catalog);
        joined(Connective::And.into(), std::iter::once(&unoptimized), catalog)
    });
    (compiled, as_written)
}

proptest! {
    #[test]
    fn the_normal_form_selects_what_the_criteria_say(
        (hide_id, body) in case(),
        documents in proptest::collection::vec(document(), 1..12),
    ) {
        let filter = compile(&catalog(hide_id), &body);
        let unoptimized = filter.unoptimized();
        for document in documents {
            let expected = body.holds(&document);
            let json = document.json();
            prop_assert_eq!(unoptimized.matches(json.as_bytes()), Ok(expected), "as written: {}", &json);
            prop_assert_eq!(filter.matches(json.as_bytes()), Ok(expected), "{} on {}", &filter, &json);
        }
    }

    #[test]
    fn the_normal_form_of_a_body_is_that_of_its_criteria_as_written((hide_id, body) in case()) {
        let (catalog, json) = (catalog(hide_id), body.json());
        let (compiled, as_written) = both_ways(&catalog, &json);
        prop_assert!(compiled.is_some(), "{}", &json);
        prop_assert_eq!(compiled, as_written, "{}", &json);
    }

    #[test]
    fn text_and_json_say_the_same((hide_id, body) in case()) {
        let catalog = catalog(hide_id);
        let filter = compile(&catalog, &body);
        prop_assert_eq!(filter.predicate().validate(), Ok(()));
        prop_assert_eq!(misfit(filter.predicate(), &catalog), None, "{}", &filter);
        prop_assert_eq!(filter.written().validate(), Ok(()));
        if let Some(text) = body.text() {
            prop_assert_eq!(&Filter::compile_text(&catalog, &text).unwrap(), &filter, "{}", text);
        }
        let json = filter.to_json();
        let again = Filter::compile(&catalog, json.as_bytes()).unwrap();
        prop_assert_eq!(&again, &filter, "{}", &json);
        prop_assert_eq!(again.to_json(), json);
        let text = filter.to_text();
        let again = Filter::compile_text(&catalog, &text).unwrap();
        prop_assert_eq!(&again, &filter, "{}", &text);
        prop_assert_eq!(again.to_text(), text);
    }

    #[test]
    fn the_normal_form_is_hardly_larger((hide_id, body) in case()) {
        let filter = compile(&catalog(hide_id), &body);
        let before = Shape::of(body.criteria.as_deref().unwrap_or_default());
        let nodes = before.criteria + 2 + usize::from(body.ids.is_some());
        prop_assert!(filter.size() <= nodes, "{} nodes from {nodes}: {}", filter.size(), filter);
        let json: Json = serde_json::from_str(&filter.to_json()).unwrap();
        let after = json.get("criteria").map(Shape::of_json_list).unwrap_or_default();
        let ids = body.ids.as_ref().map_or(0, Vec::len);
        prop_assert!(after.depth <= before.depth + 3, "depth {} from {}: {}", after.depth, before.depth, filter);
        prop_assert!(after.values <= before.values + ids + 2, "{after:?} from {before:?}: {filter}");
        prop_assert!(after.criteria <= 2 * before.criteria + 2, "{after:?} from {before:?}: {filter}");
    }

    #[test]
    fn order_and_repetition_make_no_difference((hide_id, body) in case()) {
        let catalog = catalog(hide_id);
        let (filter, doubled) = (compile(&catalog, &body), compile(&catalog, &body.doubled()));
        prop_assert_eq!(filter, doubled);
    }
}

#[test]
fn a_body_compiles_exactly_if_lowering_finds_no_error() {
    let texts = [
        "",
        "a",
        "0",
        "-0",
        "1.5",
        "1e3",
        "1e999",
        "+1",
        "01",
        " 1",
        "true",
        "false",
        "True",
        "true ",
        "1700000000000",
        "2024-02-29 00:00:00",
        "2023-02-29 00:00:00",
        "2024-02-29T00:00:00",
        "2024-02-29 00:00:00+05:30",
        "NaN",
    ];
    for (_, path, kind) in FIELDS {
        let catalog = Catalog::new([Field::new(path, kind)]).unwrap();
        for operator in ["=", "<>", ">", "<=", "$contains", "$all", "$exists", "$startsWith", "$match"] {
            for text in texts {
                for values in [vec![text], vec![texts[1], text], vec![text, text]] {
                    let field = path.replace("[]", "");
                    let body =
                        json!({"criteria": [{"field": field, "op": operator, "values": values}]}).to_string();
                    let (compiled, as_written) = both_ways(&catalog, &body);
                    assert_eq!(compiled, as_written, "{body} on {kind}");
                }
            }
        }
    }
}
