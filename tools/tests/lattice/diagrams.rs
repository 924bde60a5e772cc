//! `show`, `dot` and `svg`: orders described and drawn.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use crate::support::{run, systems, transcript};

#[test]
fn described() {
    assert_snapshot!(transcript(&[
        &["show"],
        &["show", "-s", "numpy2"],
        &["show", "-s", "python", "--format", "json"],
        &["show", "-s", "python", "--format", "csv"],
    ]));
}

#[test]
fn in_graphviz_language() {
    assert_snapshot!(run(&["dot", "-s", "python"]).succeeded());
}

#[test]
fn drawn() {
    assert_snapshot!(run(&["svg", "-s", "python"]).succeeded());
}

/// The number after `name="` in an element.
fn number(element: &str, name: &str) -> f64 {
    let rest = element.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{name}: {element}")).1;
    rest.split('"').next().and_then(|number| number.parse().ok()).expect("it is a number")
}

/// The boxes of a diagram: names, and left, upper, right and lower edges.
fn boxes(svg: &str) -> Vec<(String, [f64; 4])> {
    let nodes = svg.split("data-node=\"").skip(1);
    let node = |text: &str| {
        let (name, rest) = text.split_once('"').expect("an attribute ends");
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|attribute| number(rest, attribute));
        (name.to_owned(), [x, y, x + width, y + height])
    };
    nodes.map(node).collect()
}

#[test]
fn diagrams_have_every_dtype_once_and_boxes_do_not_overlap() {
    for system in systems() {
        for nodes in ["core", "all"] {
            let svg = run(&["svg", "-s", &system, "--nodes", nodes]).succeeded();
            let boxes = boxes(&svg);
            let names: BTreeSet<_> = boxes.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), boxes.len(), "{system}");
            for (i, (a, one)) in boxes.iter().enumerate() {
                assert!(one[0] >= 0.0 && one[2] <= number(&svg, "width") && one[1] >= 0.0, "{system} {a}");
                for (b, other) in &boxes[i + 1..] {
                    let apart =
                        one[2] < other[0] || other[2] < one[0] || one[3] < other[1] || other[3] < one[1];
                    assert!(apart, "{system}: {a} and {b} overlap");
                }
            }
        }
    }
}

#[test]
fn what_is_above_stands_above() {
    for system in systems() {
        let svg = run(&["svg", "-s", &system]).succeeded();
        let boxes = boxes(&svg);
        let place = |name: &str| boxes.iter().find(|(other, _)| other == name).expect("an edge has ends").1;
        let edges = svg.split("data-edges=\"").skip(1).filter_map(|text| text.split('"').next());
        for edge in edges.flat_map(|edges| edges.split(' ')) {
            let (below, above) = edge.split_once("&gt;").expect("an edge has two ends");
            assert!(place(above)[3] < place(below)[1], "{system}: {above} stands above {below}");
        }
    }
}

#[test]
fn diagrams_are_accessible_and_fit_dark_pages() {
    let svg = run(&["svg"]).succeeded();
    for part in [
        "xmlns=\"http://www.w3.org/2000/svg\"",
        "role=\"img\"",
        "<title>Promotion lattice of jax</title>",
        "<desc>Immediate promotions: b1 to i*; u8 to ",
        "prefers-color-scheme: dark",
        ">is promoted to</text>",
    ] {
        assert!(svg.contains(part), "{part}");
    }
}
