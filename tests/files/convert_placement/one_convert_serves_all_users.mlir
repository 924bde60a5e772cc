// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (!u, !u, !u) {
  %0 = "promote.negative"(%x) : (tensor<4xbf16>) -> !u
  %1 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> !u
  %2 = "promote.multiply"(%y, %x) : (tensor<4xf32>, tensor<4xbf16>) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xbf16>, %arg1: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    %0 = "promote.negative"(%arg0) : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %1 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:    %2 = "promote.add"(%1, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %3 = "promote.multiply"(%arg1, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %0, %2, %3 : tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
