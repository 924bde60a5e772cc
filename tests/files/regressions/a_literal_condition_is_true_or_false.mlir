// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  %k = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.where"(%k, %x, %x) : (tensor<!promote.weak_float>, tensor<4xf32>, tensor<4xf32>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<i1>) -> tensor<4xi1>
// CHECK-NEXT:    %2 = "promote.where"(%1, %arg0, %arg0) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %2 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
