// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<2x3x4xf32>, %i: tensor<5xi32>) -> (!u, !u, !u, !u, !u, !u, !u, !u, !u) {
  %0 = "promote.reshape"(%x) {shape = array<i64: 6, -1>} : (tensor<2x3x4xf32>) -> !u
  %1 = "promote.permute_dims"(%x) {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> !u
  %2 = "promote.broadcast_to"(%x) {shape = array<i64: 7, 2, 3, 4>} : (tensor<2x3x4xf32>) -> !u
  %3 = "promote.expand_dims"(%x) {axis = array<i64: 0, -1>} : (tensor<2x3x4xf32>) -> !u
  %4 = "promote.squeeze"(%3) {axis = array<i64: 0>} : (!u) -> !u
  %5 = "promote.slice"(%x) {start = array<i64: 0, 2, 0>, stop = array<i64: 2, -4, 4>, step = array<i64: 1, -1, 2>} : (tensor<2x3x4xf32>) -> !u
  %6 = "promote.take"(%x, %i) {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<5xi32>) -> !u
  %7 = "promote.concat"(%x, %x) {axis = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> !u
  %8 = "promote.stack"(%x, %x) {axis = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> !u
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : !u, !u, !u, !u, !u, !u, !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<2x3x4xf32>, %arg1: tensor<5xi32>) -> (tensor<6x4xf32>, tensor<4x2x3xf32>, tensor<7x2x3x4xf32>, tensor<1x2x3x4x1xf32>, tensor<2x3x4x1xf32>, tensor<2x3x2xf32>, tensor<2x5x4xf32>, tensor<2x3x8xf32>, tensor<2x3x4x2xf32>) {
// CHECK-NEXT:    %0 = "promote.reshape"(%arg0) {shape = array<i64: 6, -1>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:    %1 = "promote.permute_dims"(%arg0) {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:    %2 = "promote.broadcast_to"(%arg0) {shape = array<i64: 7, 2, 3, 4>} : (tensor<2x3x4xf32>) -> tensor<7x2x3x4xf32>
// CHECK-NEXT:    %3 = "promote.expand_dims"(%arg0) {axis = array<i64: 0, -1>} : (tensor<2x3x4xf32>) -> tensor<1x2x3x4x1xf32>
// CHECK-NEXT:    %4 = "promote.squeeze"(%3) {axis = array<i64: 0>} : (tensor<1x2x3x4x1xf32>) -> tensor<2x3x4x1xf32>
// CHECK-NEXT:    %5 = "promote.slice"(%arg0) {start = array<i64: 0, 2, 0>, step = array<i64: 1, -1, 2>, stop = array<i64: 2, -4, 4>} : (tensor<2x3x4xf32>) -> tensor<2x3x2xf32>
// CHECK-NEXT:    %6 = "promote.take"(%arg0, %arg1) {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<5xi32>) -> tensor<2x5x4xf32>
// CHECK-NEXT:    %7 = "promote.concat"(%arg0, %arg0) {axis = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT:    %8 = "promote.stack"(%arg0, %arg0) {axis = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x2xf32>
// CHECK-NEXT:    return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<6x4xf32>, tensor<4x2x3xf32>, tensor<7x2x3x4xf32>, tensor<1x2x3x4x1xf32>, tensor<2x3x4x1xf32>, tensor<2x3x2xf32>, tensor<2x5x4xf32>, tensor<2x3x8xf32>, tensor<2x3x4x2xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
