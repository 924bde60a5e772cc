// A matrix on the right that has no batch, or one, is the same for all batches.
// EXECUTE: jax
// INPUT: tensor<2x2x3xbf16> [[[1, 2, 3], [4, 5, 6]], [[0, 1, 0], [1, 0, 1]]]
// INPUT: tensor<3x2xbf16> [[1, 2], [3, 4], [5, 6]]
// INPUT: tensor<1x2x2xbf16> [[[1, 0], [1, 1]]]
// OUTPUT: tensor<2x2x2xbf16> [[[22.0, 28.0], [49.0, 64.0]], [[3.0, 4.0], [6.0, 8.0]]]
// OUTPUT: tensor<2x2x2xbf16> [[[50.0, 28.0], [113.0, 64.0]], [[7.0, 4.0], [14.0, 8.0]]]
// REFUSED: stablehlo

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?x2x3xbf16>, %y: tensor<3x2xbf16>, %z: tensor<1x2x2xbf16>) -> (!u, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<?x2x3xbf16>, tensor<3x2xbf16>) -> !u
  %1 = "promote.matmul"(%0, %z) : (!u, tensor<1x2x2xbf16>) -> !u
  return %0, %1 : !u, !u
}
