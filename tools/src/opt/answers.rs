//! Requests that read no input.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use promote::Semantics;
use promote::passes::Kind as PassKind;

use super::{check_linked, session_options};
use crate::cli::{self, Args, Request};
use crate::output::{Kind, Output, print};
use crate::render::TOOL;
use crate::report::{Reporter, Stop};
use crate::{compiler, op_rules};

/// Answers a request that reads no input.
pub(super) fn inform(args: &Args, request: Request) -> ExitCode {
    let answered = answer(args, request).and_then(|answer| match request {
        Request::Runtime => {
            let mut output = Output::create(args.output.as_deref(), Kind::Binary)?;
            // The error is kept, and reported by commit.
            let _ = output.write_all(&answer);
            Ok(output.commit()?)
        }
        Request::Explain(_)
        | Request::Completions(_)
        | Request::ListPasses
        | Request::ListOpRules
        | Request::ShowDialects
        | Request::Processors
        | Request::Compile => Ok(print(&answer)?),
    });
    Reporter::new(TOOL, &args.diagnostics).finish(answered)
}

/// The answer to a request that reads no input.
fn answer(args: &Args, request: Request) -> Result<Vec<u8>, Stop> {
    Ok(match request {
        Request::Explain(code) => {
            format!("{code}: {}\n\n{}\n", code.title(), code.explanation()).into_bytes()
        }
        Request::Completions(shell) => {
            let mut script = Vec::new();
            cli::completions(shell, &mut script);
            script
        }
        Request::ListPasses => {
            let passes = PassKind::all();
            let lines = passes.map(|kind| format!("{:<26}{}\n", kind.name(), kind.description()));
            lines.collect::<String>().into_bytes()
        }
        Request::ListOpRules => op_rules::list().into_bytes(),
        Request::ShowDialects => {
            let options = session_options(args, Arc::new(default_semantics()), Arc::default());
            let session = compiler::session(&options)?;
            format!("Available Dialects: {}\n", session.dialects().join(",")).into_bytes()
        }
        Request::Processors => compiler::target_help(args.promotion.triple())?.into_bytes(),
        Request::Runtime => {
            let target = compiler::target(args.promotion.triple(), &args.promotion.processor)?;
            check_linked(args, &target).map_err(Stop::misused)?;
            promote::RUNTIME_OBJECT.to_vec()
        }
        Request::Compile => Vec::new(),
    })
}

fn default_semantics() -> Semantics {
    Semantics::by_name("jax", false).unwrap_or_else(|error| unreachable!("{error}"))
}
