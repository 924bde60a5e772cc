// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3xi16>, %z: tensor<2xf32>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<[1, -2, 3]> : tensor<3xi64>} : () -> tensor<3x!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<3xi16>, tensor<3x!promote.weak_int>) -> !u
  %c = "promote.constant"() {value = dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f64>>} : () -> tensor<2x!promote.weak_complex>
  %1 = "promote.multiply"(%z, %c) : (tensor<2xf32>, tensor<2x!promote.weak_complex>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<3xi16>, %arg1: tensor<2xf32>) -> (tensor<3xi16>, tensor<2xcomplex<f32>>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<[1, -2, 3]> : tensor<3xi16>} : () -> tensor<3xi16>
// CHECK-NEXT:    %1 = "promote.add"(%arg0, %0) : (tensor<3xi16>, tensor<3xi16>) -> tensor<3xi16>
// CHECK-NEXT:    %2 = "promote.constant"() {value = dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-4.000000e+00)]> : tensor<2xcomplex<f32>>} : () -> tensor<2xcomplex<f32>>
// CHECK-NEXT:    %3 = "promote.convert"(%arg1) {promote.implicit} : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
// CHECK-NEXT:    %4 = "promote.multiply"(%3, %2) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
// CHECK-NEXT:    return %1, %4 : tensor<3xi16>, tensor<2xcomplex<f32>>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
