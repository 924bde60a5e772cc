//! Code for NVIDIA's devices, which need not be there: what the text says, and that `ptxas`, which NVIDIA's driver has too,
//! assembles it without spilling registers.
//!
//! The assembler is in the Python environment of `tests/tools/venv.sh`.

mod accesses;
mod every_op;
mod recorded;
mod refused;
mod tensor_cores;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use promote::device::{Architecture, DeviceCode, DeviceTarget, compile_for};
use promote::{CompileError, CompileOptions, Session, Source};

use crate::execution::support::known;
use crate::needed::python;

/// The architectures that code is tried for.
const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

fn target(architecture: &str) -> DeviceTarget {
    DeviceTarget::Cuda(Some(architecture.parse().expect("LLVM knows it")))
}

/// The code of a module; the diagnostics if it is refused.
fn compiled(session: &Session, text: &str, target: DeviceTarget) -> Result<DeviceCode, String> {
    let Some(mut module) = session.parse(Source::Text(text)) else {
        return Err(format!("unreadable: {:?}", session.take_diagnostics()));
    };
    let compiled = compile_for(session, &mut module, &CompileOptions::default(), target);
    session.take_diagnostics();
    compiled.map_err(|error| match error {
        CompileError::Refused(diagnostics) => {
            diagnostics.iter().map(|found| found.message.as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    })
}

/// The PTX of a text of the dialect, in which `!u` is the unknown type, for an architecture.
fn ptx(session: &Session, text: &str, architecture: &str) -> String {
    let text = known(text);
    let code = compiled(session, &text, target(architecture)).unwrap_or_else(|why| panic!("{why}\n{text}"));
    checked(&code).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// The PTX of some code, which keeps the laws of all of it.
fn checked(code: &DeviceCode) -> Result<String, String> {
    let text = code.ptx().map_err(|error| error.to_string())?;
    let loosened =
        [".ftz", ".approx", ".full.", ".local", "mul.f32", "mul.f64", "add.f32", "add.f64", "call"];
    match text.lines().find(|line| loosened.iter().any(|part| line.contains(part))) {
        // The driver may contract what says nothing of how it is rounded, and memory of a thread is as far as all other.
        Some(line) => Err(format!("`{}` is no instruction of ours", line.trim())),
        None => Ok(text),
    }
}

/// What the assembler says of a kernel; sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kernel {
    name: String,
    registers: u32,
    /// Memory of a thread.
    stack: u32,
    spilled: u32,
}

impl Kernel {
    /// What is against a kernel.
    fn is_slow(&self) -> bool {
        self.stack > 0 || self.spilled > 0
    }
}

fn ptxas() -> &'static PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let script = "import nvidia.cuda_nvcc as n; print(n.__path__[0])";
        let found = Command::new(python()).args(["-c", script]).output().expect("Python runs");
        let folder = String::from_utf8(found.stdout).expect("Python prints UTF-8");
        let program = PathBuf::from(folder.trim()).join("bin/ptxas");
        assert!(program.is_file(), "there is no ptxas, which tests/tools/venv.sh installs");
        program
    })
}

/// Assembles PTX; what came of its kernels.
fn assembled(text: &str, architecture: &str) -> Result<Vec<Kernel>, String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("promote-{}-{number}.ptx", std::process::id()));
    std::fs::write(&path, text).expect("the temporary directory can be written to");
    let ran = Command::new(ptxas())
        .args(["--verbose", "--warn-on-spills", "--output-file", "/dev/null"])
        .arg(format!("--gpu-name={architecture}"))
        .arg(&path)
        .output()
        .expect("ptxas runs");
    std::fs::remove_file(&path).expect("the file is there");
    let said = String::from_utf8_lossy(&ran.stderr);
    if ran.status.success() { Ok(kernels(&said)) } else { Err(said.into_owned()) }
}

/// Reads what `ptxas --verbose` says: of each kernel three lines.
fn kernels(said: &str) -> Vec<Kernel> {
    let before = |line: &str, unit: &str| -> u32 {
        let words = line.split_once(unit).and_then(|(before, _)| before.split_whitespace().next_back());
        words.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no {unit} in {line}"))
    };
    let mut found: Vec<Kernel> = Vec::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default().to_owned();
            found.push(Kernel { name, registers: 0, stack: 0, spilled: 0 });
        } else if let Some(kernel) = found.last_mut() {
            if line.contains("bytes stack frame") {
                kernel.stack = before(line, " bytes stack frame");
                kernel.spilled = before(line, " bytes spill stores") + before(line, " bytes spill loads");
            } else if line.contains("Used ") {
                kernel.registers = before(line, " registers");
            }
        }
    }
    found
}

#[test]
fn what_the_assembler_says_is_understood() {
    let said = "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'kernel0' for 'sm_90'
ptxas info    : Function properties for kernel0
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 31 registers, used 1 barriers, 8 bytes cumulative stack size, 2048 bytes smem
ptxas info    : Compile time = 5.101 ms";
    let kernel = Kernel { name: "kernel0".to_owned(), registers: 31, stack: 8, spilled: 16 };
    assert!(kernel.is_slow());
    assert_eq!(kernels(said), [kernel]);
    assert!(assembled("no PTX", "sm_90").is_err());
    assert_eq!(Architecture::COMMON.to_string(), ARCHITECTURES[0]);
}
