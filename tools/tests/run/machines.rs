//! Code for other machines, run by an emulator: the same bits as on x86-64.
//!
//! Rust's library need not be there for such a machine: a small run time in C, made from the table of the interface, stands for
//! that of Rust, and takes part on x86-64 as well.

mod corpus;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use promote::convert::{Numerics, convert};
use promote::symbols::Symbols;
use promote::{DType, Semantics};
use promote_abi::{DLDataType, Status};
use promote_lattice::dtype::Specials;

use self::corpus::{Case, elements};
use crate::needed::programs;
use crate::support::{PROMOTE_OPT, Tool, in_parallel};

/// A machine: what runs its code here, and what compiles C for it.
struct Machine {
    triple: &'static str,
    compiler: &'static str,
    emulator: Option<&'static str>,
}

/// What others must agree with: any x86-64 processor.
const REFERENCE: Machine = Machine { triple: "x86_64-linux-gnu", compiler: "cc", emulator: None };

const OTHERS: [Machine; 3] = [
    Machine {
        triple: "aarch64-linux-gnu",
        compiler: "aarch64-linux-gnu-gcc",
        emulator: Some("qemu-aarch64"),
    },
    Machine {
        triple: "riscv64-linux-gnu",
        compiler: "riscv64-linux-gnu-gcc",
        emulator: Some("qemu-riscv64"),
    },
    Machine {
        triple: "powerpc64le-linux-gnu",
        compiler: "powerpc64le-linux-gnu-gcc",
        emulator: Some("qemu-ppc64le"),
    },
];

/// Programs, each of functions that are called; and the semantics that they are compiled with.
struct Corpus {
    semantics: &'static str,
    modules: Vec<Vec<Case>>,
}

impl Machine {
    /// What the functions return here, by lines: the name of a function, then a line for each result, or its error.
    fn run(&self, corpus: &Corpus) -> Vec<String> {
        let tool = Tool::new()
            .with("runtime.h", promote_abi::c::runtime_header())
            .with("runtime.c", include_str!("machines/runtime.c"))
            .with("main.c", include_str!("machines/main.c"))
            .with("table.h", table(corpus));
        for (index, module) in corpus.modules.iter().enumerate() {
            let (source, object) = (format!("{index}.mlir"), format!("{index}.o"));
            let text: String = module.iter().map(|case| case.text.as_str()).collect();
            std::fs::write(tool.path(&source), text).expect("the directory can be written to");
            let (target, semantics) =
                (format!("--target={}", self.triple), format!("--semantics={}", corpus.semantics));
            let args = [&source, "--emit=obj", &target, &semantics, "-o", &object];
            tool.command(PROMOTE_OPT, "", args).succeeded();
        }
        let objects: Vec<String> = (0..corpus.modules.len()).map(|index| format!("{index}.o")).collect();
        let flags =
            ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "main.c", "runtime.c", "-o", "run"];
        let args = flags.into_iter().chain(objects.iter().map(String::as_str)).chain(["-lm"]);
        tool.command(self.compiler, "", args).succeeded();
        let (program, args) = match self.emulator {
            Some(emulator) => (emulator, vec!["./run"]),
            None => ("./run", Vec::new()),
        };
        tool.command(program, "", args).succeeded().text().lines().map(str::to_owned).collect()
    }
}

/// The functions and their arguments, in C.
fn table(corpus: &Corpus) -> String {
    let cases: Vec<&Case> = corpus.modules.iter().flatten().collect();
    let mut text = String::from(
        "enum { MOST_ARGUMENTS = 40, MOST_DIMENSIONS = 4 };
struct input { const void *data; int32_t rank; int64_t shape[MOST_DIMENSIONS]; };
typedef int32_t call(const DLTensor *const *, DLTensor *const *);
struct test { const char *name; call *call, *shapes; const promote_rt_function *function; struct input input[3]; };
",
    );
    let mut known = BTreeSet::new();
    let mut rows = String::new();
    for case in &cases {
        let Symbols { call, shape, metadata, tvm: _ } = Symbols::of(&case.name);
        let _ = writeln!(text, "call {call}, {shape};\nextern const promote_rt_function {metadata};");
        let mut inputs = Vec::new();
        for (data, dtype, extents) in &case.inputs {
            let (values, count) = (format!("{data:?}_{}", dtype.name()), extents.iter().product::<usize>());
            if known.insert(format!("{values}_{count}")) {
                let size = dtype.bits().div_ceil(8) as usize;
                let bytes = elements(*data, *dtype, count)
                    .into_iter()
                    .flat_map(|bits| bits.to_le_bytes().into_iter().take(size));
                let bytes: Vec<String> = bytes.map(|byte| byte.to_string()).collect();
                let _ = writeln!(
                    text,
                    "static const _Alignas(64) unsigned char {values}_{count}[] = {{{}}};",
                    bytes.join(",")
                );
            }
            let extents: Vec<String> = extents.iter().map(usize::to_string).collect();
            inputs.push(format!("{{{values}_{count}, {}, {{{}}}}}", extents.len(), extents.join(",")));
        }
        let _ = writeln!(
            rows,
            "  {{{:?}, {call}, {shape}, &{metadata}, {{{}}}}},",
            case.title,
            inputs.join(", ")
        );
    }
    let _ = write!(
        text,
        "static const struct test tests[] = {{\n{rows}}};\nenum {{ test_count = {} }};\n",
        cases.len()
    );
    text
}

/// The dtype that a line of results begins with: `2:32` of floats of 32 bits.
fn dtype_of(line: &str) -> Option<DType> {
    let (code, bits) = line.split(' ').next()?.split_once(':')?;
    let dlpack = DLDataType { code: code.parse().ok()?, bits: bits.parse().ok()?, lanes: 1 };
    let name = dlpack.to_string().replace("bfloat", "bf").replace("float", "f").replace("complex", "c");
    DType::ALL.iter().copied().find(|dtype| dtype.name() == name.replace('_', ""))
}

/// Whether a dtype has no NaN.
fn is_always_finite(dtype: DType) -> bool {
    dtype.props().format.is_some_and(|format| format.specials == Specials::FiniteOnly)
}

/// An element as it counts: processors decide which NaN they make, so all of them are one.
fn canonical(element: &str, dtype: Option<DType>) -> String {
    let Some(part) = dtype.filter(|dtype| dtype.is_inexact()).map(DType::real_part) else {
        return element.to_owned();
    };
    let digits = 2 * part.bits().div_ceil(8) as usize;
    let parts = element.as_bytes().chunks(digits).map(|bytes| {
        let text = std::str::from_utf8(bytes).expect("digits are ASCII");
        let bits = u128::from_str_radix(text, 16).expect("elements are digits").swap_bytes();
        let bits = bits >> (128 - 4 * digits);
        let value = convert(bits, part, DType::F64, Numerics::NumPy);
        match f64::from_bits(value as u64) {
            number if number.is_nan() => "nan".to_owned(),
            // A NaN becomes a zero of its sign where there is none.
            0.0 if is_always_finite(part) => "zero".to_owned(),
            _ => text.to_owned(),
        }
    });
    parts.collect::<Vec<_>>().join("|")
}

/// What differs between two machines: functions, and the elements.
fn differences(expected: &[String], found: &[String]) -> Vec<String> {
    const SHOWN: usize = 4;
    let mut title = "";
    let mut wrong = Vec::new();
    for (expected, found) in expected.iter().zip(found) {
        if let Some(name) = expected.strip_prefix("# ") {
            title = name;
        }
        if expected == found {
            continue;
        }
        let dtype = dtype_of(expected);
        let (one, other): (Vec<_>, Vec<_>) = (expected.split(' ').collect(), found.split(' ').collect());
        if one[0] != other[0] || one[0] == "status" || one.len() != other.len() {
            wrong.push(format!("{title}: {expected} is {found}"));
            continue;
        }
        let pairs = one.iter().zip(&other).skip(1).enumerate();
        let pairs: Vec<String> = pairs
            .filter(|(_, (one, other))| one != other && canonical(one, dtype) != canonical(other, dtype))
            .map(|(index, (one, other))| format!("[{index}] {one} is {other}"))
            .collect();
        if !pairs.is_empty() {
            let shown = pairs[..pairs.len().min(SHOWN)].join(", ");
            wrong.push(format!("{title}: {} elements of {}: {shown}", pairs.len(), one[0]));
        }
    }
    if expected.len() != found.len() {
        wrong.push(format!("{} lines are {}", expected.len(), found.len()));
    }
    wrong
}

/// What all machines return, which must be the same; the first one says what is expected.
fn agree(corpus: &Corpus, machines: &[&Machine]) -> Vec<String> {
    for machine in machines {
        programs(&[machine.compiler]);
        programs(machine.emulator.as_slice());
    }
    let mut lines = in_parallel(machines, |machine| machine.run(corpus)).into_iter();
    let expected = lines.next().unwrap_or_default();
    assert!(expected.len() >= 2 * corpus.modules.iter().map(Vec::len).sum::<usize>());
    let mut wrong = Vec::new();
    for (machine, found) in machines[1..].iter().zip(lines) {
        let differing = differences(&expected, &found);
        wrong.extend(differing.iter().map(|wrong| format!("{}: {wrong}", machine.triple)));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    expected
}

/// The numbers of the errors among results.
fn statuses(lines: &[String]) -> Vec<Option<Status>> {
    let number = |line: &String| line.strip_prefix("status ")?.split(':').next()?.parse().ok();
    lines.iter().filter_map(number).map(Status::from_number).collect()
}

#[test]
fn ops_and_conversions_have_the_same_bits_on_every_machine() {
    let semantics = Semantics::by_name("jax", false).expect("it is there");
    let corpus = Corpus { semantics: "jax", modules: corpus::modules(&semantics) };
    let [one, two, three] = &OTHERS;
    assert_eq!(statuses(&agree(&corpus, &[&REFERENCE, one, two, three])), []);
}

#[test]
fn control_flow_and_errors_are_the_same_on_every_machine() {
    let corpus = Corpus { semantics: "torch", modules: vec![corpus::control_flow()] };
    let [one, two, three] = &OTHERS;
    let errors = [Status::Division, Status::Index, Status::Check].map(Some);
    assert_eq!(statuses(&agree(&corpus, &[&REFERENCE, one, two, three])), errors);
}

/// They are computed with fused multiply-adds, which not every x86-64 processor has.
#[test]
fn large_products_of_matrices_have_the_same_bits_on_machines_with_fused_multiply_add() {
    let corpus = Corpus { semantics: "jax", modules: vec![corpus::large_products()] };
    let [one, two, three] = &OTHERS;
    assert_eq!(statuses(&agree(&corpus, &[one, two, three])), []);
}
