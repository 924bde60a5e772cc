// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?x1xf32>, %y: tensor<1x?xbf16>, %z: tensor<?xf32>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<?x1xf32>, tensor<1x?xbf16>) -> !u
  %k = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %1 = "promote.multiply"(%z, %k) : (tensor<?xf32>, tensor<!promote.weak_int>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<?x1xf32>, %arg1: tensor<1x?xbf16>, %arg2: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
// CHECK-NEXT:    %0 = "promote.broadcast_to"(%arg0, %arg1) {promote.checked, shape = array<i64: -9223372036854775808, -9223372036854775808>} : (tensor<?x1xf32>, tensor<1x?xbf16>) -> tensor<?x?xf32>
// CHECK-NEXT:    %1 = "promote.convert"(%arg1) {promote.implicit} : (tensor<1x?xbf16>) -> tensor<1x?xf32>
// CHECK-NEXT:    %2 = "promote.broadcast_to"(%1, %arg0) {promote.checked, shape = array<i64: -9223372036854775808, -9223372036854775808>} : (tensor<1x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT:    %3 = "promote.add"(%0, %2) {promote.checked} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT:    %4 = "promote.constant"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT:    %5 = "promote.broadcast_to"(%4, %arg2) {promote.checked, shape = array<i64: -9223372036854775808>} : (tensor<f32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT:    %6 = "promote.multiply"(%arg2, %5) {promote.checked} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT:    return %3, %6 : tensor<?x?xf32>, tensor<?xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
