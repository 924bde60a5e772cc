// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %y: tensor<4xui8>) -> (!u, !u, !u) {
  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.pow"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.pow"(%y, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  %2 = "promote.add"(%y, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:an_exponent_that_the_base_does_not_hold.mlir:6:8: warning[P0019]: the weak literal 300 is outside the range of i8, and becomes 44, which has the same power
// CHECK-NEXT:  %0 = "promote.pow"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_int>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_exponent_that_the_base_does_not_hold.mlir:5:8: note: the literal is written here
// CHECK-NEXT:  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: convert the base with promote.convert to a dtype that can represent 300
// CHECK-NEXT:an_exponent_that_the_base_does_not_hold.mlir:7:8: warning[P0019]: the weak literal 300 is outside the range of u8, and becomes 44, which has the same power
// CHECK-NEXT:  %1 = "promote.pow"(%y, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_exponent_that_the_base_does_not_hold.mlir:5:8: note: the literal is written here
// CHECK-NEXT:  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: convert the base with promote.convert to a dtype that can represent 300
// CHECK-NEXT:an_exponent_that_the_base_does_not_hold.mlir:8:8: warning[P0019]: the weak literal 300 is outside the range of u8, and becomes 44
// CHECK-NEXT:  %2 = "promote.add"(%y, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_exponent_that_the_base_does_not_hold.mlir:5:8: note: the literal is written here
// CHECK-NEXT:  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: convert 300 to a wider dtype with promote.convert, or write 44 if that is intended
// CHECK-NEXT:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xi8>, %arg1: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xui8>, tensor<4xui8>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<44> : tensor<i8>} : () -> tensor<i8>
// CHECK-NEXT:    %1 = "promote.constant"() {value = dense<44> : tensor<ui8>} : () -> tensor<ui8>
// CHECK-NEXT:    %2 = "promote.constant"() {value = dense<44> : tensor<ui8>} : () -> tensor<ui8>
// CHECK-NEXT:    %3 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<i8>) -> tensor<4xi8>
// CHECK-NEXT:    %4 = "promote.pow"(%arg0, %3) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT:    %5 = "promote.broadcast_to"(%1) {shape = array<i64: 4>} : (tensor<ui8>) -> tensor<4xui8>
// CHECK-NEXT:    %6 = "promote.pow"(%arg1, %5) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
// CHECK-NEXT:    %7 = "promote.broadcast_to"(%2) {shape = array<i64: 4>} : (tensor<ui8>) -> tensor<4xui8>
// CHECK-NEXT:    %8 = "promote.add"(%arg1, %7) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
// CHECK-NEXT:    return %4, %6, %8 : tensor<4xi8>, tensor<4xui8>, tensor<4xui8>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
