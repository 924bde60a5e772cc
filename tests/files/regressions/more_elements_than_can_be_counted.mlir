// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4611686018427387904x2xf32>) -> !u {
  %0 = "promote.reshape"(%x) {shape = array<i64: 7>} : (tensor<4611686018427387904x2xf32>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:more_elements_than_can_be_counted.mlir:5:8: error[P0010]: 4611686018427387904x2 has more elements than can be counted
// CHECK-NEXT:  %0 = "promote.reshape"(%x) {shape = array<i64: 7>} : (tensor<4611686018427387904x2xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:more_elements_than_can_be_counted.mlir:4:14: note: operand 0 is tensor<4611686018427387904x2xf32>
// CHECK-NEXT:func.func @f(%x: tensor<4611686018427387904x2xf32>) -> !u {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: the extents must multiply to the number of elements; one may be -1, which is then computed
// CHECK-NOT:{{.+}}
