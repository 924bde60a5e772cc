//! The page that says of each op and dtype which bits devices compute is current: what is refused or divides is read off the code.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use promote::device::{DeviceTarget, compile_for};
use promote::{CompileOptions, DType, Kind, Op, Session, Source};

use crate::cases::{Case, SYSTEMS, System};
use crate::execution::support::{on_all_cores, session};

const PAGE: &str = "docs/device_ops.md";

const HEAD: &str = "# Ops on devices

Which ops there are and where they divide is read off the code that is emitted for each op and dtype; `w` and `f` say in which
order an op is defined to add up. Tests compare the bits with a processor's (`tests/main/execution`). The page is tested to be
current; `PROMOTE_BLESS=1 cargo test --release --test main device_ops` writes it anew. [Devices](devices.md#which-bits) says more.

| mark | the bits of a result are |
|---|---|
| = | those of every processor |
| w | those of processors with vectors of 64 bytes, where floats are summed over the last dimensions; else those of every one |
| f | those of processors with a fused multiply-add; where an operand is a vector, as `w` |
| ÷ | as before, where the driver rounds division and square root correctly, as Mesa's and PoCL's for processors do |
| – | no library has the op for the dtype |

A dtype that is not named in a row of an op is in the row `others`. NaNs are one. With `--tensor-cores=all`, `matmul` of `f16`,
`bf16` and narrower floats has other bits on CUDA, within [a bound](devices.md#tensor-cores).

| op | dtypes | CUDA | Vulkan | OpenCL |
|---|---|---|---|---|
| `convert` | all | = | = | = |
";

/// The marks of an op of a dtype, for CUDA, Vulkan and OpenCL.
fn marks(sessions: &[Session], systems: &[System], op: Op, dtype: DType) -> [String; 3] {
    let Some(system) = (0..systems.len()).find(|system| systems[*system].runs(op, dtype)) else {
        return ["–", "–", "–"].map(str::to_owned);
    };
    let mut case = Case::first(op, dtype);
    if op == Op::Mean {
        // One of a single element divides nothing.
        (case.shapes, case.attributes) = (vec![vec![2, 3]], "axis = array<i64: 1>".to_owned());
    }
    let text = case.text("f", dtype);
    let divides = |target: DeviceTarget| {
        let session = &sessions[system];
        let mut module = session.parse(Source::Text(&text)).unwrap_or_else(|| panic!("unreadable: {text}"));
        let code = compile_for(session, &mut module, &CompileOptions::default(), target);
        session.take_diagnostics();
        let code = match code {
            Ok(code) => code.spirv().text(),
            Err(error) if error.to_string().contains("is not lowered to") => return None,
            Err(error) => panic!("{error}\n{text}"),
        };
        Some(code.lines().any(|line| line.contains("OpFDiv") || line.contains("qrt")))
    };
    let sums = [Op::Sum, Op::Prod, Op::Mean, Op::Var, Op::Std, Op::Softmax, Op::LogSumExp];
    let own = match op {
        Op::Matmul if dtype.is_inexact() => "f",
        // Those of complex numbers go in the order of the index.
        Op::Prod if dtype.kind() == Kind::Complex => "=",
        op if sums.contains(&op) && (dtype.is_inexact() || !matches!(op, Op::Sum | Op::Prod)) => "w",
        _ => "=",
    };
    let of = |target: DeviceTarget| match divides(target) {
        None => "–".to_owned(),
        Some(true) if own == "=" => "÷".to_owned(),
        Some(true) => format!("{own} ÷"),
        Some(false) => own.to_owned(),
    };
    let [vulkan, opencl] = [DeviceTarget::Vulkan, DeviceTarget::OpenCl].map(of);
    let cuda = if vulkan == "–" { "–" } else { own };
    [cuda.to_owned(), vulkan, opencl]
}

fn made() -> String {
    // What is no computation, and conversions, whose result a case does not state.
    let others = [Op::Constant, Op::Relax, Op::Convert];
    let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| !others.contains(op)).collect();
    let make = || (SYSTEMS.map(|(name, x64)| session(name, x64, false)), System::all());
    let rows = on_all_cores(ops.len(), make, |(sessions, systems), index| {
        let op = ops[index];
        let mut groups: BTreeMap<[String; 3], Vec<DType>> = BTreeMap::new();
        for dtype in DType::strong() {
            groups.entry(marks(sessions, systems, op, dtype)).or_default().push(dtype);
        }
        let most = groups.values().map(Vec::len).max().unwrap_or(0);
        let mut named = false;
        let mut text = String::new();
        for ([cuda, vulkan, opencl], dtypes) in groups {
            let dtypes = if dtypes.len() == most && !named {
                named = true;
                if most == DType::strong().count() { "all".to_owned() } else { "others".to_owned() }
            } else {
                dtypes.iter().map(|dtype| format!("`{dtype}`")).collect::<Vec<_>>().join(" ")
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "| `{}` | {dtypes} | {cuda} | {vulkan} | {opencl} |", op.name());
        }
        text
    });
    format!("{HEAD}{}", rows.concat())
}

#[test]
fn the_page_of_ops_on_devices_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let made = made();
    if std::env::var_os("PROMOTE_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "{PAGE} is stale: run the test with PROMOTE_BLESS=1");
}
