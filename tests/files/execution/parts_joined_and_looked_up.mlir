// Tensors of two dtypes are joined in the wider one, and rows are looked up, from the end too.
// EXECUTE: jax
// INPUT: tensor<2x2xi8> [[1, 2], [3, 4]]
// INPUT: tensor<1x2xui8> [[200, 255]]
// INPUT: tensor<3xi32> [2, -3, 1]
// OUTPUT: tensor<3x2xi16> [[1, 2], [3, 4], [200, 255]]
// OUTPUT: tensor<3x2xi16> [[200, 255], [1, 2], [3, 4]]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<2x2xi8>, %y: tensor<1x2xui8>, %i: tensor<3xi32>) -> (!u, !u) {
  %0 = "promote.concat"(%x, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x2xi8>, tensor<1x2xui8>) -> !u
  %1 = "promote.take"(%0, %i) {axis = 0 : i64} : (!u, tensor<3xi32>) -> !u
  return %0, %1 : !u, !u
}
