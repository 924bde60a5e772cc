// RUN: promote-opt %s --verify-each --pass-pipeline=promote-fold-converts 2>&1 | %{exact}

func.func @f(%x: tensor<4xi8>) -> (tensor<4xi32>, tensor<4xi64>) {
  %0 = "promote.convert"(%x) : (tensor<4xi8>) -> tensor<4xi32>
  %1 = "promote.convert"(%0) : (tensor<4xi32>) -> tensor<4xi64>
  return %0, %1 : tensor<4xi32>, tensor<4xi64>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi8>) -> (tensor<4xi32>, tensor<4xi64>) {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) : (tensor<4xi8>) -> tensor<4xi32>
// CHECK-NEXT:    %1 = "promote.convert"(%arg0) : (tensor<4xi8>) -> tensor<4xi64>
// CHECK-NEXT:    return %0, %1 : tensor<4xi32>, tensor<4xi64>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
