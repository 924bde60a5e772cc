// Running sums and products, and sums of booleans, which are counted.
// EXECUTE: jax --x64
// INPUT: tensor<3x2xi16> [[1, 2], [3, 4], [-5, 100]]
// OUTPUT: tensor<3x2xi16> [[1, 2], [4, 6], [-1, 106]]
// OUTPUT: tensor<3x2xi16> [[1, 2], [3, 12], [-5, -500]]
// OUTPUT: tensor<2xi64> [2, 1]
// OUTPUT: tensor<i64> -12000

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x2xi16>) -> (!u, !u, !u, !u) {
  %0 = "promote.cumulative_sum"(%x) {axis = array<i64: 0>} : (tensor<3x2xi16>) -> !u
  %1 = "promote.cumulative_prod"(%x) {axis = array<i64: 1>} : (tensor<3x2xi16>) -> !u
  %three = "promote.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %c = "promote.less"(%x, %three) : (tensor<3x2xi16>, tensor<!promote.weak_int>) -> !u
  %2 = "promote.sum"(%c) {axis = array<i64: 0>} : (!u) -> !u
  %3 = "promote.prod"(%x) : (tensor<3x2xi16>) -> !u
  return %0, %1, %2, %3 : !u, !u, !u, !u
}
