// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<7x1x3x4xf32>, %y: tensor<5x4x2xf32>, %w: tensor<4x2xbf16>) -> (!u, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<7x1x3x4xf32>, tensor<5x4x2xf32>) -> !u
  %1 = "promote.matmul"(%x, %w) : (tensor<7x1x3x4xf32>, tensor<4x2xbf16>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<7x1x3x4xf32>, %arg1: tensor<5x4x2xf32>, %arg2: tensor<4x2xbf16>) -> (tensor<7x5x3x2xf32>, tensor<7x1x3x2xf32>) {
// CHECK-NEXT:    %0 = "promote.broadcast_to"(%arg0) {shape = array<i64: 7, 5, 3, 4>} : (tensor<7x1x3x4xf32>) -> tensor<7x5x3x4xf32>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%arg1) {shape = array<i64: 7, 5, 4, 2>} : (tensor<5x4x2xf32>) -> tensor<7x5x4x2xf32>
// CHECK-NEXT:    %2 = "promote.matmul"(%0, %1) : (tensor<7x5x3x4xf32>, tensor<7x5x4x2xf32>) -> tensor<7x5x3x2xf32>
// CHECK-NEXT:    %3 = "promote.convert"(%arg2) {promote.implicit} : (tensor<4x2xbf16>) -> tensor<4x2xf32>
// CHECK-NEXT:    %4 = "promote.matmul"(%arg0, %3) : (tensor<7x1x3x4xf32>, tensor<4x2xf32>) -> tensor<7x1x3x2xf32>
// CHECK-NEXT:    return %2, %4 : tensor<7x5x3x2xf32>, tensor<7x1x3x2xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
