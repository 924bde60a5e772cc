// RUN: promote-opt %s --split-input-file
// Circles, blocks that nothing reaches, and regions whose values do not fit.

// graph region: a sum of itself
module {
  %1 = "promote.add"(%1, %1) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
}

// -----
// unreachable block: a sum of itself
func.func @f() {
  return
^bb1:
  %1 = "promote.add"(%1, %1) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  cf.br ^bb1
}

// -----
// graph region: a sum of itself, stated
module {
  %1 = "promote.add"(%1, %1) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
}

// -----
// unreachable block: a sum of itself, stated
func.func @f() {
  return
^bb1:
  %1 = "promote.add"(%1, %1) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  cf.br ^bb1
}

// -----
// graph region: a weak sum of itself
module {
  %1 = "promote.add"(%1, %1) : (tensor<4x!promote.weak_float>, tensor<4x!promote.weak_float>) -> tensor<4x!promote.weak_float>
}

// -----
// unreachable block: a weak sum of itself
func.func @f() {
  return
^bb1:
  %1 = "promote.add"(%1, %1) : (tensor<4x!promote.weak_float>, tensor<4x!promote.weak_float>) -> tensor<4x!promote.weak_float>
  cf.br ^bb1
}

// -----
// graph region: a circle
module {
  %1 = "promote.abs"(%2) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %2 = "promote.abs"(%1) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
}

// -----
// unreachable block: a circle
func.func @f() {
  return
^bb1:
  %1 = "promote.abs"(%2) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %2 = "promote.abs"(%1) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  cf.br ^bb1
}

// -----
// graph region: a convert of itself
module {
  %1 = "promote.convert"(%1) : (tensor<4xf64>) -> tensor<4xf64>
}

// -----
// unreachable block: a convert of itself
func.func @f() {
  return
^bb1:
  %1 = "promote.convert"(%1) : (tensor<4xf64>) -> tensor<4xf64>
  cf.br ^bb1
}

// -----
// graph region: converts in a circle
module {
  %1 = "promote.convert"(%2) : (tensor<4xf64>) -> tensor<4xf64>
  %2 = "promote.convert"(%1) : (tensor<4xf64>) -> tensor<4xf64>
}

// -----
// unreachable block: converts in a circle
func.func @f() {
  return
^bb1:
  %1 = "promote.convert"(%2) : (tensor<4xf64>) -> tensor<4xf64>
  %2 = "promote.convert"(%1) : (tensor<4xf64>) -> tensor<4xf64>
  cf.br ^bb1
}

// -----
// graph region: converts of two dtypes in a circle
module {
  %1 = "promote.convert"(%2) : (tensor<4xf64>) -> tensor<4xf32>
  %2 = "promote.convert"(%1) : (tensor<4xf32>) -> tensor<4xf64>
}

// -----
// unreachable block: converts of two dtypes in a circle
func.func @f() {
  return
^bb1:
  %1 = "promote.convert"(%2) : (tensor<4xf64>) -> tensor<4xf32>
  %2 = "promote.convert"(%1) : (tensor<4xf32>) -> tensor<4xf64>
  cf.br ^bb1
}

// -----
// graph region: a relax of itself
module {
  %1 = "promote.relax"(%1) : (tensor<4xf32>) -> tensor<4xf32>
}

// -----
// unreachable block: a relax of itself
func.func @f() {
  return
^bb1:
  %1 = "promote.relax"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^bb1
}

// -----
// graph region: relaxes in a circle
module {
  %1 = "promote.relax"(%2) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %2 = "promote.relax"(%1) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
}

// -----
// unreachable block: relaxes in a circle
func.func @f() {
  return
^bb1:
  %1 = "promote.relax"(%2) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %2 = "promote.relax"(%1) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  cf.br ^bb1
}

// -----
// graph region: uses before definitions
module {
  %1 = "promote.add"(%2, %x) : (tensor<!promote.weak_float>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  %2 = "promote.constant"() {value = dense<2.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %x = "foo.x"() : () -> tensor<4xf32>
}

// -----
// unreachable block: uses before definitions
func.func @f() {
  return
^bb1:
  %1 = "promote.add"(%2, %x) : (tensor<!promote.weak_float>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  %2 = "promote.constant"() {value = dense<2.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %x = "foo.x"() : () -> tensor<4xf32>
  cf.br ^bb1
}

// -----
// blocks in another order
func.func @f(%x: tensor<4xf32>, %w: tensor<4xi8>) -> tensor<*x!promote.unknown> {
  cf.br ^bb2
^bb1:
  %1 = "promote.add"(%2, %w) : (tensor<*x!promote.unknown>, tensor<4xi8>) -> tensor<*x!promote.unknown>
  return %1 : tensor<*x!promote.unknown>
^bb2:
  %2 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  cf.br ^bb1
}

// -----
// a loop over a block argument
func.func @f(%x: tensor<4xf32>, %w: tensor<4xi8>) -> tensor<*x!promote.unknown> {
  %r = "promote.relax"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  cf.br ^bb1(%r : tensor<*x!promote.unknown>)
^bb1(%a: tensor<*x!promote.unknown>):
  %1 = "promote.add"(%a, %w) : (tensor<*x!promote.unknown>, tensor<4xi8>) -> tensor<*x!promote.unknown>
  cf.br ^bb1(%1 : tensor<*x!promote.unknown>)
}

// -----
// a block argument that nothing feeds
func.func @f() {
  return
^bb1(%a: tensor<*x!promote.unknown>):
  %1 = "promote.abs"(%a) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  cf.br ^bb1(%1 : tensor<*x!promote.unknown>)
}

// -----
// a use that is not dominated
func.func @f(%c: i1, %x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %1 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  cf.br ^bb2
^bb2:
  return %1 : tensor<*x!promote.unknown>
}

// -----
// branches that disagree
func.func @f(%c: i1, %x: tensor<4xf32>, %y: tensor<4xi8>) -> tensor<*x!promote.unknown> {
  %0 = scf.if %c -> (tensor<*x!promote.unknown>) {
    %a = "promote.relax"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
    scf.yield %a : tensor<*x!promote.unknown>
  } else {
    %b = "promote.relax"(%y) : (tensor<4xi8>) -> tensor<*x!promote.unknown>
    scf.yield %b : tensor<*x!promote.unknown>
  }
  return %0 : tensor<*x!promote.unknown>
}

// -----
// weak branches
func.func @f(%c: i1) -> tensor<!promote.weak_int> {
  %0 = scf.if %c -> (tensor<!promote.weak_int>) {
    %a = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    scf.yield %a : tensor<!promote.weak_int>
  } else {
    %b = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
    scf.yield %b : tensor<!promote.weak_int>
  }
  return %0 : tensor<!promote.weak_int>
}

// -----
// a yield of a value that is not inferred as its branch states
func.func @f(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.if %c -> (tensor<4xf32>) {
    %a = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x!promote.unknown>
    scf.yield %a : tensor<4x!promote.unknown>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----
// a loop with a relaxed carry
func.func @f(%x: tensor<8xbf16>, %n: index) -> tensor<*x!promote.unknown> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<*x!promote.unknown>) {
    %next = "promote.add"(%acc, %x) : (tensor<*x!promote.unknown>, tensor<8xbf16>) -> tensor<*x!promote.unknown>
    scf.yield %next : tensor<*x!promote.unknown>
  }
  return %sum : tensor<*x!promote.unknown>
}

// -----
// no entry block
"builtin.module"() ({}) : () -> ()

// -----
// a branch to the entry block
func.func @f() {
^bb0:
  cf.br ^bb0
}

// -----
// an unknown value of another dialect
func.func @f() -> tensor<*x!promote.unknown> {
  %0 = "foo.x"() : () -> tensor<*x!promote.unknown>
  %1 = "promote.abs"(%0) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %1 : tensor<*x!promote.unknown>
}

// -----
// a cast of an unknown value
func.func @f(%x: tensor<4xf32>) {
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  %1 = tensor.cast %0 : tensor<*x!promote.unknown> to tensor<4x!promote.unknown>
  return
}

// -----
// our dialect defined once more
irdl.dialect @promote {
  irdl.operation @add {
  }
}
