//! Child processes that check programs, and what becomes of them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::Range;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::check::Ending;
use crate::worker::Mode;

/// How many programs a process checks before another one takes over: what MLIR has made unique stays in its memory.
const SHARE: u64 = 100;

/// A process that says nothing for so long waits for itself: one that computes is ended by its limit of processor time,
/// unless the machine is so busy that it hardly gets any.
const PATIENCE: Duration = Duration::from_secs(600);

/// What came of all programs.
#[derive(Debug, Default)]
pub struct Report {
    /// How many ended how.
    pub endings: BTreeMap<String, u64>,
    /// The number of each program with something wrong, and what.
    pub findings: BTreeMap<u64, String>,
}

impl Report {
    /// How many were checked.
    pub fn programs(&self) -> u64 {
        self.endings.values().sum::<u64>() + self.findings.len() as u64
    }

    /// The share of programs that are not refused.
    pub fn acceptance(&self) -> f64 {
        1.0 - self.share(&[Ending::Refused])
    }

    /// The share of programs whose results are compared with nothing, though they are accepted.
    pub fn uncompared(&self) -> f64 {
        self.share(&[Ending::NotLowered, Ending::NotCompared])
    }

    fn share(&self, endings: &[Ending]) -> f64 {
        let count = |ending| self.endings.get(&format!("{ending:?}")).copied().unwrap_or(0);
        endings.iter().map(count).sum::<u64>() as f64 / self.programs().max(1) as f64
    }
}

/// Checks programs in `jobs` processes at a time. `found` is called for each finding at once.
///
/// # Errors
/// If no process can be started.
pub fn supervise(
    mode: Mode,
    numbers: &Range<u64>,
    jobs: usize,
    found: &(dyn Fn(u64, &str) + Sync),
) -> std::io::Result<Report> {
    let next = AtomicU64::new(numbers.start);
    let report = Mutex::new(Report::default());
    let one = || -> std::io::Result<()> {
        loop {
            let start = next.fetch_add(SHARE, Ordering::Relaxed);
            if start >= numbers.end {
                return Ok(());
            }
            let mut rest = start..(start + SHARE).min(numbers.end);
            while !rest.is_empty() {
                let done = watch(mode, rest.clone(), &report, found)?;
                rest.start = done;
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(one)).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("no supervisor panics"));
        ended.collect::<std::io::Result<()>>()
    })?;
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Lets a process check programs until it ends; the number after the last one that it has begun.
fn watch(
    mode: Mode,
    numbers: Range<u64>,
    report: &Mutex<Report>,
    found: &(dyn Fn(u64, &str) + Sync),
) -> std::io::Result<u64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--worker", mode.name(), &format!("{}..{}", numbers.start, numbers.end)]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (lines, words) = (lines_of(&mut child), words_of(&mut child));
    let mut begun = None;
    let mut next = numbers.start;
    let announce = |number: u64, finding: &str| {
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        report.findings.insert(number, finding.to_owned());
        found(number, finding);
    };
    let hangs = loop {
        let line = match lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                break true;
            }
        };
        let mut parts = line.splitn(3, ' ');
        let (Some(what), Some(Ok(number))) = (parts.next(), parts.next().map(str::parse::<u64>)) else {
            continue;
        };
        let rest = parts.next().unwrap_or_default();
        match what {
            "begin" => {
                (begun, next) = (Some(number), number + 1);
                continue;
            }
            "end" => {
                let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                *report.endings.entry(rest.to_owned()).or_default() += 1;
            }
            "wrong" => announce(number, &rest.replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'")),
            _ => continue,
        }
        begun = None;
    };
    let status = child.wait()?;
    let words = words.join().unwrap_or_default();
    if let Some(number) = begun {
        announce(number, &end_of(status, hangs, &words));
        return Ok(number + 1);
    }
    match status.success() {
        true => Ok(numbers.end),
        false if next > numbers.start => Ok(next),
        false => Err(std::io::Error::other(format!("a worker does not start: {status}: {words}"))),
    }
}

fn end_of(status: ExitStatus, hangs: bool, words: &str) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    let how = match status.signal() {
        _ if hangs => "it waits for ever".to_owned(),
        Some(libc::SIGXCPU) => "it takes too long".to_owned(),
        Some(signal) => format!("signal {signal}"),
        None => format!("{status}"),
    };
    format!("the process ends: {how}\n{words}")
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let out = child.stdout.take().expect("the output is piped");
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// What the process says of its end.
fn words_of(child: &mut Child) -> std::thread::JoinHandle<String> {
    let mut out = child.stderr.take().expect("the error output is piped");
    std::thread::spawn(move || {
        let mut words = Vec::new();
        let _ = out.read_to_end(&mut words);
        let words = String::from_utf8_lossy(&words).into_owned();
        words.chars().take(4000).collect()
    })
}
