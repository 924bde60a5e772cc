// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %k: tensor<!promote.weak_float>) -> (!u, !u) {
  %0 = "promote.multiply"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.sum"(%0) : (!u) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi8>, %arg1: tensor<!promote.weak_float>) -> (tensor<4x!promote.weak_float>, tensor<f32>) {
// CHECK-NEXT:    %0 = "promote.multiply"(%arg0, %arg1) : (tensor<4xi8>, tensor<!promote.weak_float>) -> tensor<4x!promote.weak_float>
// CHECK-NEXT:    %1 = "promote.sum"(%0) : (tensor<4x!promote.weak_float>) -> tensor<f32>
// CHECK-NEXT:    return %0, %1 : tensor<4x!promote.weak_float>, tensor<f32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
