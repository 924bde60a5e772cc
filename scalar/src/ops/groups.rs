//! Which ops are of one number, of two, or no ops of elements at all, as patterns: what the dtype of a result depends on.

/// Predicates of one number.
macro_rules! predicates {
    () => {
        Op::IsNan | Op::IsInf | Op::IsFinite | Op::SignBit | Op::LogicalNot
    };
}

/// Ops of one number whose result is real where that is complex.
macro_rules! real_results {
    () => {
        Op::Abs | Op::Angle | Op::Real | Op::Imag
    };
}

/// The functions of one number that are no arithmetic: those of [`math`](crate::math).
macro_rules! functions {
    () => {
        Op::Cbrt
            | Op::Rsqrt
            | Op::Exp
            | Op::Exp2
            | Op::Expm1
            | Op::Log
            | Op::Log2
            | Op::Log10
            | Op::Log1p
            | Op::Sin
            | Op::Cos
            | Op::Tan
            | Op::Sinc
            | Op::Sinh
            | Op::Cosh
            | Op::Tanh
            | Op::Asin
            | Op::Acos
            | Op::Atan
            | Op::Asinh
            | Op::Acosh
            | Op::Atanh
            | Op::Sigmoid
    };
}

/// Ops of one number whose result is of its dtype, but for [`functions`].
macro_rules! same_results {
    () => {
        Op::Negative
            | Op::Positive
            | Op::Sign
            | Op::Square
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Conj
            | Op::BitwiseInvert
            | Op::Relu
            | Op::Sqrt
            | Op::Reciprocal
    };
}

/// Predicates of two elements.
macro_rules! comparisons {
    () => {
        Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessEqual
            | Op::Greater
            | Op::GreaterEqual
            | Op::LogicalAnd
            | Op::LogicalOr
            | Op::LogicalXor
    };
}

/// Ops of two numbers of one dtype, which their result is of, but for those of extremes.
macro_rules! pairs {
    () => {
        Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Divide
            | Op::FloorDivide
            | Op::Remainder
            | Op::Fmod
            | Op::Atan2
            | Op::Hypot
            | Op::LogAddExp
            | Op::CopySign
            | Op::NextAfter
            | Op::Gcd
            | Op::Lcm
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::BitwiseLeftShift
            | Op::BitwiseRightShift
    };
}

/// What is not computed of one element each.
macro_rules! not_elementwise {
    () => {
        Op::Constant
            | Op::Iota
            | Op::Concat
            | Op::Stack
            | Op::Sum
            | Op::Prod
            | Op::Mean
            | Op::Var
            | Op::Std
            | Op::Max
            | Op::Min
            | Op::Any
            | Op::All
            | Op::ArgMax
            | Op::ArgMin
            | Op::CumulativeSum
            | Op::CumulativeProd
            | Op::Sort
            | Op::Softmax
            | Op::LogSumExp
            | Op::CountNonzero
            | Op::Matmul
            | Op::Reshape
            | Op::PermuteDims
            | Op::BroadcastTo
            | Op::ExpandDims
            | Op::Squeeze
            | Op::Flip
            | Op::Slice
            | Op::Take
            | Op::Convert
            | Op::Relax
    };
}
