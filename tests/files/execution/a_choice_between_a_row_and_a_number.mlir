// What is chosen takes the dtype of the tensor beside a Python number, and the shape of both.
// EXECUTE: jax
// INPUT: tensor<3xf32> [1.5, -2, inf]
// INPUT: tensor<2x1xi32> [[1], [-3]]
// OUTPUT: tensor<2x3xf32> [[1.5, -2.0, inf], [0.0, 0.0, 0.0]]
// OUTPUT: tensor<2x1xi32> [[0], [0]]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3xf32>, %y: tensor<2x1xi32>) -> (!u, !u) {
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %c = "promote.greater"(%y, %zero) : (tensor<2x1xi32>, tensor<!promote.weak_int>) -> !u
  %0 = "promote.where"(%c, %x, %zero) : (!u, tensor<3xf32>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.clip"(%y, %zero, %zero) : (tensor<2x1xi32>, tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  return %0, %1 : !u, !u
}
