// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xui8>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  %m = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %1 = "promote.maximum"(%x, %m) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  return %0, %1 : !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:an_integer_out_of_range_wraps_with_a_warning.mlir:6:8: warning[P0019]: the weak literal 300 is outside the range of u8, and becomes 44
// CHECK-NEXT:  %0 = "promote.add"(%x, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_integer_out_of_range_wraps_with_a_warning.mlir:5:8: note: the literal is written here
// CHECK-NEXT:  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: convert 300 to a wider dtype with promote.convert, or write 44 if that is intended
// CHECK-NEXT:an_integer_out_of_range_wraps_with_a_warning.mlir:8:8: warning[P0019]: the weak literal -1 is outside the range of u8, and becomes 255
// CHECK-NEXT:  %1 = "promote.maximum"(%x, %m) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:an_integer_out_of_range_wraps_with_a_warning.mlir:7:8: note: the literal is written here
// CHECK-NEXT:  %m = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: convert -1 to a wider dtype with promote.convert, or write 255 if that is intended
// CHECK-NEXT:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>) {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<44> : tensor<ui8>} : () -> tensor<ui8>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<ui8>) -> tensor<4xui8>
// CHECK-NEXT:    %2 = "promote.add"(%arg0, %1) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
// CHECK-NEXT:    %3 = "promote.constant"() {value = dense<255> : tensor<ui8>} : () -> tensor<ui8>
// CHECK-NEXT:    %4 = "promote.broadcast_to"(%3) {shape = array<i64: 4>} : (tensor<ui8>) -> tensor<4xui8>
// CHECK-NEXT:    %5 = "promote.maximum"(%arg0, %4) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
// CHECK-NEXT:    return %2, %5 : tensor<4xui8>, tensor<4xui8>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
