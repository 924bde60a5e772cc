//! TensorFlow 2.21: its default, in which tensors are not promoted, and the two modes of
//! `tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode=…)`, "safe" and "all".
//!
//! By default one tensor decides: the others must have its dtype, and Python scalars are converted to it if they can be.
//! In the modes, the arithmetic ops, `equal`, `clip` and `matmul` promote; the others go on as by default. Mode "all" is
//! a lattice with weak dtypes of two widths: Python's numbers are `i32*`, `f32*` and `c128*`, a division of `i32*` gives
//! `f64*`, and Python's bool is an ordinary bool, but not every kernel takes it. Mode "safe" allows those joins that lose
//! nothing and are the dtype of an operand.
//!
//! An op has the dtypes that its CPU kernels have, measured by running them.

mod ops;

use DType::*;

use ops::{Output, Row, Rule, rule, true_division};

use super::operand::{Operand, Origin, Typing, dtypes, take};
use super::refusal::{Accepts, Refusal};
use super::{Defaults, Node, Rules, Semantics};
use crate::convert::{Literal, Numerics, is_exact};
use crate::dtype::{DType, Kind};
use crate::lattice::{Lattice, NoJoin};
use crate::op::Op;

const STRONG: [DType; 15] = [B1, U8, U16, U32, U64, I8, I16, I32, I64, BF16, F16, F32, F64, C64, C128];

/// Immediate successors in mode "all"; TensorFlow's `i32*`, `f32*` and `c128*` are what Python's numbers are.
const EDGES: &[(DType, &[DType])] = &[
    (B1, &[WeakInt]),
    (WeakInt, &[WeakI64]),
    (WeakI64, &[U8, I8, WeakFloat]),
    (U8, &[U16, I16]),
    (U16, &[U32, I32]),
    (U32, &[U64, I64]),
    (U64, &[WeakF64]),
    (I8, &[I16]),
    (I16, &[I32]),
    (I32, &[I64]),
    (I64, &[WeakF64]),
    (WeakFloat, &[WeakF64]),
    (WeakF64, &[BF16, F16, WeakComplex]),
    (BF16, &[F32]),
    (F16, &[F32]),
    (F32, &[F64, C64]),
    (F64, &[C128]),
    (WeakComplex, &[C64]),
    (C64, &[C128]),
];

const DEFAULTS: Defaults = Defaults { unsigned: U64, small_float: F32, ..Defaults::new(I32, F32, C128) };

/// How operands of several dtypes are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain,
    Safe,
    All,
}

#[derive(Debug)]
struct TensorFlow {
    name: &'static str,
    mode: Mode,
    lattice: Lattice,
}

/// TensorFlow as it is.
pub(super) fn plain(_: bool) -> Semantics {
    semantics("tensorflow", Mode::Plain)
}

/// `dtype_conversion_mode="legacy"`, which does not promote either.
pub(super) fn legacy(_: bool) -> Semantics {
    semantics("tensorflow-legacy", Mode::Plain)
}

/// `dtype_conversion_mode="safe"`.
pub(super) fn safe(_: bool) -> Semantics {
    semantics("tensorflow-safe", Mode::Safe)
}

/// `dtype_conversion_mode="all"`.
pub(super) fn all(_: bool) -> Semantics {
    semantics("tensorflow-all", Mode::All)
}

fn semantics(name: &'static str, mode: Mode) -> Semantics {
    let lattice = Lattice::new(&STRONG, EDGES).expect("mode all has no cycle, as a test shows");
    let weak = [
        ("i32*", WeakInt),
        ("i64*", WeakI64),
        ("f32*", WeakFloat),
        ("f64*", WeakF64),
        ("c128*", WeakComplex),
    ];
    let weak = weak.map(|(name, dtype)| Node { name, operand: Operand::value(dtype) });
    let mut nodes: Vec<_> = STRONG.iter().map(|dtype| Node::of(*dtype)).collect();
    nodes.extend(weak.into_iter().filter(|_| mode != Mode::Plain));
    nodes.push(Node::PYTHON_BOOL);
    nodes.extend([WeakInt, WeakFloat, WeakComplex].map(Node::of));
    let rules = Semantics::by_rules(name.into(), TensorFlow { name, mode, lattice }, nodes, Numerics::NumPy);
    Semantics { tabulated: Some(Op::Add), defaults: DEFAULTS, ..rules }
}

/// What `tf.gather` takes with.
const INDICES: &[DType] = &[I16, I32, I64];

/// Whether a Python scalar can be converted to a tensor of `dtype`.
const fn takes(dtype: DType, scalar: DType) -> bool {
    match scalar.kind() {
        Kind::Bool => matches!(dtype, B1 | U64 | I32 | I64 | F16 | F32 | F64 | C128),
        Kind::Unsigned | Kind::Signed => !matches!(dtype, B1),
        Kind::Float => dtype.is_inexact(),
        Kind::Complex => matches!(dtype.kind(), Kind::Complex),
    }
}

/// The weak tensor that is carried as `dtype`.
const fn weakened(dtype: DType) -> Option<DType> {
    match dtype {
        I32 => Some(WeakInt),
        I64 => Some(WeakI64),
        F32 => Some(WeakFloat),
        F64 => Some(WeakF64),
        C128 => Some(WeakComplex),
        _ => None,
    }
}

impl TensorFlow {
    fn knows(&self, dtype: DType) -> bool {
        self.lattice.contains(dtype) && !(self.mode == Mode::Plain && matches!(dtype, WeakI64 | WeakF64))
    }

    /// By default, what is weak is a Python scalar; the modes also have weak tensors.
    fn is_scalar(&self, operand: &Operand) -> bool {
        if self.mode == Mode::Plain { operand.is_python() } else { operand.is_literal() }
    }

    fn differ(&self, op: Op, operands: &[Operand]) -> Refusal {
        Refusal::Differ { semantics: self.name.into(), op, dtypes: dtypes(operands) }
    }

    /// The rule of the modes.
    fn join(&self, a: DType, b: DType) -> Result<DType, NoJoin> {
        let join = self.lattice.join(&[a, b])?;
        let safe = match (a, b) {
            (F64, WeakComplex) | (WeakComplex, F64) => true,
            _ if join == a => b.is_weak() || is_exact(b, join),
            _ if join == b => a.is_weak() || is_exact(a, join),
            _ => false,
        };
        if self.mode == Mode::Safe && !safe {
            let because = "mode safe rejects promotions that lose information or result in the dtype of neither operand";
            return Err(NoJoin::Undefined { dtypes: vec![a, b], because });
        }
        Ok(join)
    }

    fn join_all(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        let mut dtypes = operands.iter().map(|operand| operand.dtype);
        let first = dtypes.next().ok_or(NoJoin::NoUpperBound { dtypes: vec![] })?;
        dtypes.try_fold(first, |join, dtype| self.join(join, dtype))
    }

    /// The modes: the join, to which a Python bool must be convertible.
    fn promoted(&self, op: Op, operands: &[Operand]) -> Result<DType, Refusal> {
        let refuses_bool = |o: &Operand| !self.is_scalar(o) && !o.dtype.is_weak() && !takes(o.dtype, B1);
        let is_python_bool = |o: &Operand| o.is_literal() && o.dtype == B1;
        if operands.iter().any(is_python_bool) && operands.iter().any(refuses_bool) {
            return Err(self.differ(op, operands));
        }
        self.join_all(operands).map_err(|reason| Refusal::NoJoin {
            semantics: self.name.into(),
            dtypes: dtypes(operands),
            reason,
        })
    }

    /// The default: the first tensor decides or, in function form (`tf.add`), the first operand.
    fn decided(&self, op: Op, operands: &[Operand]) -> Result<DType, Refusal> {
        let first = match op {
            Op::Add | Op::Clip => None,
            // In the modes, a list of Python scalars alone becomes an array first.
            Op::Stack if self.mode != Mode::Plain => {
                operands.iter().max_by_key(|o| (!self.is_scalar(o), o.dtype.kind()))
            }
            _ => operands.iter().find(|o| !self.is_scalar(o) && !o.dtype.is_weak()),
        };
        let decides = first.or(operands.first()).ok_or_else(|| self.differ(op, operands))?;
        // The one op whose attribute has a default.
        let default = op == Op::NextAfter && self.is_scalar(decides);
        let dtype = if default { F32 } else { DEFAULTS.strengthen(decides.dtype) };
        let fits = |o: &Operand| {
            if self.is_scalar(o) { takes(dtype, o.dtype) } else { DEFAULTS.strengthen(o.dtype) == dtype }
        };
        if operands.iter().all(fits) { Ok(dtype) } else { Err(self.differ(op, operands)) }
    }

    /// The dtype that operands have one way or the other, which the op has a kernel for.
    fn together(&self, op: Op, row: Row, operands: &[Operand]) -> Result<DType, Refusal> {
        let semantics = || self.name.into();
        let modes = self.mode != Mode::Plain;
        if modes && (row.promotes || op == Op::Where) {
            self.refuse_literals_beyond_i32(operands)?;
        }
        let dtype = match operands {
            [x] => x.dtype,
            _ if modes && row.promotes => self.promoted(op, operands)?,
            _ => self.decided(op, operands)?,
        };
        let dtype = if modes && row.weak { dtype } else { DEFAULTS.strengthen(dtype) };
        if !row.accepts.has(dtype.kind()) {
            return Err(Refusal::Dtype { semantics: semantics(), op, dtype, accepts: row.accepts });
        }
        if row.lacks.contains(&DEFAULTS.strengthen(dtype)) {
            return Err(Refusal::Kernel { semantics: semantics(), op, dtype, lacks: row.lacks });
        }
        Ok(dtype)
    }

    /// Where the modes promote, a Python integer is an `i32*` and must be one; by default it wraps around.
    fn refuse_literals_beyond_i32(&self, operands: &[Operand]) -> Result<(), Refusal> {
        for operand in operands {
            if let Origin::Literal(Literal::Int(literal)) = operand.origin
                && i32::try_from(literal).is_err()
            {
                return Err(Refusal::LiteralRange { semantics: self.name.into(), literal, dtype: I32 });
            }
        }
        Ok(())
    }

    /// In the modes `clip` is `maximum(minimum(x, hi), lo)` on the strong form of `x`, and weak if `x` is.
    fn clip(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let [x, lo, hi] = operands else { return Err(self.differ(op, operands)) };
        let carried = Operand::value(DEFAULTS.strengthen(x.dtype));
        let below = Operand::value(self.together(op, row, &[carried, *hi])?);
        let compute = self.together(op, row, &[below, *lo])?;
        let result = if x.dtype.is_weak() { weakened(compute) } else { Some(compute) };
        Ok(Typing::uniform(compute, result.ok_or_else(|| self.differ(op, operands))?))
    }

    fn row(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let semantics = || self.name.into();
        let literal = |(_, operand): &(usize, &Operand)| operand.is_literal();
        match (op, operands) {
            (Op::Where, [condition, ..]) if condition.dtype != B1 => {
                let (dtype, accepts) = (condition.dtype, Accepts::BOOL);
                return Err(Refusal::Operand { op, index: 0, dtype, accepts });
            }
            (Op::Where, [_, branches @ ..]) => {
                let compute = self.together(op, row, branches)?;
                return Ok(Typing::uniform(compute, compute).with(0, B1));
            }
            (Op::Clip, _) if self.mode != Mode::Plain => return self.clip(op, row, operands),
            (Op::Concat | Op::Matmul, _) => {
                if let Some((index, operand)) = operands.iter().enumerate().find(literal) {
                    return Err(Refusal::Scalar { semantics: semantics(), op, index, dtype: operand.dtype });
                }
            }
            _ => {}
        }
        // The one kernel for operands that differ.
        if let (Op::Matmul, [BF16, F32] | [F32, BF16]) = (op, &*dtypes(operands)) {
            return Ok(Typing::own(operands, F32));
        }
        let dtype = self.together(op, row, operands)?;
        let compute = if op == Op::Divide { true_division(dtype) } else { dtype };
        let result = match (row.output, compute) {
            // TensorFlow's weak complex dtype is of 128 bits.
            (Output::RealPart, WeakComplex) => WeakF64,
            (output, _) => output.of(compute, I64),
        };
        Ok(Typing::uniform(compute, result))
    }
}

impl Rules for TensorFlow {
    /// By default, tensors of one dtype and the scalars that become it; among scalars alone, the highest kind.
    fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        if let Some(unknown) = operands.iter().find(|o| !self.knows(o.dtype)) {
            return Err(NoJoin::NoNode { dtype: unknown.dtype });
        }
        if self.mode != Mode::Plain {
            return self.join_all(operands);
        }
        let tensor =
            operands.iter().find(|o| !o.is_python()).or(operands.iter().max_by_key(|o| o.dtype.kind()));
        let dtype = tensor.ok_or(NoJoin::NoUpperBound { dtypes: vec![] })?.dtype;
        let fits = |o: &Operand| o.dtype == dtype || o.is_python() && takes(dtype, o.dtype);
        let because =
            "TensorFlow does not promote tensors, and does not convert Python scalars to a lower kind";
        let undefined = || NoJoin::Undefined { dtypes: dtypes(operands), because };
        if operands.iter().all(fits) { Ok(dtype) } else { Err(undefined()) }
    }

    fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        let semantics = || self.name.into();
        let rule = rule(op, self.mode != Mode::Plain);
        if let Rule::Stated = rule {
            return Ok(None);
        }
        if let Some(unknown) = operands.iter().find(|o| !self.knows(o.dtype)) {
            return Err(Refusal::NoNode { semantics: semantics(), dtype: unknown.dtype });
        }
        let no_operands = || self.differ(op, operands);
        let typing = match (rule, operands) {
            (Rule::Stated, _) => return Ok(None),
            (Rule::None(because), _) => return Err(Refusal::NoOp { semantics: semantics(), op, because }),
            (_, []) => return Err(no_operands()),
            (Rule::First, [x, ..]) => Typing::own(operands, x.dtype),
            (Rule::Take, [_, indices, ..]) if !INDICES.contains(&DEFAULTS.strengthen(indices.dtype)) => {
                let (dtype, accepts) = (indices.dtype, INDICES);
                return Err(Refusal::Index { semantics: semantics(), dtype, accepts });
            }
            (Rule::Take, _) => take(op, operands)?,
            (Rule::Row(row), _) => self.row(op, row, operands)?,
        };
        Ok(Some(typing))
    }
}
