// RUN: promote-opt %s --split-input-file
// Calls, returns and signatures that do not fit.

// a missing callee
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = func.call @g(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a nested callee
func.func @f(%x: tensor<4xf32>) {
  %0 = "func.call"(%x) <{callee = @a::@b}> : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return
}

// -----
// a call of itself
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// calls in a circle
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = func.call @g(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
func.func @g(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// an unknown argument
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %r = "promote.relax"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  %0 = func.call @g(%r) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
func.func private @g(%x: tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown> {
  return %x : tensor<*x!promote.unknown>
}

// -----
// a weak literal as argument
func.func @f() -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = func.call @g(%c) : (tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
func.func private @g(%x: tensor<!promote.weak_int>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%x, %x) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// unknown results of a declaration
func.func private @g(tensor<4xf32>) -> tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = func.call @g(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// unknown arguments of a declaration
func.func private @g(tensor<*x!promote.unknown>) -> tensor<4xf32>

// -----
// weak types of a declaration
func.func private @g(tensor<4x!promote.weak_int>) -> tensor<4x!promote.weak_int>

// -----
// an indirect call
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %g = func.constant @g : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  %0 = func.call_indirect %g(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
func.func @g(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// the same name twice
func.func @f() { return }
func.func @f() { return }

// -----
// the same name twice, which is not UTF-8
func.func @"\FF"() { return }
func.func @"\FF"() { return }

// -----
// names that are not UTF-8
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = func.call @"\FF"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
func.func @"\FF"(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
func.func @"\FE"(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a missing callee that is not UTF-8
func.func @f(%x: tensor<4xf32>) {
  %0 = func.call @"\00\FF"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
// a return outside a function
"foo.r"() ({
  "func.return"() : () -> ()
}) : () -> ()

// -----
// a return in a region
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  "foo.r"() ({
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a return of too few values
func.func @f(%x: tensor<4xf32>) -> (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// no return
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  "foo.end"(%x) : (tensor<4xf32>) -> ()
}

// -----
// an endless loop instead of a return
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  cf.br ^bb1
^bb1:
  cf.br ^bb1
}

// -----
// returns that disagree
func.func @f(%c: i1, %x: tensor<4xf32>, %y: tensor<4xi8>) -> tensor<*x!promote.unknown> {
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  %1 = "promote.abs"(%y) : (tensor<4xi8>) -> tensor<*x!promote.unknown>
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %0 : tensor<*x!promote.unknown>
^bb2:
  return %1 : tensor<*x!promote.unknown>
}

// -----
// a function in a function
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  func.func @g(%y: tensor<4xf32>) -> tensor<*x!promote.unknown> {
    %0 = "promote.abs"(%y) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
    return %0 : tensor<*x!promote.unknown>
  }
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a function in a module in a function
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  builtin.module {
    func.func @f(%y: tensor<4xf32>) -> tensor<*x!promote.unknown> {
      %0 = "promote.abs"(%y) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
      return %0 : tensor<*x!promote.unknown>
    }
  }
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a type that is no function's
"func.func"() <{function_type = i32, sym_name = "f"}> ({}) : () -> ()

// -----
// no name
"func.func"() <{function_type = () -> tensor<*x!promote.unknown>}> ({}) : () -> ()

// -----
// a function of another dialect
llvm.func @f(%x: i32) -> i32 {
  %0 = "foo.x"() : () -> tensor<4xf32>
  %1 = "promote.abs"(%0) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  "foo.use"(%1) : (tensor<*x!promote.unknown>) -> ()
  llvm.return %x : i32
}
