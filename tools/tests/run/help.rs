//! `--help` teaches, and what it teaches is true.

use crate::PROMOTE_RUN;
use crate::support::Tool;

fn help(flag: &str) -> String {
    Tool::new().command(PROMOTE_RUN, "", [flag]).succeeded().text().to_owned()
}

#[test]
fn the_example_does_what_it_says() {
    let help = help("--help");
    let example = help.split("\nExample:\n").nth(1).expect("--help has an example");
    let lines: Vec<&str> = example.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let end = lines.iter().position(|line| *line == "END").expect("a here document");
    let run = Tool::new().shell(&lines[..=end].join("\n")).succeeded();
    assert!(example.contains(&run.text().replace('\n', "\n  ").trim_end().to_owned()), "{run}");
}

#[test]
fn command_lines_of_the_example_work() {
    let help = help("--help");
    let commands = help.lines().filter(|line| line.starts_with("  promote-run model.mlir"));
    let commands: Vec<&str> =
        commands.map(|line| line.split("    (").next().unwrap_or(line).trim()).collect();
    assert_eq!(commands.len(), 3);
    let program = r#"func.func @scale(%x: tensor<2xf32>, %k: tensor<!promote.weak_float>) -> tensor<2xf32> {
  %0 = "promote.multiply"(%x, %k) : (tensor<2xf32>, tensor<!promote.weak_float>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"#;
    for command in commands {
        let file = crate::npy("<f4", "(2,)", &crate::floats(&[1.0, 2.0]));
        let tool = Tool::new().with("model.mlir", program).with("x.npy", file);
        let run = tool.shell(command);
        assert_eq!(run.status, Some(0), "{command}: {run}");
    }
}

#[test]
fn short_help_is_short_and_leads_to_the_long_one() {
    let (short, long) = (help("-h"), help("--help"));
    assert!(short.contains("Try `promote-run --help`"));
    assert!(short.lines().count() < long.lines().count() / 2, "{short}");
    for flag in [
        "--entry",
        "--input",
        "--output-dir",
        "--semantics",
        "--x64",
        "--target",
        "--target-cpu",
        "--threads",
    ] {
        assert!(short.contains(flag), "{flag}");
    }
}
