// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>) -> !u {
  %k = "promote.constant"() {value = dense<5> : tensor<i64>, my.tag = 1 : i32} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_int>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi8>) -> tensor<4xi8> {
// CHECK-NEXT:    %0 = "promote.constant"() {my.tag = 1 : i32, value = dense<5> : tensor<i8>} : () -> tensor<i8>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<i8>) -> tensor<4xi8>
// CHECK-NEXT:    %2 = "promote.add"(%arg0, %1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT:    return %2 : tensor<4xi8>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
