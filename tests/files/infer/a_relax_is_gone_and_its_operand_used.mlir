// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf16>) -> !u {
  %0 = "promote.relax"(%x) : (tensor<4xf16>) -> !u
  %1 = "promote.negative"(%0) : (!u) -> !u
  return %1 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf16>) -> tensor<4xf16> {
// CHECK-NEXT:    %0 = "promote.negative"(%arg0) : (tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:    return %0 : tensor<4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
