// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3x4xf32>) -> !u
  %1 = "promote.subtract"(%y, %x) : (tensor<3x4xf32>, tensor<4xf32>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
// CHECK-NEXT:    %0 = "promote.broadcast_to"(%arg0) {shape = array<i64: 3, 4>} : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %1 = "promote.add"(%0, %arg1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %2 = "promote.subtract"(%arg1, %0) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    return %1, %2 : tensor<3x4xf32>, tensor<3x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
