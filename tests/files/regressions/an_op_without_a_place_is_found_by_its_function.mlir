// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi1>) -> !u {
  %0 = "promote.subtract"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> !u loc(unknown)
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:an_op_without_a_place_is_found_by_its_function.mlir:4:1: error[P0008]: jax has no subtract of b1: it accepts integer, float and complex dtypes
// CHECK-NEXT:func.func @f(%x: tensor<4xi1>) -> !u {
// CHECK-NEXT:^
// CHECK-NEXT:an_op_without_a_place_is_found_by_its_function.mlir:4:14: note: operand 0 is tensor<4xi1>
// CHECK-NEXT:func.func @f(%x: tensor<4xi1>) -> !u {
// CHECK-NEXT:             ^
// CHECK-NEXT:an_op_without_a_place_is_found_by_its_function.mlir:4:14: note: operand 1 is tensor<4xi1>
// CHECK-NEXT:  help: use promote.logical_xor, or convert an operand to an integer dtype with promote.convert
// CHECK-NOT:{{.+}}
