// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts --x64 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%k: tensor<!promote.weak_int>, %z: tensor<!promote.weak_complex>, %x: tensor<4xf32>) -> (!u, !u) {
  %0 = "promote.add"(%k, %x) : (tensor<!promote.weak_int>, tensor<4xf32>) -> !u
  %1 = "promote.abs"(%z) : (tensor<!promote.weak_complex>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<i64>, %arg1: tensor<complex<f64>>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<f64>) {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<i64>) -> tensor<f32>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT:    %2 = "promote.add"(%1, %arg2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %3 = "promote.abs"(%arg1) : (tensor<complex<f64>>) -> tensor<f64>
// CHECK-NEXT:    return %2, %3 : tensor<4xf32>, tensor<f64>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
