//! Compiling, running, and how far results are from each other.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use promote::device::{self, DeviceTarget, SharedDevice};
use promote::{
    CompileError, CompileOptions, DType, Executable, Function, Kind, RunError, Session, Source, Target,
    Tensor,
};
use promote_reference::{Array, Number, Value};

pub use crate::support::session;

/// A text of the dialect, in which `!u` is the unknown type.
pub fn known(text: &str) -> String {
    text.replace("!u", "tensor<*x!promote.unknown>")
}

/// What functions run on.
#[derive(Clone)]
pub enum Place {
    /// A processor.
    Processor(Target),
    /// A device.
    Device(DeviceTarget, SharedDevice),
}

impl Place {
    /// This machine's processor.
    pub fn host() -> Self {
        Self::Processor(Target::host())
    }

    /// A device of a target; what is wrong if there is none.
    pub fn device(target: DeviceTarget) -> Result<Self, String> {
        device::open(target).map(|open| Self::Device(target, open)).map_err(|error| error.to_string())
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Processor(target) => target.cpu().to_owned(),
            Self::Device(target, _) => target.to_string(),
        }
    }

    /// Compiles a module for it; the diagnostics if it is refused.
    pub fn compile(&self, session: &Session, text: &str) -> Result<Executable, String> {
        let Some(mut module) = session.parse(Source::Text(text)) else {
            return Err(format!("unreadable: {:?}", session.take_diagnostics()));
        };
        let compiled = match self {
            Self::Processor(target) => {
                let options = CompileOptions { target: target.clone(), ..CompileOptions::default() };
                Executable::compile(session, module, &options)
            }
            Self::Device(target, open) => {
                let code = device::compile_for(session, &mut module, &CompileOptions::default(), *target);
                code.and_then(|code| code.load(open))
            }
        };
        session.take_diagnostics();
        said(compiled)
    }
}

/// Compiles a module for a processor; the diagnostics if it is refused.
pub fn compile_for(session: &Session, text: &str, target: Target) -> Result<Executable, String> {
    Place::Processor(target).compile(session, text)
}

/// What was compiled, or the diagnostics.
fn said(compiled: Result<Executable, CompileError>) -> Result<Executable, String> {
    compiled.map_err(|error| match error {
        CompileError::Refused(diagnostics) => {
            diagnostics.iter().map(|found| found.message.as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    })
}

/// Compiles a module for this machine's processor.
pub fn compile(session: &Session, text: &str) -> Executable {
    let text = known(text);
    compile_for(session, &text, Target::host()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The function of that name.
pub fn function(executable: &Executable, name: &str) -> Function {
    executable.function(name).unwrap_or_else(|| panic!("there is @{name}"))
}

/// An array in memory.
pub fn tensor(array: &Array) -> Tensor<'static> {
    let shape: Vec<i64> = array.shape.iter().map(|extent| *extent as i64).collect();
    let mut tensor = Tensor::zeros(array.dtype.storage(), &shape).expect("there is memory");
    let size = tensor.element_size();
    let bytes = array.bits().into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(size));
    tensor.bytes_mut().expect("the tensor is owned").iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    tensor
}

/// The numbers of a tensor in memory.
pub fn array(tensor: &Tensor<'_>) -> Array {
    let (dtype, size) = (tensor.dtype(), tensor.element_size());
    let shape = tensor.shape().iter().map(|extent| *extent as usize).collect();
    let elements = tensor.bytes().expect("results are contiguous").chunks_exact(size).map(|bytes| {
        let mut all = [0; 16];
        all[..size].copy_from_slice(bytes);
        assert!(dtype != DType::B1 || bytes[0] <= 1, "a truth value is 0 or 1, not {}", bytes[0]);
        Number::from_bits(u128::from_le_bytes(all), dtype)
    });
    Array { dtype, shape, elements: elements.collect() }
}

/// The argument of a function that a value of the interpreter is.
pub fn argument(function: &Function, index: usize, value: &Value) -> Tensor<'static> {
    match value {
        Value::Array(given) => tensor(given),
        Value::Integer(number) => {
            let dtype = function.inputs()[index].dtype;
            tensor(&Array::of_ints(dtype, &[], &[i128::from(*number)]))
        }
    }
}

/// Runs a function on arrays.
pub fn run(function: &Function, arguments: &[Value]) -> Result<Vec<Array>, RunError> {
    let arguments: Vec<_> =
        arguments.iter().enumerate().map(|(index, value)| argument(function, index, value)).collect();
    Ok(function.run(&arguments)?.iter().map(array).collect())
}

/// Units in the last place between two real numbers of `dtype`; of subnormal numbers, those of the least normal one.
pub fn ulps(x: f64, y: f64, dtype: DType) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, true) => return 0.0,
        (false, false) if x == y => return 0.0,
        _ if !x.is_finite() || !y.is_finite() => return f64::INFINITY,
        _ => {}
    }
    (x - y).abs() / unit(x.abs().max(y.abs()), dtype)
}

/// The distance of a number of `dtype` to the next one.
pub fn unit(x: f64, dtype: DType) -> f64 {
    let Some(format) = dtype.real_part().props().format else { return 1.0 };
    let (mantissa, least) = (format.mantissa_bits as i32, 1 - format.bias);
    let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(least);
    2f64.powi((exponent - mantissa).max(-1074))
}

/// How far two elements are apart: in units in the last place of floats, infinitely far if integers differ. The parts of
/// complex numbers are measured by the larger part.
pub fn distance(x: Number, y: Number, dtype: DType) -> f64 {
    match (dtype.kind(), x, y) {
        // An infinite complex number may have any other part, and whether it is NaN depends on the formula.
        (Kind::Complex, ..) if !is_finite(x) && !is_finite(y) => 0.0,
        (Kind::Complex, ..) => {
            let part = dtype.real_part();
            let ((a, b), (c, d)) = (x.parts(), y.parts());
            let size = a.abs().max(b.abs()).max(c.abs()).max(d.abs());
            let one = |x: f64, y: f64| match ulps(x, y, part) {
                near if near.is_finite() && size.is_finite() => (x - y).abs() / unit(size, part),
                far => far,
            };
            one(a, c).max(one(b, d))
        }
        (Kind::Float, ..) => ulps(x.real(), y.real(), dtype),
        (Kind::Bool | Kind::Unsigned | Kind::Signed, ..) => {
            if x == y {
                0.0
            } else {
                f64::INFINITY
            }
        }
    }
}

fn is_finite(x: Number) -> bool {
    x.parts().0.is_finite() && x.parts().1.is_finite()
}

/// The greatest distance of two arrays' elements; infinite if their dtypes or shapes differ.
pub fn farthest(found: &Array, expected: &Array) -> f64 {
    if found.dtype != expected.dtype || found.shape != expected.shape {
        return f64::INFINITY;
    }
    let pairs = found.elements.iter().zip(&expected.elements);
    pairs.map(|(x, y)| distance(*x, *y, found.dtype)).fold(0.0, f64::max)
}

/// Does work of `count` parts on all cores, each thread with what `make` makes; what came of the parts, in order.
pub fn on_all_cores<T, R: Send>(
    count: usize,
    make: impl Fn() -> T + Sync,
    work: impl Fn(&T, usize) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let go = || {
        let own = make();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = work(&own, index);
            found.lock().expect("no thread panics").push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let thread = std::thread::Builder::new().stack_size(64 << 20);
            thread.spawn_scoped(scope, go).expect("a thread starts");
        }
    });
    let mut found = found.into_inner().expect("no thread panics");
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, result)| result).collect()
}

/// The seeds to run: what `PROMOTE_SEEDS` says, or the first.
pub fn seeds(count: u64) -> Range<u64> {
    let Ok(given) = std::env::var("PROMOTE_SEEDS") else { return 0..count };
    let range = given.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or_else(|| panic!("PROMOTE_SEEDS={given} is no range, as 0..100 is"))
}

/// Whether all cases are asked for: `PROMOTE_SEEDS` is set, to whatever.
pub fn has_all() -> bool {
    std::env::var_os("PROMOTE_SEEDS").is_some()
}

/// Whether a number below `share` chooses the case at an index: it chooses one of every `share` cases, at a place that looks random, so that
/// no dtype or op that comes back every few cases is left out. Each case is chosen by exactly one number.
pub fn is_chosen(index: usize, share: usize, number: usize) -> bool {
    let first = Random::new((index / share) as u64).below(share);
    (first + number) % share == index % share
}

/// Fails if something is wrong, and says the first of it.
pub fn reported(what: &str, wrong: Vec<String>) {
    const SHOWN: usize = 5;
    let shown = wrong[..wrong.len().min(SHOWN)].join("\n");
    let lines = wrong.iter().skip(SHOWN).filter_map(|one| one.lines().next());
    let others: String = lines.map(|line| format!("{line}\n")).collect();
    assert!(wrong.is_empty(), "{what}: {} wrong; the first:\n{shown}\nand\n{others}", wrong.len());
}

/// Numbers that look random, the same for the same seed.
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of some.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// All orders of so many dimensions.
pub fn orders(rank: usize) -> Vec<Vec<usize>> {
    if rank == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(rank - 1).into_iter();
    shorter
        .flat_map(|order| {
            (0..rank).map(move |place| [&order[..place], &[rank - 1], &order[place..]].concat())
        })
        .collect()
}
