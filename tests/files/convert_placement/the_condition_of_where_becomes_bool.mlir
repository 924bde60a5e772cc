// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%c: tensor<4xi32>, %x: tensor<4xf32>) -> !u {
  %k = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.where"(%c, %x, %k) : (tensor<4xi32>, tensor<4xf32>, tensor<!promote.weak_int>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT:    %1 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xi32>) -> tensor<4xi1>
// CHECK-NEXT:    %2 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT:    %3 = "promote.where"(%1, %arg1, %2) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %3 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
