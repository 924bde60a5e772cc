// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
!f = tensor<!promote.weak_float>
func.func private @scale(%k: !f) -> !u {
  %two = "promote.constant"() {value = dense<2.0> : tensor<f64>} : () -> !f
  %0 = "promote.multiply"(%k, %two) : (!f, !f) -> !u
  return %0 : !u
}
func.func private @external(!f) -> !f
func.func @main(%x: tensor<4xbf16>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> !f
  %0 = call @scale(%k) : (!f) -> !u
  %1 = "promote.add"(%x, %0) : (tensor<4xbf16>, !u) -> !u
  %2 = call @external(%k) : (!f) -> !f
  %3 = "promote.multiply"(%x, %2) : (tensor<4xbf16>, !f) -> !u
  return %1, %3 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func private @scale(%arg0: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT:    %1 = "promote.multiply"(%arg0, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    return %1 : tensor<f32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @external(tensor<f32>) -> tensor<f32>
// CHECK-NEXT:  func.func @main(%arg0: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT:    %1 = call @scale(%0) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    %2 = "promote.convert"(%1) {promote.implicit} : (tensor<f32>) -> tensor<bf16>
// CHECK-NEXT:    %3 = "promote.broadcast_to"(%2) {shape = array<i64: 4>} : (tensor<bf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %4 = "promote.add"(%arg0, %3) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %5 = call @external(%0) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    %6 = "promote.convert"(%5) {promote.implicit} : (tensor<f32>) -> tensor<bf16>
// CHECK-NEXT:    %7 = "promote.broadcast_to"(%6) {shape = array<i64: 4>} : (tensor<bf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %8 = "promote.multiply"(%arg0, %7) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    return %4, %8 : tensor<4xbf16>, tensor<4xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
