// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> (!u, !u, !u) {
  %0 = "promote.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<!promote.weak_int>
  %1 = "promote.iota"() {axis = 0 : i64} : () -> !u
  %2 = "promote.convert"(%x) : (tensor<4xf32>) -> !u
  %3 = "promote.iota"() {axis = 1 : i64} : () -> tensor<4xi32>
  return %1, %2, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:constants_and_sources_that_state_too_little.mlir:5:8: error[P0005]: a constant of type tensor<!promote.weak_int> cannot have a value of type tensor<i32>
// CHECK-NEXT:  %0 = "promote.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<!promote.weak_int>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: the element types are equal; a weak constant is written as i64, f64 or complex<f64>, and the shapes are equal too
// CHECK-NEXT:constants_and_sources_that_state_too_little.mlir:6:8: error[P0013]: promote.iota must state the dtype of its result
// CHECK-NEXT:  %1 = "promote.iota"() {axis = 0 : i64} : () -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: write a strong dtype in the result type, as in -> tensor<*xf32>
// CHECK-NEXT:constants_and_sources_that_state_too_little.mlir:7:8: error[P0013]: promote.convert must state the dtype of its result
// CHECK-NEXT:  %2 = "promote.convert"(%x) : (tensor<4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: write a strong dtype in the result type, as in -> tensor<*xf32>
// CHECK-NEXT:constants_and_sources_that_state_too_little.mlir:8:8: error[P0010]: axis 1 is out of range for shape 4: a rank of 1 has axes -1 to 0
// CHECK-NEXT:  %3 = "promote.iota"() {axis = 1 : i64} : () -> tensor<4xi32>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: negative axes count from the end: -1 is the last
// CHECK-NOT:{{.+}}
