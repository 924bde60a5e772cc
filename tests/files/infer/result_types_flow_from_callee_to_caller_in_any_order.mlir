// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @caller(%x: tensor<4xbf16>) -> !u {
  %0 = call @callee(%x) : (tensor<4xbf16>) -> !u
  %1 = "promote.exp"(%0) : (!u) -> !u
  return %1 : !u
}
func.func private @callee(%x: tensor<4xbf16>) -> !u {
  %0 = "promote.expand_dims"(%x) {axis = array<i64: 0>} : (tensor<4xbf16>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @caller(%arg0: tensor<4xbf16>) -> tensor<1x4xbf16> {
// CHECK-NEXT:    %0 = call @callee(%arg0) : (tensor<4xbf16>) -> tensor<1x4xbf16>
// CHECK-NEXT:    %1 = "promote.exp"(%0) : (tensor<1x4xbf16>) -> tensor<1x4xbf16>
// CHECK-NEXT:    return %1 : tensor<1x4xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @callee(%arg0: tensor<4xbf16>) -> tensor<1x4xbf16> {
// CHECK-NEXT:    %0 = "promote.expand_dims"(%arg0) {axis = array<i64: 0>} : (tensor<4xbf16>) -> tensor<1x4xbf16>
// CHECK-NEXT:    return %0 : tensor<1x4xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
