// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi1>, %z: tensor<4xcomplex<f32>>) -> (!u, !u, !u) {
  %0 = "promote.subtract"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> !u
  %1 = "promote.floor"(%z) : (tensor<4xcomplex<f32>>) -> !u
  %2 = "promote.exp"(%1) : (!u) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:an_op_that_refuses_its_dtype.mlir:5:8: error[P0008]: jax has no subtract of b1: it accepts integer, float and complex dtypes
// CHECK-NEXT:  %0 = "promote.subtract"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_op_that_refuses_its_dtype.mlir:4:14: note: operand 0 is tensor<4xi1>
// CHECK-NEXT:func.func @f(%x: tensor<4xi1>, %z: tensor<4xcomplex<f32>>) -> (!u, !u, !u) {
// CHECK-NEXT:             ^
// CHECK-NEXT:an_op_that_refuses_its_dtype.mlir:4:14: note: operand 1 is tensor<4xi1>
// CHECK-NEXT:  help: use promote.logical_xor, or convert an operand to an integer dtype with promote.convert
// CHECK-NEXT:an_op_that_refuses_its_dtype.mlir:6:8: error[P0008]: jax has no floor of c64: it accepts bool, integer and float dtypes
// CHECK-NEXT:  %1 = "promote.floor"(%z) : (tensor<4xcomplex<f32>>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_op_that_refuses_its_dtype.mlir:4:32: note: operand 0 is tensor<4xcomplex<f32>>
// CHECK-NEXT:func.func @f(%x: tensor<4xi1>, %z: tensor<4xcomplex<f32>>) -> (!u, !u, !u) {
// CHECK-NEXT:                               ^
// CHECK-NEXT:  help: convert the operand to a dtype of kind bool, integer and float with promote.convert first
// CHECK-NOT:{{.+}}
