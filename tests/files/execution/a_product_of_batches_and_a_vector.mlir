// Batches of matrices broadcast; a vector is a column.
// EXECUTE: numpy2
// INPUT: tensor<2x1x2x3xi16> [[[[1, 2, 3], [-4, 5, 6]]], [[[0, 1, 0], [2, 2, 2]]]]
// INPUT: tensor<2x3x2xi32> [[[1, 0], [0, 1], [1, 1]], [[2, 2], [-1, 0], [5, 7]]]
// INPUT: tensor<3xf32> [0.5, -1, 2]
// OUTPUT: tensor<2x2x2x2xi32> [[[[4, 5], [2, 11]], [[15, 23], [17, 34]]], [[[0, 1], [4, 4]], [[-1, 0], [12, 18]]]]
// OUTPUT: tensor<2x1x2xf32> [[[4.5, 5.0]], [[-1.0, 3.0]]]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<2x1x2x3xi16>, %y: tensor<2x3x2xi32>, %v: tensor<3xf32>) -> (!u, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<2x1x2x3xi16>, tensor<2x3x2xi32>) -> !u
  %1 = "promote.matmul"(%x, %v) : (tensor<2x1x2x3xi16>, tensor<3xf32>) -> !u
  return %0, %1 : !u, !u
}
