// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x4xf32>) -> (!u, !u, !u) {
  %0 = "promote.sum"(%x) {axes = array<i64: 0>} : (tensor<3x4xf32>) -> !u
  %1 = "promote.sum"(%x) {axis = 0 : i64, keepdims = 1 : i64} : (tensor<3x4xf32>) -> !u
  %2 = "promote.exp"(%x) {fast} : (tensor<3x4xf32>) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:attributes_unknown_missing_and_wrong.mlir:5:8: error[P0004]: promote.sum has no attribute `axes`
// CHECK-NEXT:  %0 = "promote.sum"(%x) {axes = array<i64: 0>} : (tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: did you mean `axis = array<i64: 0, 1>`?
// CHECK-NEXT:attributes_unknown_missing_and_wrong.mlir:6:8: error[P0005]: attribute `axis` of promote.sum must be written like `axis = array<i64: 0, 1>`
// CHECK-NEXT:  %1 = "promote.sum"(%x) {axis = 0 : i64, keepdims = 1 : i64} : (tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: a value of that kind is written `array<i64: 0, 1>`
// CHECK-NEXT:attributes_unknown_missing_and_wrong.mlir:6:8: error[P0005]: attribute `keepdims` of promote.sum must be written like `keepdims = true or false`
// CHECK-NEXT:  %1 = "promote.sum"(%x) {axis = 0 : i64, keepdims = 1 : i64} : (tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: a value of that kind is written `true or false`
// CHECK-NEXT:attributes_unknown_missing_and_wrong.mlir:7:8: error[P0004]: promote.exp has no attribute `fast`
// CHECK-NEXT:  %2 = "promote.exp"(%x) {fast} : (tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: promote.exp has no attributes; one of your own needs a dialect prefix, as in `my.fast`
// CHECK-NOT:{{.+}}
