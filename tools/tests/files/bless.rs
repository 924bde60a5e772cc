//! Writing the expectations of RUN lines that end with `%{exact}`.

use std::fmt::Write as _;

use crate::script::{EXACT, Script};

/// The prefix of the checks of a line, if these are written.
fn prefix(line: &str) -> Option<&str> {
    let (_, options) = line.rsplit_once(EXACT)?;
    Some(options.trim().strip_prefix("--check-prefix=").unwrap_or("CHECK"))
}

/// The text of a file with what its RUN lines print, in the place of what they printed before.
///
/// # Errors
/// If a line fails.
pub fn bless(script: &Script, text: &str) -> Result<String, String> {
    let mut checks = String::new();
    let mut prefixes = Vec::new();
    for line in &script.lines {
        let Some(prefix) = prefix(line) else { continue };
        let (command, _) = line.rsplit_once(EXACT).expect("the line has a prefix");
        let command = command.trim_end().trim_end_matches('|');
        checks += &format!("\n{}", expectations(prefix, &script.run(command)?));
        prefixes.push(format!("// {prefix}"));
    }
    if prefixes.is_empty() {
        return Ok(text.to_owned());
    }
    let is_check = |line: &&str| {
        let rest = prefixes.iter().find_map(|prefix| line.strip_prefix(prefix.as_str()));
        rest.is_some_and(|rest| rest.starts_with([':', '-', '{']))
    };
    let kept: Vec<&str> = text.lines().filter(|line| !is_check(line)).collect();
    Ok(format!("{}\n{checks}", kept.join("\n").trim_end()))
}

/// Lines of which FileCheck accepts an output and no other.
fn expectations(prefix: &str, output: &str) -> String {
    let nothing = format!("// {prefix}-NOT:{{{{.+}}}}\n");
    let mut text = nothing.clone();
    for (number, line) in output.trim_end().lines().enumerate() {
        let directive = match (number, line) {
            (0, _) => "",
            (_, "") => "-EMPTY",
            _ => "-NEXT",
        };
        let literal = if line.contains("[[") || line.contains("{{") { "{LITERAL}" } else { "" };
        let _ = writeln!(text, "// {prefix}{directive}{literal}:{line}");
    }
    text + &nothing
}
