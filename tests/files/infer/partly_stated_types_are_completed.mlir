// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

func.func @f(%x: tensor<4xbf16>) -> (tensor<4x!promote.unknown>, tensor<*xbf16>) {
  %0 = "promote.exp"(%x) : (tensor<4xbf16>) -> tensor<4x!promote.unknown>
  %1 = "promote.abs"(%x) : (tensor<4xbf16>) -> tensor<*xbf16>
  return %0, %1 : tensor<4x!promote.unknown>, tensor<*xbf16>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) {
// CHECK-NEXT:    %0 = "promote.exp"(%arg0) : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %1 = "promote.abs"(%arg0) : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
