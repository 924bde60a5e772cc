// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4]> : tensor<4xi64>} : () -> !u
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, !u) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>} : () -> tensor<4xf32>
// CHECK-NEXT:    %1 = "promote.add"(%arg0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %1 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
