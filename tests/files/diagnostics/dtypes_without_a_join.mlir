// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:dtypes_without_a_join.mlir:5:8: error[P0007]: jax does not promote f8e4m3fn and bf16 to one dtype: f8e4m3fn and bf16 have no upper bound
// CHECK-NEXT:  %0 = "promote.add"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:dtypes_without_a_join.mlir:4:14: note: operand 0 is tensor<4xf8E4M3FN>
// CHECK-NEXT:func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> !u {
// CHECK-NEXT:             ^
// CHECK-NEXT:dtypes_without_a_join.mlir:4:38: note: operand 1 is tensor<4xbf16>
// CHECK-NEXT:func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> !u {
// CHECK-NEXT:                                     ^
// CHECK-NEXT:  help: convert the operands to one dtype with promote.convert first, for example to bf16
// CHECK-NOT:{{.+}}
