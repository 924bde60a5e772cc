// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xi4>, %z: tensor<4xf4E2M1FN>) -> (!u, !u, !u) {
  %k = "promote.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<4xf8E4M3FN>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.add"(%y, %k) : (tensor<4xi4>, tensor<!promote.weak_int>) -> !u
  %2 = "promote.add"(%z, %k) : (tensor<4xf4E2M1FN>, tensor<!promote.weak_int>) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf8E4M3FN>, %arg1: tensor<4xi4>, %arg2: tensor<4xf4E2M1FN>) -> (tensor<4xf8E4M3FN>, tensor<4xi4>, tensor<4xf4E2M1FN>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<3.000000e+00> : tensor<f8E4M3FN>} : () -> tensor<f8E4M3FN>
// CHECK-NEXT:    %1 = "promote.constant"() {value = dense<3> : tensor<i4>} : () -> tensor<i4>
// CHECK-NEXT:    %2 = "promote.constant"() {value = dense<3.000000e+00> : tensor<f4E2M1FN>} : () -> tensor<f4E2M1FN>
// CHECK-NEXT:    %3 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<f8E4M3FN>) -> tensor<4xf8E4M3FN>
// CHECK-NEXT:    %4 = "promote.add"(%arg0, %3) : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
// CHECK-NEXT:    %5 = "promote.broadcast_to"(%1) {shape = array<i64: 4>} : (tensor<i4>) -> tensor<4xi4>
// CHECK-NEXT:    %6 = "promote.add"(%arg1, %5) : (tensor<4xi4>, tensor<4xi4>) -> tensor<4xi4>
// CHECK-NEXT:    %7 = "promote.broadcast_to"(%2) {shape = array<i64: 4>} : (tensor<f4E2M1FN>) -> tensor<4xf4E2M1FN>
// CHECK-NEXT:    %8 = "promote.add"(%arg2, %7) : (tensor<4xf4E2M1FN>, tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN>
// CHECK-NEXT:    return %4, %6, %8 : tensor<4xf8E4M3FN>, tensor<4xi4>, tensor<4xf4E2M1FN>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
