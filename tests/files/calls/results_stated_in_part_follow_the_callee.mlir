// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

func.func @caller(%x: tensor<4xbf16>) -> tensor<*xf32> {
  %0 = call @callee(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
func.func private @callee(%x: tensor<4xbf16>) -> tensor<*xf32> {
  %0 = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @caller(%arg0: tensor<4xbf16>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = call @callee(%arg0) : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:    return %0 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @callee(%arg0: tensor<4xbf16>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:    return %0 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
