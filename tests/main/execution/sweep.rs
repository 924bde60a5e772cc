//! Every op that is not element-wise, of every dtype, on odd shapes and along all sorts of axes, against the reference
//! interpreter. Arguments lie in memory with any strides.
//!
//! `PROMOTE_SEEDS=10..50` goes through other rounds than the first ones: each is one shape and one set of attributes for each
//! op and dtype.

use promote::op::ShapeRule;
use promote::{DType, Kind, Op, Session, Tensor};
use promote_reference::{Array, Error, Reader};

use crate::cases::{Case, SYSTEMS, Sums, System, cases};

use super::support::{Place, Random, array, function, on_all_cores, reported, seeds, session, tensor};

/// The rounds of a normal run.
const ROUNDS: u64 = if cfg!(debug_assertions) { 1 } else { 2 };

/// Functions in a module.
pub const FUNCTIONS: usize = 30;

/// An array in memory with its axes in any order, up or down, and gaps between elements.
struct Scattered {
    bytes: Vec<u8>,
    strides: Vec<i64>,
    offset: usize,
}

impl Scattered {
    fn new(array: &Array, random: &mut Random) -> Self {
        let (shape, packed) = (&array.shape, tensor(array));
        let size = packed.element_size();
        let mut order: Vec<usize> = (0..shape.len()).collect();
        (0..order.len()).for_each(|axis| order.swap(axis, random.below(shape.len())));
        let (mut strides, mut next, mut first) = (vec![0; shape.len()], 1 + random.below(2) as i64, 0);
        for axis in order {
            let down = random.below(2) == 0;
            strides[axis] = if down { -next } else { next };
            first += if down { next * (shape[axis] as i64 - 1).max(0) } else { 0 };
            next *= shape[axis].max(1) as i64 + random.below(2) as i64;
        }
        let mut bytes = vec![0xa5; (next as usize + 2) * size];
        let elements = packed.bytes().expect("the tensor is owned").chunks_exact(size);
        for (index, element) in promote_reference::indices(shape).zip(elements) {
            let place = index
                .iter()
                .zip(&strides)
                .fold(first, |place, (index, stride)| place + *index as i64 * stride);
            bytes[place as usize * size..][..size].copy_from_slice(element);
        }
        Self { bytes, strides, offset: first as usize * size }
    }

    fn tensor(&self, array: &Array) -> Tensor<'_> {
        let shape: Vec<i64> = array.shape.iter().map(|extent| *extent as i64).collect();
        Tensor::strided(array.dtype, &shape, &self.strides, &self.bytes, self.offset)
            .expect("the strides fit")
    }
}

struct Bench {
    place: Place,
    systems: [System; 3],
    sessions: [Session; 3],
    reader: Reader,
}

impl Bench {
    fn new(place: Place) -> Self {
        Self {
            place,
            systems: System::all(),
            sessions: SYSTEMS.map(|(name, x64)| session(name, x64, false)),
            reader: Reader::new().expect("MLIR takes the dialect"),
        }
    }

    fn check(&self, system: usize, cases: &[Case]) -> Vec<String> {
        let texts = cases.iter().enumerate().map(|(index, case)| case.text(&format!("f{index}"), case.dtype));
        let text: String = texts.collect();
        let executable = match self.place.compile(&self.sessions[system], &text) {
            Ok(executable) => executable,
            Err(error) if cases.len() == 1 => return vec![format!("{:?}: {error}\n{text}", cases[0])],
            // Checking them one by one finds which.
            Err(_) => {
                return cases
                    .iter()
                    .flat_map(|case| self.check(system, std::slice::from_ref(case)))
                    .collect();
            }
        };
        let compare = |(index, case): (usize, &Case)| {
            let arguments = case.arguments();
            let mut random = Random::new(case.seed ^ 2);
            let scattered: Vec<_> =
                arguments.iter().map(|array| Scattered::new(array, &mut random)).collect();
            let inputs: Vec<_> =
                scattered.iter().zip(&arguments).map(|(memory, array)| memory.tensor(array)).collect();
            let function = function(&executable, &format!("f{index}"));
            let expected = case.expected(&self.reader, &self.systems[system], &arguments);
            let wrong = match (function.run(&inputs), expected) {
                (Ok(found), Ok(expected)) => case.difference(&array(&found[0]), &expected, Sums::InParts)?,
                (Err(_), Err(Error::Trap(_))) => return None,
                // A driver would end the loops too early.
                (Err(error), Ok(_)) if error.message.contains("this driver ends loops after") => return None,
                (found, expected) => format!("{:?}, expected {:?}", found.err(), expected.err()),
            };
            let name = self.systems[system].name;
            Some(format!("{name} {case:?}: {wrong}\n{}", case.text("f", case.dtype)))
        };
        cases.iter().enumerate().filter_map(compare).collect()
    }
}

/// Has cases checked on all cores, so many of one system at a time; what is wrong.
pub fn check_all(place: &(dyn Fn() -> Place + Sync), cases: &[(usize, Case)], at_once: usize) -> Vec<String> {
    let mut batches: Vec<(usize, Vec<Case>)> = Vec::new();
    for (system, case) in cases {
        match batches.last_mut() {
            Some((own, batch)) if own == system && batch.len() < at_once => batch.push(case.clone()),
            _ => batches.push((*system, vec![case.clone()])),
        }
    }
    let found = on_all_cores(
        batches.len(),
        || Bench::new(place()),
        |bench, index| {
            let (system, batch) = &batches[index];
            bench.check(*system, batch)
        },
    );
    found.into_iter().flatten().collect()
}

#[test]
fn every_op_of_every_dtype_on_odd_shapes() {
    let rounds = seeds(ROUNDS);
    let cases = cases(&System::all(), rounds.clone(), |_, _, _| true);
    let wrong = check_all(&Place::host, &cases, FUNCTIONS);
    reported(&format!("{} cases of rounds {rounds:?}", cases.len()), wrong);
}

/// Reductions so long that they are cut into parts, which threads reduce.
pub fn long() -> Vec<(usize, Case)> {
    let shapes: &[&[usize]] =
        &[&[200_003], &[3, 70_001], &[70_001, 3], &[140_001, 1], &[2, 33_333, 5], &[1, 131_072]];
    let [system, ..] = System::all();
    // The interpreter adds up squares and exponentials in order, and loses more bits of long lines than the bounds allow.
    let has_rounded_sums = |op: &Op| matches!(op, Op::Var | Op::Std | Op::LogSumExp);
    let is_tried = |op: &Op| op.info().shape == ShapeRule::Reduce && !has_rounded_sums(op);
    let ops: Vec<Op> = Op::ALL.iter().copied().filter(is_tried).collect();
    let mut cases = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        for (index, op) in ops.iter().copied().enumerate() {
            // Each op with dtypes of its own, which are others for each shape.
            let dtypes: Vec<DType> = DType::strong().filter(|dtype| system.runs(op, *dtype)).collect();
            let dtype = dtypes[(index + 5 * number) % dtypes.len()];
            let longest = (0..shape.len()).max_by_key(|axis| shape[*axis]).unwrap_or(0);
            let attributes = match index % 2 {
                0 if !matches!(op, Op::ArgMax | Op::ArgMin) => String::new(),
                _ => format!("axis = array<i64: {longest}>"),
            };
            let seed = (number * 100 + index) as u64;
            let shapes = vec![shape.to_vec()];
            let case = Case { op, dtype, attributes, shapes, stated: None, is_open: false, seed };
            cases.push((0, case));
        }
    }
    cases
}

#[test]
fn long_reductions() {
    reported("long reductions", check_all(&Place::host, &long(), 10));
}

/// Lengths of rows around those that are computed side by side, interleaved and in squares, and around whole vectors.
const LENGTHS: [usize; 14] = [2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 47, 65, 130];

/// Numbers of rows: fewer than a vector has lanes, some vectors with rows left over, and more than a tile.
const ROWS: [usize; 5] = [7, 16, 19, 67, 261];

/// Reductions of rows that do not fill whole vectors.
pub fn rows() -> Vec<(usize, Case)> {
    let [system, ..] = System::all();
    let is_tried = |op: &Op| {
        matches!(op.info().shape, ShapeRule::Reduce | ShapeRule::Along | ShapeRule::Scan)
            && !matches!(op, Op::Flip | Op::Sort)
    };
    // Exponentials of complex numbers cancel in a sum, and the bounds do not say how far.
    let suits = |op: Op, dtype: DType| {
        system.runs(op, dtype)
            && !(dtype.kind() == Kind::Complex && matches!(op, Op::Softmax | Op::LogSumExp))
    };
    let mut cases = Vec::new();
    for (index, op) in Op::ALL.iter().copied().filter(is_tried).enumerate() {
        for (number, dtype) in DType::strong().filter(|dtype| suits(op, *dtype)).enumerate() {
            // Each dtype in one of three ways, which is another for the next.
            for turn in (0..3).filter(|turn| (index + number + turn) % 3 == 0) {
                let at = index + number + turn * 5;
                let (length, rows) = (LENGTHS[at % LENGTHS.len()], ROWS[(at + turn) % ROWS.len()]);
                let shapes = vec![if turn == 2 { vec![2, rows, length] } else { vec![rows, length] }];
                let attributes = format!("axis = array<i64: {}>", shapes[0].len() - 1);
                // Half of those whose turn it is; a turn comes back every three dtypes and every three ops.
                let (is_open, seed) =
                    (turn == 1 && (number / 3 + index) % 2 == 0, (index * 1000 + at) as u64);
                cases.push((0, Case { op, dtype, attributes, shapes, stated: None, is_open, seed }));
            }
        }
    }
    cases
}

#[test]
fn rows_of_every_length() {
    let cases = rows();
    reported(&format!("{} rows", cases.len()), check_all(&Place::host, &cases, FUNCTIONS));
}
