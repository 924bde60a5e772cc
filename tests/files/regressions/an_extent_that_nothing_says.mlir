// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<1xf32>) -> !u {
  %0 = "promote.broadcast_to"(%x) {shape = array<i64: -9223372036854775808>} : (tensor<1xf32>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:an_extent_that_nothing_says.mlir:5:8: error[P0010]: the dynamic extents of ? are not defined at run time
// CHECK-NEXT:  %0 = "promote.broadcast_to"(%x) {shape = array<i64: -9223372036854775808>} : (tensor<1xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_extent_that_nothing_says.mlir:4:14: note: operand 0 is tensor<1xf32>
// CHECK-NEXT:func.func @f(%x: tensor<1xf32>) -> !u {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: pass an operand with those extents as the second one
// CHECK-NOT:{{.+}}
