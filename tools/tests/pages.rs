//! The pages: links lead somewhere, the tables have what there is, and commands do what they say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use promote_lattice::op::OpInfo;
use promote_lattice::{Op, Semantics};
use regex::Regex;

/// The most lines of the README: two screens.
const README_LINES: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the workspace").to_owned()
}

/// The text of a page.
fn page(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files of the workspace, by their paths in it.
fn pages() -> Vec<PathBuf> {
    fn collect(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder can be listed") {
            let path = entry.expect("the entry can be read").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                collect(root, &path, found);
            } else if name.ends_with(".md") {
                found.push(path.strip_prefix(root).expect("it is below the root").to_owned());
            }
        }
    }
    let mut found = Vec::new();
    collect(&root(), &root(), &mut found);
    found.sort();
    found
}

/// The lines of a page with the language of the code block that each is in, if it is in one.
fn lines(text: &str) -> Vec<(Option<&str>, &str)> {
    let mut language = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("```"), language) {
            (Some(_), Some(_)) => language = None,
            (Some(opened), None) => language = Some(opened),
            (None, _) => lines.push((language, line)),
        }
    }
    lines
}

/// The prose of a page: what is not in a code block.
fn prose(text: &str) -> String {
    let outside = lines(text).into_iter().filter(|(language, _)| language.is_none());
    outside.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// What headings of a page are linked by, as GitHub makes it.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let kept = |char: &char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_');
    let titles = headings.map(|heading| heading.trim_start_matches('#').trim().to_lowercase());
    titles.map(|title| title.chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

/// The relative links of a page: a path, which is empty for the page itself, and an anchor.
fn links(text: &str) -> Vec<(String, Option<String>)> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("the expression is valid");
    let prose = prose(text);
    let targets = link.captures_iter(&prose).map(|found| found[1].to_owned());
    let relative = targets.filter(|target| !target.contains("://"));
    relative
        .map(|target| match target.split_once('#') {
            Some((path, anchor)) => (path.to_owned(), Some(anchor.to_owned())),
            None => (target, None),
        })
        .collect()
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for source in pages() {
        let text = page(&source);
        let folder = source.parent().expect("a file is in a folder");
        for (path, anchor) in links(&text) {
            count += 1;
            let target = if path.is_empty() { source.clone() } else { folder.join(&path) };
            let has_anchor = |anchor: &String| anchors(&page(&target)).contains(anchor);
            if !root().join(&target).exists() || anchor.as_ref().is_some_and(|anchor| !has_anchor(anchor)) {
                wrong.push(format!("{}: {path}#{}", source.display(), anchor.unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(count > 50, "only {count} links were found");
}

#[test]
fn every_page_of_the_book_is_in_its_contents() {
    let contents: BTreeSet<_> = links(&page("docs/README.md")).into_iter().map(|(path, _)| path).collect();
    for path in pages().iter().filter(|path| path.starts_with("docs") && !path.ends_with("README.md")) {
        let name = path.file_name().expect("a page has a name").to_string_lossy();
        assert!(contents.contains(&*name), "docs/README.md does not link to {name}");
    }
}

#[test]
fn the_readme_is_short() {
    let count = page("README.md").lines().count();
    assert!(count <= README_LINES, "README.md has {count} lines: move what is not for newcomers to docs/");
}

/// The words in backticks of a page.
fn in_backticks(text: &str) -> BTreeSet<String> {
    let quoted = Regex::new(r"`([^`]+)`").expect("the expression is valid");
    let word = Regex::new(r"[a-z][a-z0-9_-]*").expect("the expression is valid");
    let prose = prose(text);
    let spans = quoted.captures_iter(&prose).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    spans.iter().flat_map(|span| word.find_iter(span).map(|found| found.as_str().to_owned())).collect()
}

#[test]
fn the_page_on_the_dialect_names_every_op() {
    let named = in_backticks(&page("docs/dialect.md"));
    let missing: Vec<_> =
        Op::ALL.iter().map(|op| op.info().name).filter(|name| !named.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/dialect.md does not name {missing:?}");
}

/// The page of ops as the table of ops makes it.
fn ops_page() -> String {
    let mut text = String::from(
        "# Ops\n\nEvery op of the dialect, as the op table in [`lattice/src/op.rs`](../lattice/src/op.rs) has it; \
         [The promote dialect](dialect.md#ops) says\nhow they are written. Names are those of the Array API standard; in \
         brackets is the one that promotion tables of NumPy\nand JAX use. Attributes with a question mark may be left out. \
         An op's class is what the [semantics](semantics.md) have rules for.\n\nThis page is made from the table: \
         `PROMOTE_BLESS=1 cargo test -p promote-tools --test pages` writes it anew.\n\n\
         | op | operands | attributes | class | computes |\n|---|--:|---|---|---|\n",
    );
    for op in Op::ALL {
        let OpInfo { name, description, class, alias, arity, attrs, .. } = op.info();
        let alias = alias.map(|alias| format!(" [`{alias}`]")).unwrap_or_default();
        let operands = match arity.optional {
            0 => arity.required.to_string(),
            more => format!("{} to {}", arity.required, arity.required + more),
        };
        let attrs =
            attrs.iter().map(|attr| format!("`{}`{}", attr.name, if attr.required { "" } else { "?" }));
        let attrs = attrs.collect::<Vec<_>>().join(" ");
        let description = description.replace('|', "\\|");
        text.push_str(&format!(
            "| `{name}`{alias} | {operands} | {attrs} | {class} | {description} |\n",
            class = class.name()
        ));
    }
    text
}

#[test]
fn the_page_of_ops_is_current() {
    let made = ops_page();
    if std::env::var_os("PROMOTE_BLESS").is_some() {
        fs::write(root().join("docs/ops.md"), &made).expect("the page can be written");
    }
    assert!(page("docs/ops.md") == made, "docs/ops.md is stale: run the tests with PROMOTE_BLESS=1");
}

#[test]
fn the_page_on_semantics_names_each() {
    let named = in_backticks(&page("docs/semantics.md"));
    // The options of JEP 9407 have one row.
    let family = |name: &str| name.trim_end_matches(|char: char| char.is_ascii_digit()).to_owned();
    let families: BTreeSet<_> = named.iter().map(|name| family(name)).collect();
    let missing: Vec<_> = Semantics::names().filter(|name| !families.contains(&family(name))).collect();
    assert!(missing.is_empty(), "docs/semantics.md does not name {missing:?}");
}

#[cfg(feature = "mlir")]
mod commands {
    use std::env;
    use std::process::{Command, Output};

    use super::*;

    /// Runs a command line in a folder that has the examples and the dialect, with the tools on the path.
    fn run(folder: &Path, line: &str) -> Output {
        let tools = Path::new(env!("CARGO_BIN_EXE_promote-opt")).parent().expect("a tool is in a folder");
        let given = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([tools.to_owned()].into_iter().chain(env::split_paths(&given)))
            .expect("the folder of the tools has no colon");
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("PATH", path).current_dir(folder);
        command.output().expect("there is a shell")
    }

    fn workspace() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        for name in ["examples", "dialect"] {
            std::os::unix::fs::symlink(root().join(name), folder.path().join(name))
                .expect("a link can be made");
        }
        folder
    }

    /// The command lines of a page that run a tool on an example: those in blocks of shell, and in cells of tables.
    fn on_examples(text: &str) -> Vec<String> {
        let shell = lines(text).into_iter().filter(|(language, _)| *language == Some("sh"));
        let mut found: Vec<String> = Vec::new();
        let mut continued = false;
        for (_, line) in shell {
            let line = line.trim();
            match found.last_mut() {
                Some(last) if continued => last.push_str(&format!(" {}", line.trim_end_matches('\\'))),
                _ => found.push(line.trim_end_matches('\\').to_owned()),
            }
            continued = line.ends_with('\\');
        }
        let quoted = Regex::new(r"`(promote-[^`]+)`").expect("the expression is valid");
        let tables = prose(text).lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>().join("\n");
        found.extend(quoted.captures_iter(&tables).map(|found| found[1].to_owned()));
        let is_tool = |line: &String| line.starts_with("promote-") || line.starts_with("mlir-opt-22");
        found.retain(|line| {
            is_tool(line) && line.contains("examples/") || line.starts_with("promote-lattice ")
        });
        found
    }

    #[test]
    fn every_command_on_an_example_succeeds() {
        let folder = workspace();
        std::fs::copy(root().join("examples/lattices/no-f64.toml"), folder.path().join("my.toml"))
            .expect("the example can be copied");
        let mut count = 0;
        for source in pages().iter().filter(|path| path.components().count() == 1 || path.starts_with("docs"))
        {
            for line in on_examples(&page(source)) {
                let Output { status, stderr, .. } = run(folder.path(), &line);
                let stderr = String::from_utf8_lossy(&stderr);
                assert!(status.success(), "{}: {line}\n{stderr}", source.display());
                count += 1;
            }
        }
        assert!(count >= 20, "only {count} commands were found");
    }

    #[test]
    fn every_error_code_that_a_page_names_is_explained() {
        let code = Regex::new(r"\bP00[0-9]{2}\b").expect("the expression is valid");
        let texts: Vec<_> = pages().iter().map(page).collect();
        let codes: BTreeSet<_> =
            texts.iter().flat_map(|text| code.find_iter(text)).map(|one| one.as_str()).collect();
        assert!(codes.len() > 10, "only {codes:?} were found");
        for code in codes {
            let explained = run(&root(), &format!("promote-opt --explain {code}"));
            assert!(explained.status.success(), "{code} is no error code");
        }
    }
}
