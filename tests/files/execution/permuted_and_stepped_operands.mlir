// A transposed operand beside one that is not, every other element, and rows from the end.
// EXECUTE: jax
// INPUT: tensor<2x3xf32> [[1, 2, 3], [4, 5, 6]]
// INPUT: tensor<3x2xbf16> [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]
// OUTPUT: tensor<3x2xf32> [[1.5, 5.5], [4.5, 8.5], [7.5, 11.5]]
// OUTPUT: tensor<2x2xf32> [[1.0, 3.0], [4.0, 6.0]]
// OUTPUT: tensor<3x2xbf16> [[4.5, 5.5], [2.5, 3.5], [0.5, 1.5]]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<2x3xf32>, %y: tensor<3x2xbf16>) -> (!u, !u, !u) {
  %t = "promote.permute_dims"(%x) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> !u
  %0 = "promote.add"(%t, %y) : (!u, tensor<3x2xbf16>) -> !u
  %1 = "promote.slice"(%x) {start = array<i64: 0, 0>, stop = array<i64: 2, 3>, step = array<i64: 1, 2>} : (tensor<2x3xf32>) -> !u
  %2 = "promote.flip"(%y) {axis = array<i64: 0>} : (tensor<3x2xbf16>) -> !u
  return %0, %1, %2 : !u, !u, !u
}
