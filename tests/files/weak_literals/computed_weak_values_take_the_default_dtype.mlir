// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %y: tensor<4xbf16>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.multiply"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.add"(%0, %y) : (!u, tensor<4xbf16>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi8>, %arg1: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT:    %1 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT:    %2 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT:    %3 = "promote.multiply"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %4 = "promote.convert"(%3) {promote.implicit} : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT:    %5 = "promote.add"(%4, %arg1) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    return %3, %5 : tensor<4xf32>, tensor<4xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
