// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3xf64>, %y: tensor<2x3x4xf64>, %z: tensor<4xf64>) -> (!u, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<3xf64>, tensor<2x3x4xf64>) -> !u
  %1 = "promote.matmul"(%y, %z) : (tensor<2x3x4xf64>, tensor<4xf64>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<3xf64>, %arg1: tensor<2x3x4xf64>, %arg2: tensor<4xf64>) -> (tensor<2x4xf64>, tensor<2x3xf64>) {
// CHECK-NEXT:    %0 = "promote.matmul"(%arg0, %arg1) : (tensor<3xf64>, tensor<2x3x4xf64>) -> tensor<2x4xf64>
// CHECK-NEXT:    %1 = "promote.matmul"(%arg1, %arg2) : (tensor<2x3x4xf64>, tensor<4xf64>) -> tensor<2x3xf64>
// CHECK-NEXT:    return %0, %1 : tensor<2x4xf64>, tensor<2x3xf64>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
