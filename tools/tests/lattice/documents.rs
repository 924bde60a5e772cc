//! The tables of the design documents, cell by cell. What a library has changed since a document was written is noted.

use serde_json::Value;

use crate::support::run;

/// The tables as the documents have them: cells by rows.
fn documents() -> Value {
    serde_json::from_str(include_str!("data/documents.json")).expect("the file is JSON")
}

fn words(value: &Value) -> Vec<&str> {
    value.as_str().expect("rows are texts").split_whitespace().collect()
}

/// The cells that are not as printed: `(row, column, printed, ours)`.
fn differences(nodes: &[&str], rows: &Value, ours: &Value) -> Vec<[String; 4]> {
    let rows = rows.as_array().expect("rows are listed");
    assert_eq!(
        (rows.len(), ours.as_object().map(serde_json::Map::len)),
        (nodes.len(), Some(nodes.len().pow(2)))
    );
    let cells = nodes.iter().zip(rows).flat_map(|(row, printed)| {
        nodes.iter().zip(words(printed)).map(move |(column, printed)| (*row, *column, printed))
    });
    let cells = cells.map(|(row, column, printed)| {
        let result = ours[format!("{row},{column}")].as_str().expect("every cell is there");
        [row, column, printed, if result == "error" { "-" } else { result }].map(str::to_owned)
    });
    cells.filter(|[_, _, printed, ours]| printed != ours).collect()
}

/// Where our table of a key of JEP 9407's differs from the printed one.
fn jep9407(key: &str) -> Vec<[String; 4]> {
    let document = &documents()["jep9407"];
    let ours = run(&["table", "--like", "jep9407", "--format", "json"]).json();
    differences(&words(&document["nodes"]), &document["tables"][key], &ours[key])
}

#[test]
fn jep9407_of_jax_tensorflow_and_numpy() {
    for key in ["jax.numpy", "jax.lax", "tensorflow", "numpy"] {
        assert_eq!(jep9407(key), Vec::<[String; 4]>::new(), "{key}");
    }
}

/// The document's PyTorch had no half complex, and numbers of 64 bits by default for two Python scalars.
#[test]
fn jep9407_of_pytorch() {
    let changed = jep9407("torch");
    let changed: Vec<_> = changed.iter().map(|cell| cell.join(" ")).collect();
    assert_eq!(
        changed,
        [
            "bf16 c* c64 bc32",
            "f16 c* c64 c32",
            "f* f* f64 f32",
            "c* bf16 c64 bc32",
            "c* f16 c64 c32",
            "c* c* c128 c64"
        ]
    );
}

#[test]
fn jax_with_its_highlighted_cells() {
    let document = &documents()["jax"];
    let printed = run(&["table", "--like", "jax"]).succeeded();
    let mut lines = printed.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let nodes = words(&document["nodes"]);
    assert_eq!(lines.next().as_ref(), Some(&nodes));
    let rows: Vec<_> = lines.collect();
    let expected = document["rows"].as_array().expect("rows are listed");
    assert_eq!(rows.len(), expected.len());
    for ((name, row), expected) in nodes.iter().zip(&rows).zip(expected) {
        assert_eq!(row[0], *name);
        assert_eq!(row[1..], words(expected), "{name}");
    }
    let marked = run(&["table", "--like", "jax", "--format", "json"]).json();
    assert_eq!(marked["differs"].as_array().map(Vec::len), Some(95));
}

#[test]
fn array_api() {
    let document = documents();
    let tables = document["array-api"].as_object().expect("tables have names");
    let printed = run(&["table", "--like", "array-api"]).succeeded();
    let printed: Vec<_> = printed.split("\n\n").collect();
    assert_eq!(printed.len(), tables.len());
    let ours = run(&["table", "--like", "array-api", "--format", "json"]).json();
    for (name, table) in tables {
        let name = name.split(" (").next().unwrap_or(name);
        let ours = ours[name].as_object().unwrap_or_else(|| panic!("there is a table `{name}`"));
        let mut cells = 0;
        for row in table["rows"].as_array().expect("rows are listed") {
            let row = words(row);
            for (column, expected) in words(&table["columns"]).iter().zip(&row[1..]) {
                let key = format!("{},{column}", row[0].trim_end_matches(':'));
                assert_eq!(ours[&key], *expected, "{name} {key}");
                cells += 1;
            }
        }
        assert_eq!(ours.len(), cells, "{name}");
    }
}

#[test]
fn the_semantics_of_a_document_can_be_chosen() {
    let all = run(&["table", "--like", "jep9407", "--format", "json"]).json();
    let one = run(&["table", "--like", "jep9407", "-s", "jax-lax", "--x64", "--format", "json"]).json();
    assert_eq!(one, all["jax.lax"]);
}
