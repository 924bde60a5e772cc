// The promote dialect in IRDL. Made from the op table: after a change, PROMOTE_BLESS=1 cargo test -p promote-dialect.
irdl.dialect @promote {
  // i*: a weakly typed integer, as a Python int.
  irdl.type @weak_int
  // f*: a weakly typed float, as a Python float.
  irdl.type @weak_float
  // c*: a weakly typed complex number, as a Python complex.
  irdl.type @weak_complex
  // i64*: a weakly typed integer that would be 64 bits wide, as in TensorFlow.
  irdl.type @weak_int64
  // f64*: a weakly typed float that would be 64 bits wide, as in TensorFlow.
  irdl.type @weak_float64
  // A dtype that is not known yet; promote-infer-types finds it.
  irdl.type @unknown
  irdl.operation @constant {
    %0 = irdl.any
    %1 = irdl.any
    irdl.results(result: %0)
    irdl.attributes { "value" = %1 }
  }
  irdl.operation @iota {
    %0 = irdl.any
    %1 = irdl.any
    irdl.results(result: %0)
    irdl.attributes { "axis" = %1 }
  }
  irdl.operation @negative {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @positive {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @abs {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @sign {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @square {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @floor {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @ceil {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @round {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @trunc {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @real {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @imag {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @conj {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @bitwise_invert {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @relu {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @sqrt {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @cbrt {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @rsqrt {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @exp {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @exp2 {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @expm1 {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @log {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @log2 {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @log10 {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @log1p {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @sin {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @cos {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @tan {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @sinc {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @sinh {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @cosh {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @tanh {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @asin {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @acos {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @atan {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @asinh {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @acosh {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @atanh {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @erf {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @erfc {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @lgamma {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @sigmoid {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @reciprocal {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @angle {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @isnan {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @isinf {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @isfinite {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @signbit {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @logical_not {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @add {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @subtract {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @multiply {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @divide {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @floor_divide {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @remainder {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @fmod {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @pow {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @maximum {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @minimum {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @atan2 {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @hypot {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @logaddexp {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @copysign {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @nextafter {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @gcd {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @lcm {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @equal {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @not_equal {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @less {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @less_equal {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @greater {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @greater_equal {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @logical_and {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @logical_or {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @logical_xor {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @bitwise_and {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @bitwise_or {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @bitwise_xor {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @bitwise_left_shift {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @bitwise_right_shift {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @where {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    irdl.operands(x0: %0, x1: %1, x2: %2)
    irdl.results(result: %3)
  }
  irdl.operation @clip {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    irdl.operands(x0: %0, x1: %1, x2: %2)
    irdl.results(result: %3)
  }
  irdl.operation @concat {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    %4 = irdl.any
    %5 = irdl.any
    %6 = irdl.any
    %7 = irdl.any
    %8 = irdl.any
    %9 = irdl.any
    irdl.operands(x0: %0, x1: optional %1, x2: optional %2, x3: optional %3, x4: optional %4, x5: optional %5, x6: optional %6, x7: optional %7)
    irdl.results(result: %8)
    irdl.attributes { "axis" = %9 }
  }
  irdl.operation @stack {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    %4 = irdl.any
    %5 = irdl.any
    %6 = irdl.any
    %7 = irdl.any
    %8 = irdl.any
    %9 = irdl.any
    irdl.operands(x0: %0, x1: optional %1, x2: optional %2, x3: optional %3, x4: optional %4, x5: optional %5, x6: optional %6, x7: optional %7)
    irdl.results(result: %8)
    irdl.attributes { "axis" = %9 }
  }
  irdl.operation @sum {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @prod {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @mean {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @var {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @std {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @max {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @min {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @any {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @all {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @argmax {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @argmin {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @cumulative_sum {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @cumulative_prod {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @sort {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @softmax {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @logsumexp {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @count_nonzero {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @matmul {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
  }
  irdl.operation @reshape {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
    irdl.attributes { "shape" = %2 }
  }
  irdl.operation @permute_dims {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
    irdl.attributes { "permutation" = %2 }
  }
  irdl.operation @broadcast_to {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    irdl.operands(x0: %0, x1: optional %1)
    irdl.results(result: %2)
    irdl.attributes { "shape" = %3 }
  }
  irdl.operation @expand_dims {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
    irdl.attributes { "axis" = %2 }
  }
  irdl.operation @squeeze {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
    irdl.attributes { "axis" = %2 }
  }
  irdl.operation @flip {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @slice {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    %4 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
    irdl.attributes { "start" = %2, "stop" = %3, "step" = %4 }
  }
  irdl.operation @take {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    irdl.operands(x0: %0, x1: %1)
    irdl.results(result: %2)
    irdl.attributes { "axis" = %3 }
  }
  irdl.operation @convert {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
  irdl.operation @relax {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x0: %0)
    irdl.results(result: %1)
  }
}
