// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (!u, !u, !u) {
  %k = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.add"(%x, %k) : (tensor<4xbf16>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.add"(%y, %k) : (tensor<4xf32>, tensor<!promote.weak_float>) -> !u
  %2 = "promote.multiply"(%k, %y) : (tensor<!promote.weak_float>, tensor<4xf32>) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xbf16>, %arg1: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<1.000980e-01> : tensor<bf16>} : () -> tensor<bf16>
// CHECK-NEXT:    %1 = "promote.constant"() {value = dense<1.000000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT:    %2 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<bf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %3 = "promote.add"(%arg0, %2) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %4 = "promote.broadcast_to"(%1) {shape = array<i64: 4>} : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT:    %5 = "promote.add"(%arg1, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %6 = "promote.multiply"(%4, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %3, %5, %6 : tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
