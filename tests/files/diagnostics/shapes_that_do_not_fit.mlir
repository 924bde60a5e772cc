// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<3x4xf32>, tensor<5xf32>) -> !u
  %1 = "promote.sum"(%x) {axis = array<i64: 2>} : (tensor<3x4xf32>) -> !u
  %2 = "promote.matmul"(%x, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> !u
  %3 = "promote.reshape"(%x) {shape = array<i64: 5, -1>} : (tensor<3x4xf32>) -> !u
  %4 = "promote.squeeze"(%x) {axis = array<i64: 0>} : (tensor<3x4xf32>) -> !u
  return %0, %1, %2, %3, %4 : !u, !u, !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:shapes_that_do_not_fit.mlir:5:8: error[P0010]: shapes 3x4 and 5 do not broadcast: each dimension must be equal in both, or 1 in one of them
// CHECK-NEXT:  %0 = "promote.add"(%x, %y) : (tensor<3x4xf32>, tensor<5xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:shapes_that_do_not_fit.mlir:4:14: note: operand 0 is tensor<3x4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
// CHECK-NEXT:             ^
// CHECK-NEXT:shapes_that_do_not_fit.mlir:4:35: note: operand 1 is tensor<5xf32>
// CHECK-NEXT:func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
// CHECK-NEXT:                                  ^
// CHECK-NEXT:  help: align the dimensions with promote.expand_dims, promote.reshape or promote.permute_dims
// CHECK-NEXT:shapes_that_do_not_fit.mlir:6:8: error[P0010]: axis 2 is out of range for shape 3x4: a rank of 2 has axes -2 to 1
// CHECK-NEXT:  %1 = "promote.sum"(%x) {axis = array<i64: 2>} : (tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:shapes_that_do_not_fit.mlir:4:14: note: operand 0 is tensor<3x4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: negative axes count from the end: -1 is the last
// CHECK-NEXT:shapes_that_do_not_fit.mlir:7:8: error[P0010]: promote.matmul contracts the last dimension of 3x4 (4) with that of 3x4 (3)
// CHECK-NEXT:  %2 = "promote.matmul"(%x, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:shapes_that_do_not_fit.mlir:4:14: note: operand 0 is tensor<3x4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
// CHECK-NEXT:             ^
// CHECK-NEXT:shapes_that_do_not_fit.mlir:4:14: note: operand 1 is tensor<3x4xf32>
// CHECK-NEXT:  help: the contracted dimensions must be equal: transpose an operand with promote.permute_dims
// CHECK-NEXT:shapes_that_do_not_fit.mlir:8:8: error[P0010]: promote.reshape of 3x4 (12 elements) to [5, -1]
// CHECK-NEXT:  %3 = "promote.reshape"(%x) {shape = array<i64: 5, -1>} : (tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:shapes_that_do_not_fit.mlir:4:14: note: operand 0 is tensor<3x4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: the extents must multiply to the number of elements; one may be -1, which is then computed
// CHECK-NEXT:shapes_that_do_not_fit.mlir:9:8: error[P0010]: promote.squeeze of axis 0 of 3x4, whose extent is 3
// CHECK-NEXT:  %4 = "promote.squeeze"(%x) {axis = array<i64: 0>} : (tensor<3x4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:shapes_that_do_not_fit.mlir:4:14: note: operand 0 is tensor<3x4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: only dimensions of extent 1 can be squeezed
// CHECK-NOT:{{.+}}
