// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>) -> !u {
  %k = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.pow"(%x, %k) : (tensor<4xi32>, tensor<!promote.weak_int>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:a_negative_literal_power_of_an_integer.mlir:6:8: error[P0009]: jax does not raise an integer (i32) to a negative power
// CHECK-NEXT:  %0 = "promote.pow"(%x, %k) : (tensor<4xi32>, tensor<!promote.weak_int>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:a_negative_literal_power_of_an_integer.mlir:4:14: note: operand 0 is tensor<4xi32>
// CHECK-NEXT:func.func @f(%x: tensor<4xi32>) -> !u {
// CHECK-NEXT:             ^
// CHECK-NEXT:a_negative_literal_power_of_an_integer.mlir:5:8: note: operand 1 is tensor<!promote.weak_int>
// CHECK-NEXT:  %k = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: convert the base to a float dtype with promote.convert, or divide by the positive power
// CHECK-NOT:{{.+}}
