// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf16>) -> !u {
  %k = "promote.constant"() {value = dense<1.0e5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.multiply"(%x, %k) : (tensor<4xf16>, tensor<!promote.weak_float>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:a_float_out_of_range_becomes_infinite_with_a_warning.mlir:6:8: warning[P0019]: the weak literal 100000.0 is outside the range of f16, and becomes inf
// CHECK-NEXT:  %0 = "promote.multiply"(%x, %k) : (tensor<4xf16>, tensor<!promote.weak_float>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:a_float_out_of_range_becomes_infinite_with_a_warning.mlir:5:8: note: the literal is written here
// CHECK-NEXT:  %k = "promote.constant"() {value = dense<1.0e5> : tensor<f64>} : () -> tensor<!promote.weak_float>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: convert 100000.0 to a wider dtype with promote.convert, or write inf if that is intended
// CHECK-NEXT:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf16>) -> tensor<4xf16> {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<0x7C00> : tensor<f16>} : () -> tensor<f16>
// CHECK-NEXT:    %1 = "promote.broadcast_to"(%0) {shape = array<i64: 4>} : (tensor<f16>) -> tensor<4xf16>
// CHECK-NEXT:    %2 = "promote.multiply"(%arg0, %1) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:    return %2 : tensor<4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
