//! The one table of ops: name, class, operands, attributes, shape rule, and what it computes.
//!
//! Everything that depends on which ops there are is made from this table: the IRDL file, the MLIR builders and checks
//! (crate `promote-dialect`), shape inference (crate `promote-infer`). The dtype rules stand in
//! [`semantics`](crate::semantics), by [`Class`]: an op that does as its class does needs no rule of its own.
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

/// What sort of function an op is: what a library does with one of a class it does, as a rule, with all of them.
///
/// A semantics says what its classes do and lists exceptions, and so does all else that asks how an op behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// What has the dtype that its type says.
    Stated,
    /// What moves the elements of one tensor.
    Layout,
    /// What looks elements up.
    Indexing,
    /// What joins tensors.
    Joining,
    /// What chooses between elements.
    Choice,
    /// Parts of complex numbers.
    Part,
    /// What changes or asks for a sign, and the like, in the dtype of the operand.
    Sign,
    /// What rounds to integers.
    Rounding,
    /// The elementary functions, of real and of complex numbers.
    Function,
    /// The functions of statistics and physics, of real numbers: those of `scipy.special`.
    SpecialFunction,
    /// Questions about a number.
    Predicate,
    /// Logic on truth values.
    Logical,
    /// Logic on bits.
    Bitwise,
    /// Shifts of bits.
    Shift,
    /// The arithmetic of Python's operators.
    Arithmetic,
    /// The greater or the lesser of two.
    Extremum,
    /// Functions of two real numbers.
    FloatPair,
    /// Functions of two integers.
    IntegerPair,
    /// Comparisons.
    Comparison,
    /// Sums and products of elements.
    Accumulation,
    /// Means and variances.
    Moment,
    /// What orders the elements of a tensor, or takes the first in order.
    Order,
    /// Whether elements hold.
    Truth,
    /// Indices and counts of elements.
    Index,
    /// Exponentials of elements and their sums.
    Exponential,
    /// Products of matrices.
    Product,
}

impl Class {
    /// What tables call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stated => "stated dtype",
            Self::Layout => "layout",
            Self::Indexing => "indexing",
            Self::Joining => "joining",
            Self::Choice => "choice",
            Self::Part => "part of a complex number",
            Self::Sign => "sign",
            Self::Rounding => "rounding",
            Self::Function => "elementary function",
            Self::SpecialFunction => "special function",
            Self::Predicate => "predicate",
            Self::Logical => "logic",
            Self::Bitwise => "bits",
            Self::Shift => "shift",
            Self::Arithmetic => "arithmetic",
            Self::Extremum => "extremum",
            Self::FloatPair => "function of two floats",
            Self::IntegerPair => "function of two integers",
            Self::Comparison => "comparison",
            Self::Accumulation => "accumulation",
            Self::Moment => "moment",
            Self::Order => "order",
            Self::Truth => "truth",
            Self::Index => "index",
            Self::Exponential => "exponential",
            Self::Product => "product",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The name after `promote.`.
    pub name: &'static str,
    /// What it computes, as the end of a sentence.
    pub description: &'static str,
    /// What sort of function it is.
    pub class: Class,
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
    ($($variant:ident $name:literal $([$alias:literal])? $class:ident $required:literal $(+ $optional:literal)? $shape:ident $attrs:tt $doc:literal;)*) => {
        /// An op of the promote dialect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $(#[doc = concat!("`promote.", $name, "`: ", $doc, ".")] $variant,)* }

        impl Op {
            /// Every op, in the table's order: `ALL[op as usize] == op`.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The op's row.
            pub const fn info(self) -> &'static OpInfo {
                match self { $(Op::$variant => const { &OpInfo {
                    name: $name,
                    description: $doc,
                    class: Class::$class,
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
const VALUE: &[AttrSpec] = &[needs("value", Elements)];
const REDUCTION: &[AttrSpec] = &[takes("axis", Ints), takes("keepdims", Flag)];
const MOMENT: &[AttrSpec] = &[takes("axis", Ints), takes("keepdims", Flag), takes("correction", Number)];
const LIST_AXIS: &[AttrSpec] = &[takes("axis", Ints)];
const NEEDS_LIST_AXIS: &[AttrSpec] = &[needs("axis", Ints)];
const AXIS: &[AttrSpec] = &[needs("axis", Int)];
const SHAPE: &[AttrSpec] = &[needs("shape", Ints)];
const PERMUTATION: &[AttrSpec] = &[needs("permutation", Ints)];
const SLICE: &[AttrSpec] = &[needs("start", Ints), needs("stop", Ints), needs("step", Ints)];

ops! {
    Constant "constant" Stated 0 Stated VALUE "the elements of `value`";
    Iota "iota" Stated 0 Stated AXIS "the index along `axis`";

    Negative "negative" ["neg"] Sign 1 Broadcast NONE "−x";
    Positive "positive" Sign 1 Broadcast NONE "x";
    Abs "abs" Sign 1 Broadcast NONE "the absolute value";
    Sign "sign" Sign 1 Broadcast NONE "−1, 0 or 1 by the sign of x; x / |x| of a complex number";
    Square "square" Sign 1 Broadcast NONE "x · x";
    Floor "floor" Rounding 1 Broadcast NONE "the greatest integer that is not greater";
    Ceil "ceil" Rounding 1 Broadcast NONE "the least integer that is not less";
    Round "round" Rounding 1 Broadcast NONE "the nearest integer, the even one of two";
    Trunc "trunc" Rounding 1 Broadcast NONE "the integer part";
    Real "real" Part 1 Broadcast NONE "the real part";
    Imag "imag" Part 1 Broadcast NONE "the imaginary part";
    Conj "conj" Part 1 Broadcast NONE "the complex conjugate";
    BitwiseInvert "bitwise_invert" ["bitwise_not"] Bitwise 1 Broadcast NONE "the complement of the bits";
    Relu "relu" Sign 1 Broadcast NONE "the greater of x and 0";

    Sqrt "sqrt" Function 1 Broadcast NONE "the square root";
    Cbrt "cbrt" Function 1 Broadcast NONE "the cube root";
    Rsqrt "rsqrt" Function 1 Broadcast NONE "1 / √x";
    Exp "exp" Function 1 Broadcast NONE "e to the power of x";
    Exp2 "exp2" Function 1 Broadcast NONE "2 to the power of x";
    Expm1 "expm1" Function 1 Broadcast NONE "eˣ − 1, exact near 0";
    Log "log" Function 1 Broadcast NONE "the natural logarithm";
    Log2 "log2" Function 1 Broadcast NONE "the logarithm to base 2";
    Log10 "log10" Function 1 Broadcast NONE "the logarithm to base 10";
    Log1p "log1p" Function 1 Broadcast NONE "the logarithm of 1 + x, exact near 0";
    Sin "sin" Function 1 Broadcast NONE "the sine";
    Cos "cos" Function 1 Broadcast NONE "the cosine";
    Tan "tan" Function 1 Broadcast NONE "the tangent";
    Sinc "sinc" Function 1 Broadcast NONE "sin(π · x) / (π · x), and 1 at 0";
    Sinh "sinh" Function 1 Broadcast NONE "the hyperbolic sine";
    Cosh "cosh" Function 1 Broadcast NONE "the hyperbolic cosine";
    Tanh "tanh" Function 1 Broadcast NONE "the hyperbolic tangent";
    Asin "asin" Function 1 Broadcast NONE "the inverse sine";
    Acos "acos" Function 1 Broadcast NONE "the inverse cosine";
    Atan "atan" Function 1 Broadcast NONE "the inverse tangent";
    Asinh "asinh" Function 1 Broadcast NONE "the inverse hyperbolic sine";
    Acosh "acosh" Function 1 Broadcast NONE "the inverse hyperbolic cosine";
    Atanh "atanh" Function 1 Broadcast NONE "the inverse hyperbolic tangent";
    Erf "erf" SpecialFunction 1 Broadcast NONE "the error function";
    Erfc "erfc" SpecialFunction 1 Broadcast NONE "1 less the error function, exact far out too";
    Lgamma "lgamma" SpecialFunction 1 Broadcast NONE "the logarithm of the absolute value of the gamma function";
    Sigmoid "sigmoid" Function 1 Broadcast NONE "1 / (1 + e⁻ˣ)";
    Reciprocal "reciprocal" Function 1 Broadcast NONE "1 / x";
    Angle "angle" Part 1 Broadcast NONE "the angle of a complex number, from −π to π";

    IsNan "isnan" Predicate 1 Broadcast NONE "whether x is a NaN";
    IsInf "isinf" Predicate 1 Broadcast NONE "whether x is an infinity";
    IsFinite "isfinite" Predicate 1 Broadcast NONE "whether x is neither an infinity nor a NaN";
    SignBit "signbit" Predicate 1 Broadcast NONE "whether the sign of x is −";
    LogicalNot "logical_not" Logical 1 Broadcast NONE "whether x is zero";

    Add "add" Arithmetic 2 Broadcast NONE "x + y";
    Subtract "subtract" ["sub"] Arithmetic 2 Broadcast NONE "x − y";
    Multiply "multiply" ["mul"] Arithmetic 2 Broadcast NONE "x · y";
    Divide "divide" ["true_divide"] Arithmetic 2 Broadcast NONE "x / y";
    FloorDivide "floor_divide" Arithmetic 2 Broadcast NONE "the floor of x / y";
    Remainder "remainder" Arithmetic 2 Broadcast NONE "x − y · ⌊x / y⌋, which has the sign of y";
    Fmod "fmod" Arithmetic 2 Broadcast NONE "the remainder that has the sign of x";
    Pow "pow" ["power"] Arithmetic 2 Broadcast NONE "x to the power of y";
    Maximum "maximum" Extremum 2 Broadcast NONE "the greater operand";
    Minimum "minimum" Extremum 2 Broadcast NONE "the lesser operand";
    Atan2 "atan2" FloatPair 2 Broadcast NONE "the angle of the point with ordinate x and abscissa y";
    Hypot "hypot" FloatPair 2 Broadcast NONE "√(x² + y²)";
    LogAddExp "logaddexp" FloatPair 2 Broadcast NONE "the logarithm of eˣ + eʸ";
    CopySign "copysign" FloatPair 2 Broadcast NONE "the absolute value of x with the sign of y";
    NextAfter "nextafter" FloatPair 2 Broadcast NONE "the number next to x in the direction of y";
    Gcd "gcd" IntegerPair 2 Broadcast NONE "the greatest common divisor";
    Lcm "lcm" IntegerPair 2 Broadcast NONE "the least common multiple";

    Equal "equal" ["eq"] Comparison 2 Broadcast NONE "whether x = y";
    NotEqual "not_equal" ["ne"] Comparison 2 Broadcast NONE "whether x ≠ y";
    Less "less" ["lt"] Comparison 2 Broadcast NONE "whether x < y";
    LessEqual "less_equal" ["le"] Comparison 2 Broadcast NONE "whether x ≤ y";
    Greater "greater" ["gt"] Comparison 2 Broadcast NONE "whether x > y";
    GreaterEqual "greater_equal" ["ge"] Comparison 2 Broadcast NONE "whether x ≥ y";
    LogicalAnd "logical_and" Logical 2 Broadcast NONE "whether both operands are nonzero";
    LogicalOr "logical_or" Logical 2 Broadcast NONE "whether an operand is nonzero";
    LogicalXor "logical_xor" Logical 2 Broadcast NONE "whether one operand is nonzero and the other is not";
    BitwiseAnd "bitwise_and" Bitwise 2 Broadcast NONE "the bits that both operands have";
    BitwiseOr "bitwise_or" Bitwise 2 Broadcast NONE "the bits that an operand has";
    BitwiseXor "bitwise_xor" Bitwise 2 Broadcast NONE "the bits that one of the operands has";
    BitwiseLeftShift "bitwise_left_shift" ["left_shift"] Shift 2 Broadcast NONE "the bits, moved to higher places";
    BitwiseRightShift "bitwise_right_shift" ["right_shift"] Shift 2 Broadcast NONE "the bits, moved to lower places";

    Where "where" Choice 3 Broadcast NONE "the second operand where the first holds, else the third";
    Clip "clip" Choice 3 Broadcast NONE "the first operand, not less than the second and not greater than the third";
    Concat "concat" ["concatenate"] Joining 1 + 7 Concat AXIS "the operands, one after the other along `axis`";
    Stack "stack" Joining 1 + 7 Stack AXIS "the operands, one after the other along a new `axis`";

    Sum "sum" Accumulation 1 Reduce REDUCTION "the sum";
    Prod "prod" Accumulation 1 Reduce REDUCTION "the product";
    Mean "mean" Moment 1 Reduce REDUCTION "the mean";
    Var "var" Moment 1 Reduce MOMENT "the variance, with `correction` less degrees of freedom";
    Std "std" Moment 1 Reduce MOMENT "the square root of the variance";
    Max "max" Order 1 Reduce REDUCTION "the greatest element";
    Min "min" Order 1 Reduce REDUCTION "the least element";
    Any "any" Truth 1 Reduce REDUCTION "whether an element is nonzero";
    All "all" Truth 1 Reduce REDUCTION "whether all elements are nonzero";
    ArgMax "argmax" Index 1 Reduce REDUCTION "the index of the first greatest element";
    ArgMin "argmin" Index 1 Reduce REDUCTION "the index of the first least element";
    CumulativeSum "cumulative_sum" ["cumsum"] Accumulation 1 Scan LIST_AXIS "the sums of all elements up to each";
    CumulativeProd "cumulative_prod" ["cumprod"] Accumulation 1 Scan LIST_AXIS "the products of all elements up to each";
    Sort "sort" Order 1 Along LIST_AXIS "the elements in ascending order";
    Softmax "softmax" Exponential 1 Along LIST_AXIS "eˣ over the sum of eˣ along `axis`";
    LogSumExp "logsumexp" Exponential 1 Reduce REDUCTION "the logarithm of the sum of eˣ";
    CountNonzero "count_nonzero" Index 1 Reduce REDUCTION "the number of nonzero elements";

    Matmul "matmul" Product 2 Matmul NONE "the product of matrices, as NumPy's `@`";

    Reshape "reshape" Layout 1 Reshape SHAPE "the elements in another shape, in row-major order";
    PermuteDims "permute_dims" ["transpose"] Layout 1 Permute PERMUTATION "the dimensions in another order";
    BroadcastTo "broadcast_to" Layout 1 + 1 BroadcastTo SHAPE "the elements repeated to fill `shape`";
    ExpandDims "expand_dims" Layout 1 ExpandDims NEEDS_LIST_AXIS "new dimensions of one element";
    Squeeze "squeeze" Layout 1 Squeeze NEEDS_LIST_AXIS "without dimensions of one element";
    Flip "flip" Layout 1 Along LIST_AXIS "the elements in reverse order along `axis`";
    Slice "slice" Layout 1 Slice SLICE "every `step`-th element from `start` to before `stop`, as Python's slices count";
    Take "take" Indexing 2 Take AXIS "the elements along `axis` at the indices that the second operand holds";

    Convert "convert" ["astype"] Stated 1 Same NONE "the elements in the dtype of the result";
    Relax "relax" Layout 1 Same NONE "the operand, of a type that is to be inferred";
}

impl Op {
    /// The name after `promote.`.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// What sort of function it is.
    pub const fn class(self) -> Class {
        self.info().class
    }

    /// The ops of one element of each operand, in declaration order: those whose operands broadcast together.
    pub fn elementwise() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().copied().filter(|op| op.info().shape == ShapeRule::Broadcast)
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
