// RUN: not promote-opt %s --verify-each --pass-pipeline=promote-verify-strong 2>&1 | %{exact}

func.func @f(%x: tensor<4x!promote.weak_int>, %y: tuple<tensor<!promote.weak_float>>) -> tensor<*x!promote.unknown> {
  %0 = "promote.negative"(%x) : (tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// CHECK-NOT:{{.+}}
// CHECK:weak_and_unknown_values_are_refused.mlir:3:14: error[P0016]: a value is still of type tensor<4x!promote.weak_int>
// CHECK-NEXT:func.func @f(%x: tensor<4x!promote.weak_int>, %y: tuple<tensor<!promote.weak_float>>) -> tensor<*x!promote.unknown> {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: run promote-infer-types and promote-insert-converts first
// CHECK-NEXT:weak_and_unknown_values_are_refused.mlir:3:47: error[P0016]: a value is still of type tuple<tensor<!promote.weak_float>>
// CHECK-NEXT:func.func @f(%x: tensor<4x!promote.weak_int>, %y: tuple<tensor<!promote.weak_float>>) -> tensor<*x!promote.unknown> {
// CHECK-NEXT:                                              ^
// CHECK-NEXT:  help: weak and unknown types are inferred in tensors only: extract the tensors from the value first
// CHECK-NEXT:weak_and_unknown_values_are_refused.mlir:4:8: error[P0016]: a value is still of type tensor<*x!promote.unknown>
// CHECK-NEXT:  %0 = "promote.negative"(%x) : (tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: run promote-infer-types and promote-insert-converts first
// CHECK-NOT:{{.+}}
