// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f() -> (tensor<ui32>, tensor<i64>) {
  %k = "promote.constant"() {value = dense<3000000000> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.convert"(%k) : (tensor<!promote.weak_int>) -> tensor<ui32>
  %1 = "promote.convert"(%k) : (tensor<!promote.weak_int>) -> tensor<i64>
  return %0, %1 : tensor<ui32>, tensor<i64>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f() -> (tensor<ui32>, tensor<i64>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<3000000000> : tensor<ui32>} : () -> tensor<ui32>
// CHECK-NEXT:    %1 = "promote.constant"() {value = dense<3000000000> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT:    return %0, %1 : tensor<ui32>, tensor<i64>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
