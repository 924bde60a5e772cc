// RUN: promote-opt %s --verify-each --pass-pipeline=promote-fold-converts 2>&1 | %{exact}

func.func @f(%x: tensor<4xi8>, %y: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = "promote.convert"(%x) : (tensor<4xi8>) -> tensor<4xi32>
  %1 = "promote.convert"(%0) : (tensor<4xi32>) -> tensor<4xf32>
  %2 = "promote.convert"(%y) : (tensor<4xi32>) -> tensor<4xi64>
  %3 = "promote.convert"(%2) : (tensor<4xi64>) -> tensor<4xi32>
  return %1, %3 : tensor<4xf32>, tensor<4xi32>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi8>, %arg1: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) : (tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT:    return %0, %arg1 : tensor<4xf32>, tensor<4xi32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
