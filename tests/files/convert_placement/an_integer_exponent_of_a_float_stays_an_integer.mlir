// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>, %n: tensor<4xi32>, %i: tensor<4xi8>) -> (!u, !u) {
  %0 = "promote.pow"(%x, %n) : (tensor<4xf32>, tensor<4xi32>) -> !u
  %1 = "promote.pow"(%i, %n) : (tensor<4xi8>, tensor<4xi32>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>, %arg2: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xi32>) {
// CHECK-NEXT:    %0 = "promote.pow"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = "promote.convert"(%arg2) {promote.implicit} : (tensor<4xi8>) -> tensor<4xi32>
// CHECK-NEXT:    %2 = "promote.pow"(%1, %arg1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:    return %0, %2 : tensor<4xf32>, tensor<4xi32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
