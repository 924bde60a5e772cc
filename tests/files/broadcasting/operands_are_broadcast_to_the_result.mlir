// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x1xf32>, %y: tensor<4xf32>, %c: tensor<i1>) -> !u {
  %0 = "promote.where"(%c, %x, %y) : (tensor<i1>, tensor<3x1xf32>, tensor<4xf32>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<3x1xf32>, %arg1: tensor<4xf32>, %arg2: tensor<i1>) -> tensor<3x4xf32> {
// CHECK-NEXT:    %0 = "promote.broadcast_to"(%arg2) {shape = array<i64: 3, 4>} : (tensor<i1>) -> tensor<3x4xi1>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%arg0) {shape = array<i64: 3, 4>} : (tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %2 = "promote.broadcast_to"(%arg1) {shape = array<i64: 3, 4>} : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %3 = "promote.where"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    return %3 : tensor<3x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
