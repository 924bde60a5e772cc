// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<3x4xf32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<3x4xf32>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xbf16>, %arg1: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%0) {shape = array<i64: 3, 4>} : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %2 = "promote.add"(%1, %arg1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    return %2 : tensor<3x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
