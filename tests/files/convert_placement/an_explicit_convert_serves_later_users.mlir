// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (!u, !u) {
  %0 = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  %1 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> !u
  %2 = "promote.exp"(%0) : (tensor<*xf32>) -> !u
  return %1, %2 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xbf16>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = "promote.add"(%0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %2 = "promote.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %1, %2 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
