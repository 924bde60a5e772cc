// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func private @external(tensor<4xf32>) -> !u
func.func @f(%x: !u, %n: index) -> (!u, !u) {
  %0 = "other.op"() : () -> !u
  %1 = "promote.add"(%x, %0) : (!u, !u) -> !u
  %2 = "promote.add"(%n, %n) : (index, index) -> !u
  return %1, %2 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:unknown_values_that_nothing_determines.mlir:4:1: error[P0013]: a declaration must state its result types
// CHECK-NEXT:func.func private @external(tensor<4xf32>) -> !u
// CHECK-NEXT:^
// CHECK-NEXT:  help: state them in its signature
// CHECK-NEXT:unknown_values_that_nothing_determines.mlir:5:14: error[P0014]: the dtype of this argument, of type tensor<*x!promote.unknown>, cannot be inferred
// CHECK-NEXT:func.func @f(%x: !u, %n: index) -> (!u, !u) {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: state the type of the argument: only private functions are specialised for their calls
// CHECK-NEXT:unknown_values_that_nothing_determines.mlir:6:8: error[P0013]: the dtype of the result of other.op, of type tensor<*x!promote.unknown>, cannot be inferred
// CHECK-NEXT:  %0 = "other.op"() : () -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: state the type of the result of other.op
// CHECK-NEXT:unknown_values_that_nothing_determines.mlir:8:8: error[P0006]: operand 0 of promote.add is not a tensor of a dtype that can be promoted
// CHECK-NEXT:  %2 = "promote.add"(%n, %n) : (index, index) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:unknown_values_that_nothing_determines.mlir:5:22: note: operand 0 is index
// CHECK-NEXT:func.func @f(%x: !u, %n: index) -> (!u, !u) {
// CHECK-NEXT:                     ^
// CHECK-NEXT:unknown_values_that_nothing_determines.mlir:5:22: note: operand 1 is index
// CHECK-NEXT:  help: convert it to a tensor first, for example with tensor.from_elements
// CHECK-NOT:{{.+}}
