//! `promote-fuzz`: random and mutated programs through all of Promote, in child processes with limits.

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use promote_fuzz::supervisor::supervise;
use promote_fuzz::worker::{Mode, work};

const HELP: &str = "\
Usage: promote-fuzz MODE FROM..TO [--jobs N] [--findings DIR] [--accept SHARE]
       promote-fuzz --show MODE NUMBER | --check MODE NUMBER

MODE is programs (random functions with dynamic extents) or mutants (of random programs).
  --jobs N          processes at a time; as many as there are processors without it
  --findings DIR    writes each program with something wrong there
  --accept SHARE    fails if less is accepted, as 0.6, or a twentieth is accepted and compared with nothing
  --show, --check   prints the program of a number, or checks it in this process, without limits
Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.";

/// What to do.
struct Request {
    mode: Mode,
    numbers: Range<u64>,
    jobs: usize,
    findings: Option<PathBuf>,
    accept: f64,
}

fn range(text: &str) -> Option<Range<u64>> {
    match text.split_once("..") {
        Some((from, to)) => Some(from.parse().ok()?..to.parse().ok()?),
        None => text.parse().ok().map(|one| one..one + 1),
    }
}

fn request(arguments: &[String]) -> Option<Request> {
    let [mode, numbers, options @ ..] = arguments else { return None };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let (mode, numbers) = (Mode::by_name(mode)?, range(numbers)?);
    let mut request = Request { mode, numbers, jobs, findings: None, accept: 0.0 };
    for pair in options.chunks(2) {
        let [option, value] = pair else { return None };
        match option.as_str() {
            "--jobs" => request.jobs = value.parse().ok()?,
            "--findings" => request.findings = Some(value.into()),
            "--accept" => request.accept = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(request)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (first, rest) = arguments.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let parsed = match first {
        "--help" => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        "--worker" | "--show" | "--check" => request(rest),
        _ => request(&arguments),
    };
    let Some(request) = parsed else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    match first {
        "--worker" => on_big_stack(move || work(request.mode, request.numbers)),
        "--show" => println!("{}", shown(request.mode, request.numbers.start)),
        "--check" => {
            on_big_stack(move || {
                let case = request.mode.case(request.numbers.start);
                println!(
                    "{:?}",
                    promote_fuzz::Bench::new().check(&case).map_err(|finding| println!("{finding}"))
                );
            });
        }
        _ => return fuzz(&request),
    }
    ExitCode::SUCCESS
}

/// MLIR parses, verifies and prints recursively.
fn on_big_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(work).expect("a thread starts");
    if thread.join().is_err() {
        std::process::exit(1);
    }
}

fn shown(mode: Mode, number: u64) -> String {
    let case = mode.case(number);
    let x64 = if case.options.x64 { " --x64" } else { "" };
    let arguments = case.arguments.iter().map(|argument| format!("// {argument:?}\n"));
    let arguments: String = arguments.collect();
    format!("// --semantics {}{x64}\n{arguments}{}", case.options.semantics, case.text)
}

/// The most programs, of all, that may be accepted and compared with nothing.
const UNCOMPARED: f64 = 0.05;

fn fuzz(request: &Request) -> ExitCode {
    let Request { mode, numbers, .. } = request;
    let found = |number: u64, finding: &str| {
        eprintln!("{} {number}: {finding}\n", mode.name());
        if let Some(folder) = &request.findings {
            let comment: String = finding.lines().map(|line| format!("// {line}\n")).collect();
            let file = folder.join(format!("{}-{number}.mlir", mode.name()));
            if let Err(error) = std::fs::write(&file, comment + &shown(*mode, number)) {
                eprintln!("{}: {error}", file.display());
            }
        }
    };
    let report = match supervise(*mode, numbers, request.jobs, &found) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let accepted = report.acceptance();
    println!(
        "{} {numbers:?}: {:?}, {:.1} % accepted, {} wrong",
        mode.name(),
        report.endings,
        accepted * 100.0,
        report.findings.len()
    );
    let is_compared = request.accept == 0.0 || report.uncompared() <= UNCOMPARED;
    match report.findings.is_empty() && accepted >= request.accept && is_compared {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
