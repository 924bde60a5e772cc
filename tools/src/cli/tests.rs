//! What command lines mean, and what the help says.

use clap::ColorChoice;
use clap::error::ErrorKind;
use insta::assert_snapshot;

use super::*;
use crate::flags::colored;
use crate::render::Format;

fn parse(args: &[&str]) -> Result<Args, clap::Error> {
    Args::from_command_line([TOOL].iter().chain(args).map(OsString::from))
}

fn parsed(args: &[&str]) -> Args {
    parse(args).unwrap_or_else(|error| panic!("{error}"))
}

fn doubled(args: &[&str]) -> Vec<String> {
    let args = double_dashes(Args::command(), args.iter().map(OsString::from));
    args.into_iter().map(|arg| arg.into_string().unwrap()).collect()
}

#[test]
fn the_command_is_well_formed() {
    Args::command().debug_assert();
}

#[test]
fn help_is_short_and_long() {
    // The width of the terminal must not matter.
    let mut command = Args::command().term_width(110);
    assert_snapshot!("help_short", command.render_help());
    assert_snapshot!("help_long", command.render_long_help());
}

#[test]
fn everything_has_a_default() {
    let args = parsed(&[]);
    assert_eq!((args.input.to_str(), args.output.as_deref()), (Some("-"), None));
    assert_eq!((args.promotion.rules.semantics.as_str(), args.promotion.rules.x64), ("jax", false));
    assert_eq!((args.emit(), args.request()), (Emit::Mlir, Request::Compile));
    assert_eq!((args.testing.verify_each, args.testing.verify_diagnostics), (false, None));
    assert_eq!((args.diagnostics.format, args.diagnostics.color), (Format::Text, ColorChoice::Auto));
}

#[test]
fn one_dash_is_enough_for_long_flags() {
    let flags = ["-split-input-file", "-pass-pipeline=builtin.module(cse)", "-x64", "-help", "-output=a"];
    assert_eq!(doubled(&flags), flags.map(|flag| format!("-{flag}")));
    let others = ["-o", "-oout.mlir", "-h", "-V", "-", "", "-nonsense", "--x64", "a-x64", "-=", "--", "-x64"];
    assert_eq!(doubled(&others), others);
}

#[test]
fn mlir_opts_command_lines_are_understood() {
    let args = parsed(&["-", "-o", "-", "-pass-pipeline", "builtin.module(cse)", "-mlir-print-ir-after=a,b"]);
    assert_eq!(args.promotion.pass_pipeline.as_deref(), Some("builtin.module(cse)"));
    assert_eq!(args.printing.after, ["a", "b"]);
    let args = parsed(&["-verify-diagnostics", "-split-input-file", "a.mlir", "-allow-unregistered-dialect"]);
    assert_eq!(args.testing.split_input_file.as_deref(), Some("// -----"));
    assert_eq!(args.testing.verify_diagnostics, Some(expect::Mode::All));
    assert_eq!(args.input.to_str(), Some("a.mlir"));
    let only = parsed(&["--verify-diagnostics=only-expected", "--split-input-file=//%%"]).testing;
    assert_eq!(only.verify_diagnostics, Some(expect::Mode::OnlyExpected));
    assert_eq!(only.split_input_file.as_deref(), Some("//%%"));
}

#[test]
fn verify_each_takes_a_bool_or_none() {
    for (flag, value) in [("--verify-each", true), ("-verify-each=0", false), ("--verify-each=true", true)] {
        assert_eq!(parsed(&[flag]).testing.verify_each, value, "{flag}");
    }
    assert_eq!(parsed(&["--verify-each", "a.mlir"]).input.to_str(), Some("a.mlir"));
}

#[test]
fn bytecode_has_two_spellings() {
    assert_eq!(parsed(&["--emit-bytecode"]).emit(), Emit::Bytecode);
    assert_eq!(parsed(&["--emit=bytecode"]).emit(), Emit::Bytecode);
    assert_eq!(parse(&["--emit=mlir", "--emit-bytecode"]).unwrap_err().kind(), ErrorKind::ArgumentConflict);
}

#[test]
fn requests_are_recognised() {
    assert_eq!(parsed(&["--explain", "P0007"]).request(), Request::Explain(Code::NoCommonDtype));
    assert_eq!(parsed(&["-explain=p0007"]).request(), Request::Explain(Code::NoCommonDtype));
    assert_eq!(parsed(&["--list-passes"]).request(), Request::ListPasses);
    assert_eq!(parsed(&["--show-dialects"]).request(), Request::ShowDialects);
    assert_eq!(parsed(&["--completions", "fish"]).request(), Request::Completions(Shell::Fish));
}

#[test]
fn wrong_usage_exits_with_2() {
    let wrong: &[&[&str]] = &[
        &["--nope"],
        &["-nope"],
        &["a", "b"],
        &["--emit=wasm"],
        &["--explain=P9999"],
        &["--verify-each=perhaps"],
        &["--color=red"],
        &["--split-input-file="],
        &["-o"],
    ];
    for args in wrong {
        assert_eq!(parse(args).unwrap_err().exit_code(), 2, "{args:?}");
    }
    for args in [["--help"], ["-h"], ["-V"], ["-version"]] {
        assert_eq!(parse(&args).unwrap_err().exit_code(), 0, "{args:?}");
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in Shell::value_variants() {
        let mut script = Vec::new();
        completions(*shell, &mut script);
        assert!(String::from_utf8(script).unwrap().contains("split-input-file"), "{shell}");
    }
}

#[test]
fn colours_are_a_choice() {
    assert!(colored(ColorChoice::Always, &Vec::new()));
    assert!(!colored(ColorChoice::Never, &std::io::stderr()));
    assert!(!colored(ColorChoice::Auto, &Vec::new()));
}
