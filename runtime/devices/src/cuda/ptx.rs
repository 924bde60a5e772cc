//! What the driver must know of a PTX module before it launches from it: entries, and how many parameters they have.
//!
//! CUDA reads as many arguments as a kernel has parameters, each of its size: a launch with others must not reach it.

/// An entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// How many parameters it has; `None` if one is not of 64 bits.
    pub(super) parameters: Option<usize>,
}

/// The entries of a module.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let text = without_comments(text);
    text.split(".entry").skip(1).filter_map(entry).collect()
}

/// Reads what follows `.entry`: the name, and perhaps parameters in parentheses.
fn entry(text: &str) -> Option<Entry> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_$%".contains(c)))?;
    let (name, rest) = text.split_at(end);
    let parameters = match rest.trim_start().strip_prefix('(') {
        None => Some(0),
        Some(rest) => parameters(rest.split_once(')')?.0),
    };
    Some(Entry { name: name.to_owned(), parameters })
}

fn parameters(list: &str) -> Option<usize> {
    let mut count = 0;
    for parameter in list.split(',').map(str::trim).filter(|parameter| !parameter.is_empty()) {
        let is_word =
            parameter.split_whitespace().any(|token| matches!(token, ".b64" | ".u64" | ".s64" | ".f64"));
        if !is_word || parameter.contains('[') {
            return None;
        }
        count += 1;
    }
    Some(count)
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        kept.push_str(&rest[..start]);
        let end = if rest[start..].starts_with("//") { "\n" } else { "*/" };
        rest = rest[start + 2..].split_once(end).map_or("", |(_, rest)| rest);
        kept.push('\n');
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Vec<(String, Option<usize>)> {
        entries(text).into_iter().map(|entry| (entry.name, entry.parameters)).collect()
    }

    #[test]
    fn parameters_of_entries_are_counted() {
        let text = "
            .version 8.0
            .target sm_80 // .entry none(
            .address_size 64
            .func helper(.param .b32 a) { ret; }
            /* .entry none() */
            .visible .entry add(
                .param .u64 .ptr .global .align 16 add_param_0, // the first
                .param .b64 add_param_1
            )
            .maxntid 256, 1, 1
            { ret; }
            .entry nothing { ret; }
            .entry $empty$() { ret; }
            .visible .entry narrow(.param .u32 n) { ret; }
            .visible .entry aggregate(.param .align 8 .b64 n[4]) { ret; }";
        let names = ["add", "nothing", "$empty$", "narrow", "aggregate"].map(str::to_owned);
        let found = [Some(2), Some(0), Some(0), None, None];
        assert_eq!(counts(text), names.into_iter().zip(found).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_module_has_no_entries() {
        for text in ["", ".entry", ".entry a(", "/* .entry a()", "// .entry a()", "x /"] {
            assert_eq!(counts(text), []);
        }
    }
}
