//! The one table of ops: name, operands, attributes, shape rule.
//!
//! Everything that depends on which ops there are is made from this table: the IRDL file, the MLIR builders and checks
//! (crate `promote-dialect`), shape inference (crate `promote-infer`). The dtype rules stand in
//! [`semantics`](crate::semantics), one row an op, and the compiler asks for the row of a new op.
//!
//! Names are the Array API standard's.

use std::fmt;

/// What an attribute's value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// `array<i64: …>`.
    Ints,
    /// One `i64`.
    Int,
    /// `true` or `false`.
    Flag,
    /// An `i64` or an `f64`.
    Number,
    /// `dense<…> : tensor<…>`.
    Elements,
}

impl AttrKind {
    /// How a value of this kind is written, for error messages.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Ints => "array<i64: 0, 1>",
            Self::Int => "0 : i64",
            Self::Flag => "true or false",
            Self::Number => "1 : i64 or 0.5 : f64",
            Self::Elements => "dense<1.0> : tensor<f32>",
        }
    }
}

/// One attribute of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttrSpec {
    /// Its name.
    pub name: &'static str,
    /// What its value must be.
    pub kind: AttrKind,
    /// Whether the op needs it.
    pub required: bool,
}

const fn needs(name: &'static str, kind: AttrKind) -> AttrSpec {
    AttrSpec { name, kind, required: true }
}

const fn takes(name: &'static str, kind: AttrKind) -> AttrSpec {
    AttrSpec { name, kind, required: false }
}

/// How many operands an op has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// The operands it must have.
    pub required: usize,
    /// The operands it may have beyond those.
    pub optional: usize,
}

/// How the shape of an op's result follows from its operands' shapes and its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeRule {
    /// The op's type or its `value` says it.
    Stated,
    /// All operands are broadcast to one shape, as in NumPy.
    Broadcast,
    /// The operand's shape.
    Same,
    /// The reduced dimensions go, or become 1 with `keepdims`.
    Reduce,
    /// The operand's shape; `axis` names dimensions of it.
    Along,
    /// The operand's shape, or, without `axis`, that of the flattened operand.
    Scan,
    /// `x @ y` of NumPy.
    Matmul,
    /// Operands joined along `axis`.
    Concat,
    /// Operands joined along a new `axis`.
    Stack,
    /// The attribute `shape`, one entry of which may be -1.
    Reshape,
    /// Dimensions in the order of `permutation`.
    Permute,
    /// The attribute `shape`, into which the operand's shape must broadcast.
    BroadcastTo,
    /// A 1 at each of `axis`.
    ExpandDims,
    /// Without the 1s at `axis`.
    Squeeze,
    /// `start`, `stop`, `step` a dimension.
    Slice,
    /// The indices' shape in the place of dimension `axis`.
    Take,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The name after `promote.`.
    pub name: &'static str,
    /// The name NumPy and JAX know it by, where it differs.
    pub alias: Option<&'static str>,
    /// How many operands.
    pub arity: Arity,
    /// How the result's shape comes about.
    pub shape: ShapeRule,
    /// The attributes it knows.
    pub attrs: &'static [AttrSpec],
}

macro_rules! ops {
    ($($variant:ident $name:literal $([$alias:literal])? $required:literal $(+ $optional:literal)? $shape:ident $attrs:expr;)*) => {
        /// An op of the promote dialect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $(#[doc = concat!("`promote.", $name, "`")] $variant,)* }

        impl Op {
            /// Every op, in the table's order: `ALL[op as usize] == op`.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The op's row.
            pub const fn info(self) -> &'static OpInfo {
                match self { $(Op::$variant => const { &OpInfo {
                    name: $name,
                    alias: ops!(@alias $($alias)?),
                    arity: Arity { required: $required, optional: 0 $(+ $optional)? },
                    shape: ShapeRule::$shape,
                    attrs: $attrs,
                } },)* }
            }
        }
    };
    (@alias) => { None };
    (@alias $alias:literal) => { Some($alias) };
}

use AttrKind::{Elements, Flag, Int, Ints, Number};

const NONE: &[AttrSpec] = &[];
const REDUCTION: &[AttrSpec] = &[takes("axis", Ints), takes("keepdims", Flag)];
const MOMENT: &[AttrSpec] = &[takes("axis", Ints), takes("keepdims", Flag), takes("correction", Number)];
const LIST_AXIS: &[AttrSpec] = &[takes("axis", Ints)];
const NEEDS_LIST_AXIS: &[AttrSpec] = &[needs("axis", Ints)];
const AXIS: &[AttrSpec] = &[needs("axis", Int)];
const SHAPE: &[AttrSpec] = &[needs("shape", Ints)];
const PERMUTATION: &[AttrSpec] = &[needs("permutation", Ints)];
const SLICE: &[AttrSpec] = &[needs("start", Ints), needs("stop", Ints), needs("step", Ints)];

ops! {
    Constant "constant" 0 Stated &[needs("value", Elements)];
    Iota "iota" 0 Stated AXIS;

    Negative "negative" ["neg"] 1 Broadcast NONE;
    Positive "positive" 1 Broadcast NONE;
    Abs "abs" 1 Broadcast NONE;
    Sign "sign" 1 Broadcast NONE;
    Square "square" 1 Broadcast NONE;
    Floor "floor" 1 Broadcast NONE;
    Ceil "ceil" 1 Broadcast NONE;
    Round "round" 1 Broadcast NONE;
    Trunc "trunc" 1 Broadcast NONE;
    Real "real" 1 Broadcast NONE;
    Imag "imag" 1 Broadcast NONE;
    Conj "conj" 1 Broadcast NONE;
    BitwiseInvert "bitwise_invert" ["bitwise_not"] 1 Broadcast NONE;
    Relu "relu" 1 Broadcast NONE;

    Sqrt "sqrt" 1 Broadcast NONE;
    Cbrt "cbrt" 1 Broadcast NONE;
    Rsqrt "rsqrt" 1 Broadcast NONE;
    Exp "exp" 1 Broadcast NONE;
    Exp2 "exp2" 1 Broadcast NONE;
    Expm1 "expm1" 1 Broadcast NONE;
    Log "log" 1 Broadcast NONE;
    Log2 "log2" 1 Broadcast NONE;
    Log10 "log10" 1 Broadcast NONE;
    Log1p "log1p" 1 Broadcast NONE;
    Sin "sin" 1 Broadcast NONE;
    Cos "cos" 1 Broadcast NONE;
    Tan "tan" 1 Broadcast NONE;
    Sinh "sinh" 1 Broadcast NONE;
    Cosh "cosh" 1 Broadcast NONE;
    Tanh "tanh" 1 Broadcast NONE;
    Asin "asin" 1 Broadcast NONE;
    Acos "acos" 1 Broadcast NONE;
    Atan "atan" 1 Broadcast NONE;
    Asinh "asinh" 1 Broadcast NONE;
    Acosh "acosh" 1 Broadcast NONE;
    Atanh "atanh" 1 Broadcast NONE;
    Erf "erf" 1 Broadcast NONE;
    Sigmoid "sigmoid" 1 Broadcast NONE;
    Reciprocal "reciprocal" 1 Broadcast NONE;
    Angle "angle" 1 Broadcast NONE;

    IsNan "isnan" 1 Broadcast NONE;
    IsInf "isinf" 1 Broadcast NONE;
    IsFinite "isfinite" 1 Broadcast NONE;
    SignBit "signbit" 1 Broadcast NONE;
    LogicalNot "logical_not" 1 Broadcast NONE;

    Add "add" 2 Broadcast NONE;
    Subtract "subtract" ["sub"] 2 Broadcast NONE;
    Multiply "multiply" ["mul"] 2 Broadcast NONE;
    Divide "divide" ["true_divide"] 2 Broadcast NONE;
    FloorDivide "floor_divide" 2 Broadcast NONE;
    Remainder "remainder" 2 Broadcast NONE;
    Fmod "fmod" 2 Broadcast NONE;
    Pow "pow" ["power"] 2 Broadcast NONE;
    Maximum "maximum" 2 Broadcast NONE;
    Minimum "minimum" 2 Broadcast NONE;
    Atan2 "atan2" 2 Broadcast NONE;
    Hypot "hypot" 2 Broadcast NONE;
    LogAddExp "logaddexp" 2 Broadcast NONE;
    CopySign "copysign" 2 Broadcast NONE;
    NextAfter "nextafter" 2 Broadcast NONE;
    Gcd "gcd" 2 Broadcast NONE;
    Lcm "lcm" 2 Broadcast NONE;

    Equal "equal" ["eq"] 2 Broadcast NONE;
    NotEqual "not_equal" ["ne"] 2 Broadcast NONE;
    Less "less" ["lt"] 2 Broadcast NONE;
    LessEqual "less_equal" ["le"] 2 Broadcast NONE;
    Greater "greater" ["gt"] 2 Broadcast NONE;
    GreaterEqual "greater_equal" ["ge"] 2 Broadcast NONE;
    LogicalAnd "logical_and" 2 Broadcast NONE;
    LogicalOr "logical_or" 2 Broadcast NONE;
    LogicalXor "logical_xor" 2 Broadcast NONE;
    BitwiseAnd "bitwise_and" 2 Broadcast NONE;
    BitwiseOr "bitwise_or" 2 Broadcast NONE;
    BitwiseXor "bitwise_xor" 2 Broadcast NONE;
    BitwiseLeftShift "bitwise_left_shift" ["left_shift"] 2 Broadcast NONE;
    BitwiseRightShift "bitwise_right_shift" ["right_shift"] 2 Broadcast NONE;

    Where "where" 3 Broadcast NONE;
    Clip "clip" 3 Broadcast NONE;
    Concat "concat" ["concatenate"] 1 + 7 Concat AXIS;
    Stack "stack" 1 + 7 Stack AXIS;

    Sum "sum" 1 Reduce REDUCTION;
    Prod "prod" 1 Reduce REDUCTION;
    Mean "mean" 1 Reduce REDUCTION;
    Var "var" 1 Reduce MOMENT;
    Std "std" 1 Reduce MOMENT;
    Max "max" 1 Reduce REDUCTION;
    Min "min" 1 Reduce REDUCTION;
    Any "any" 1 Reduce REDUCTION;
    All "all" 1 Reduce REDUCTION;
    ArgMax "argmax" 1 Reduce REDUCTION;
    ArgMin "argmin" 1 Reduce REDUCTION;
    CumulativeSum "cumulative_sum" ["cumsum"] 1 Scan LIST_AXIS;
    CumulativeProd "cumulative_prod" ["cumprod"] 1 Scan LIST_AXIS;
    Sort "sort" 1 Along LIST_AXIS;
    Softmax "softmax" 1 Along LIST_AXIS;
    LogSumExp "logsumexp" 1 Reduce REDUCTION;
    CountNonzero "count_nonzero" 1 Reduce REDUCTION;

    Matmul "matmul" 2 Matmul NONE;

    Reshape "reshape" 1 Reshape SHAPE;
    PermuteDims "permute_dims" ["transpose"] 1 Permute PERMUTATION;
    BroadcastTo "broadcast_to" 1 + 1 BroadcastTo SHAPE;
    ExpandDims "expand_dims" 1 ExpandDims NEEDS_LIST_AXIS;
    Squeeze "squeeze" 1 Squeeze NEEDS_LIST_AXIS;
    Flip "flip" 1 Along LIST_AXIS;
    Slice "slice" 1 Slice SLICE;
    Take "take" 2 Take AXIS;

    Convert "convert" ["astype"] 1 Same NONE;
    Relax "relax" 1 Same NONE;
}

impl Op {
    /// The name after `promote.`.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The op of that name, without `promote.`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// The op whose name or alias `name` is.
    pub fn by_name_or_alias(name: &str) -> Option<Self> {
        Self::by_name(name).or_else(|| Self::ALL.iter().copied().find(|op| op.info().alias == Some(name)))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "promote.{}", self.name())
    }
}
