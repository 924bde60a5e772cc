//! The page of the docs on op rules shows what they do.

use promote::op_rules::OpRules;

use super::{accepted, session_with};

#[test]
fn the_example_of_the_page_does_what_it_says() {
    let page = include_str!("../../../docs/op_rules.md");
    let (_, page) = page.split_once("## An example").expect("the page has an example");
    let mut blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let mut next = |expected: &str| {
        let (kind, code) = blocks.next().expect("the example has three blocks");
        assert_eq!(kind, expected);
        code
    };
    let (rules, source, made) = (next("toml"), next("mlir"), next("mlir"));
    let rules = OpRules::from_toml(rules, "page").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(accepted(&session_with("jax", vec![rules]), source).trim(), made.trim());
}
