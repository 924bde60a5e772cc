// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xui8>, %b: tensor<4xi1>) -> (!u, !u, !u) {
  %0 = "promote.sum"(%x) : (tensor<4xui8>) -> !u
  %1 = "promote.mean"(%x) : (tensor<4xui8>) -> !u
  %2 = "promote.square"(%b) : (tensor<4xi1>) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xui8>, %arg1: tensor<4xi1>) -> (tensor<ui32>, tensor<f32>, tensor<4xi32>) {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xui8>) -> tensor<4xui32>
// CHECK-NEXT:    %1 = "promote.sum"(%0) : (tensor<4xui32>) -> tensor<ui32>
// CHECK-NEXT:    %2 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xui8>) -> tensor<4xf32>
// CHECK-NEXT:    %3 = "promote.mean"(%2) : (tensor<4xf32>) -> tensor<f32>
// CHECK-NEXT:    %4 = "promote.convert"(%arg1) {promote.implicit} : (tensor<4xi1>) -> tensor<4xi32>
// CHECK-NEXT:    %5 = "promote.square"(%4) : (tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:    return %1, %3, %5 : tensor<ui32>, tensor<f32>, tensor<4xi32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
