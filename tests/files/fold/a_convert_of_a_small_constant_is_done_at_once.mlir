// RUN: promote-opt %s --verify-each --pass-pipeline=promote-fold-converts 2>&1 | %{exact}

func.func @f() -> (tensor<3xf32>, tensor<f32>, tensor<2xi32>) {
  %0 = "promote.constant"() {value = dense<[1, 2, 16777217]> : tensor<3xi32>} : () -> tensor<3xi32>
  %1 = "promote.convert"(%0) : (tensor<3xi32>) -> tensor<3xf32>
  %2 = "promote.constant"() {value = dense<0x7FC0> : tensor<bf16>} : () -> tensor<bf16>
  %3 = "promote.convert"(%2) : (tensor<bf16>) -> tensor<f32>
  %4 = "promote.constant"() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>
  %5 = "promote.convert"(%4) : (tensor<2xi1>) -> tensor<2xi32>
  return %1, %3, %5 : tensor<3xf32>, tensor<f32>, tensor<2xi32>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f() -> (tensor<3xf32>, tensor<f32>, tensor<2xi32>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<[1.000000e+00, 2.000000e+00, 0x4B800000]> : tensor<3xf32>} : () -> tensor<3xf32>
// CHECK-NEXT:    %1 = "promote.constant"() {value = dense<0x7FC0> : tensor<bf16>} : () -> tensor<bf16>
// CHECK-NEXT:    %2 = "promote.convert"(%1) : (tensor<bf16>) -> tensor<f32>
// CHECK-NEXT:    %3 = "promote.constant"() {value = dense<[1, 0]> : tensor<2xi32>} : () -> tensor<2xi32>
// CHECK-NEXT:    return %0, %2, %3 : tensor<3xf32>, tensor<f32>, tensor<2xi32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
