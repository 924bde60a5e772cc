// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x1xbf16>, %y: tensor<4xi32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<3x1xbf16>, tensor<4xi32>) -> !u
  %1 = "promote.sqrt"(%0) : (!u) -> !u
  %2 = "promote.sum"(%1) {axis = array<i64: -1>} : (!u) -> !u
  return %2 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<3x1xbf16>, %arg1: tensor<4xi32>) -> tensor<3xbf16> {
// CHECK-NEXT:    %0 = "promote.add"(%arg0, %arg1) : (tensor<3x1xbf16>, tensor<4xi32>) -> tensor<3x4xbf16>
// CHECK-NEXT:    %1 = "promote.sqrt"(%0) : (tensor<3x4xbf16>) -> tensor<3x4xbf16>
// CHECK-NEXT:    %2 = "promote.sum"(%1) {axis = array<i64: -1>} : (tensor<3x4xbf16>) -> tensor<3xbf16>
// CHECK-NEXT:    return %2 : tensor<3xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
