//! The command line of promote-run.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{CommandFactory, Parser, ValueEnum, ValueHint};
use promote::device::{DeviceTarget, UnknownDevice};

use crate::devices::Accelerator;
use crate::flags::{Diagnostics, Processor, Rules, double_dashes};

/// What the tool calls itself.
pub const TOOL: &str = "promote-run";

/// What `-h` ends with.
const HINT: &str = "Try `promote-run --help` for an example.";

/// What `--help` ends with.
const EXAMPLE: &str = r#"Example:
  promote-run --input '[1, 2, 3]' --input 0.5 <<'END'
  !u = tensor<*x!promote.unknown>
  func.func @scale(%x: tensor<3xbf16>, %k: tensor<!promote.weak_float>) -> !u {
    %0 = "promote.multiply"(%x, %k) : (tensor<3xbf16>, tensor<!promote.weak_float>) -> !u
    return %0 : !u
  }
  END

  The weak argument takes a Python float and does not widen the product, so this prints

  scale.0: bfloat16[3]
  [0.5, 1.0, 1.5]

  promote-run model.mlir --entry scale --input x.npy --input 0.5 -o y.npy
  promote-run model.mlir --entry scale --input x.npy --input 0.5 --output-dir results    (scale.0.npy, …)
  promote-run model.mlir --entry scale --input x.npy --input 0.5 --time=100 --threads 1

Exit status:
  0  success
  1  the program or an input was refused, or the program failed at run time; nothing is written
  2  invalid command line"#;

/// Promotes, compiles and runs a function of an MLIR module
///
/// Reads the same input as promote-opt, infers the dtypes, compiles the functions for this machine, and calls one of them
/// with NumPy arrays and literals. Prints the results, or writes them as .npy files.
#[derive(Clone, Debug, Parser)]
#[command(name = TOOL, version, after_help = HINT, after_long_help = EXAMPLE, max_term_width = 110)]
pub struct Args {
    /// The MLIR file to read, text or bytecode; - is standard input
    #[arg(default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub input: PathBuf,

    /// The public function to run [default: the only one, or main]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,

    /// An argument of the function: a .npy file or a Python literal; repeat for each argument, in order
    ///
    /// Literals are True, 3, 1.5, 1+2j, inf, nan, and lists of them: '[[1, 2], [3, 4]]'. They take the dtype of the argument,
    /// as weakly typed values do: an integer is accepted for a float, but not the other way round. A value that ends in .npy
    /// or contains a / is the path of a file. NumPy saves bfloat16 and the other dtypes of ml_dtypes without their name;
    /// they are read as the dtype of the argument.
    #[arg(
        long = "input",
        short = 'i',
        value_name = "FILE|LITERAL",
        allow_hyphen_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub inputs: Vec<OsString>,

    /// Write a result to this .npy file; repeat for each result, in order
    #[arg(short, long = "output", value_name = "FILE", conflicts_with = "output_dir", value_hint = ValueHint::FilePath)]
    pub outputs: Vec<PathBuf>,

    /// Write the results to NAME.0.npy, NAME.1.npy and so on in this directory, which is created if it is missing
    ///
    /// NAME is the name of the function, encoded as in symbols if it is not a C identifier, so that files stay in the
    /// directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output_dir: Option<PathBuf>,

    /// How to promote.
    #[command(flatten, next_help_heading = "Promotion")]
    pub rules: Rules,

    /// How to run.
    #[command(flatten)]
    pub running: Running,

    /// How diagnostics are shown.
    #[command(flatten)]
    pub diagnostics: Diagnostics,
}

/// How to run.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Running")]
pub struct Running {
    /// What to run on: cpu, cuda (NVIDIA's devices; cuda:sm_90 for code of an architecture), vulkan, opencl
    #[arg(long, value_name = "TARGET", default_value = "cpu")]
    pub target: Target,

    /// What of a device is used.
    #[command(flatten)]
    pub accelerator: Accelerator,

    /// For which processor.
    #[command(flatten)]
    pub processor: Processor,

    /// The number of threads that loops use [default: PROMOTE_NUM_THREADS, or the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Whether to keep subnormal numbers or flush them to zero
    #[arg(long, value_name = "HOW", default_value = "keep")]
    pub denormals: Denormals,

    /// Run the function N more times, and report compile and run times to standard error
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub time: Option<u32>,
}

/// What to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The CPU of this machine.
    Cpu,
    /// A device.
    Device(DeviceTarget),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "cpu" => Ok(Self::Cpu),
            _ if name.starts_with("cuda:") => {
                name.parse().map(Self::Device).map_err(|unknown: UnknownDevice| unknown.to_string())
            }
            _ => name.parse().map(Self::Device).map_err(|_| {
                "it is cpu, cuda, vulkan or opencl, or cuda with an architecture, as in cuda:sm_90".to_owned()
            }),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Device(device) => device.fmt(f),
        }
    }
}

impl Target {
    /// The device, if it is one.
    pub const fn device(self) -> Option<DeviceTarget> {
        match self {
            Self::Cpu => None,
            Self::Device(device) => Some(device),
        }
    }
}

/// What becomes of denormal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Denormals {
    /// Keep them
    Keep,
    /// Flush them to zero, as XLA does on CPUs
    Flush,
}

impl Args {
    /// Reads a command line, the program's name first. The error prints itself, and exits with 2 for wrong usage and
    /// with 0 for `--help` and `--version`.
    pub fn from_command_line(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(double_dashes(Args::command(), args))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn literals_may_begin_with_a_dash() {
        let args =
            ["promote-run", "f.mlir", "--input", "-1.5", "-i", "-inf", "--input=-2j"].map(OsString::from);
        let args = Args::from_command_line(args).unwrap();
        assert_eq!(args.inputs, ["-1.5", "-inf", "-2j"]);
        assert_eq!(args.input, PathBuf::from("f.mlir"));
    }
}
