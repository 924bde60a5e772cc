// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>) -> !u {
  cf.br ^first
^last:
  %1 = "promote.exp"(%0) : (!u) -> !u
  return %1 : !u
^first:
  %0 = "promote.negative"(%x) : (tensor<4xbf16>) -> !u
  cf.br ^last
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xbf16>) -> tensor<4xbf16> {
// CHECK-NEXT:    cf.br ^bb2
// CHECK-NEXT:  ^bb1:  // pred: ^bb2
// CHECK-NEXT:    %0 = "promote.exp"(%1) : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    return %0 : tensor<4xbf16>
// CHECK-NEXT:  ^bb2:  // pred: ^bb0
// CHECK-NEXT:    %1 = "promote.negative"(%arg0) : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    cf.br ^bb1
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
