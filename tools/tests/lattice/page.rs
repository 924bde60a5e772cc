//! `html`: one page that needs nothing else.

use serde_json::Value;

use crate::support::{page_data, run, systems};

fn page() -> String {
    run(&["html", "-s", "jax:x64"]).succeeded()
}

#[test]
fn the_page_is_self_contained() {
    let page = page();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for outside in ["http:", "https:", "src=", "url(", "@import", "{{"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
}

#[test]
fn it_has_the_tables_and_diagrams_of_all_semantics() {
    let data = page_data(&page());
    assert_eq!(data["first"], "jax:x64");
    let described = data["systems"].as_array().expect("systems are listed");
    let labels: Vec<_> =
        described.iter().map(|system| system["label"].as_str().unwrap_or_default()).collect();
    assert!(labels.iter().all(|label| systems().iter().any(|system| system == label)), "{labels:?}");
    assert!(
        labels.contains(&"jax") && labels.contains(&"numpy2") && !labels.contains(&"numpy2:x64"),
        "{labels:?}"
    );
    for system in described {
        let label = system["label"].as_str().expect("it is a text");
        let cells = run(&["table", "-s", label, "--format", "json"]).json();
        let nodes = system["nodes"].as_array().expect("nodes are listed");
        for (row, results) in nodes.iter().zip(system["table"].as_array().expect("a table has rows")) {
            for (column, result) in nodes.iter().zip(results.as_array().expect("a row has cells")) {
                let name = |node: &Value| node["name"].as_str().map(str::to_owned).expect("it is a text");
                let expected = &cells[format!("{},{}", name(row), name(column))];
                assert_eq!(result.as_str().unwrap_or("error"), expected, "{label} {row} {column}");
            }
        }
        assert!(system["all"].as_str().is_some_and(|svg| svg.starts_with("<svg ")), "{label}");
    }
    assert_eq!(data["losses"]["i64>bf16"], "can lose precision: i64 needs 63 bits, bf16 keeps 8");
}

#[test]
fn without_a_program_it_shows_the_first_table() {
    let page = page();
    let fixed = page.split_once("<div id=\"static\">").expect("a part is fixed").1;
    let fixed = fixed.split_once("<script").expect("it ends").0;
    assert_eq!(fixed.matches("<tr>").count(), 19);
    assert_eq!(fixed.matches("<td>").count(), 18 * 18 + 1);
    assert!(fixed.contains("<svg ") && fixed.contains("jax:x64"));
}
