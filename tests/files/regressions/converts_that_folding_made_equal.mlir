// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %z: tensor<4xi32>) -> (!u, !u) {
  %a = "promote.convert"(%x) : (tensor<4xi8>) -> tensor<4xi16>
  %b = "promote.add"(%a, %z) : (tensor<4xi16>, tensor<4xi32>) -> !u
  %c = "promote.add"(%x, %z) : (tensor<4xi8>, tensor<4xi32>) -> !u
  return %b, %c : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi8>, %arg1: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xi8>) -> tensor<4xi32>
// CHECK-NEXT:    %1 = "promote.add"(%0, %arg1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:    %2 = "promote.add"(%0, %arg1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:    return %1, %2 : tensor<4xi32>, tensor<4xi32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
