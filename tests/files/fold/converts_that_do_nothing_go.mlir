// RUN: promote-opt %s --verify-each --pass-pipeline=promote-fold-converts 2>&1 | %{exact}

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "promote.convert"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    return %arg0 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
