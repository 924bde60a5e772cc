// A softmax as a front end spells it out, of a dtype that is accumulated in f32.
// EXECUTE: jax
// INPUT: tensor<2x4xbf16> [[0, 1, 2, 3], [-1, -1, 0.5, 0.25]]
// OUTPUT: tensor<2x4xbf16> [[0.031982421875, 0.08740234375, 0.236328125, 0.64453125], [0.1005859375, 0.1005859375, 0.451171875, 0.349609375]]
// OUTPUT: tensor<2x4xbf16> [[0.031982421875, 0.0869140625, 0.2373046875, 0.64453125], [0.10009765625, 0.10009765625, 0.44921875, 0.349609375]]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<2x4xbf16>) -> (!u, !u) {
  %max = "promote.max"(%x) {axis = array<i64: 1>, keepdims = true} : (tensor<2x4xbf16>) -> !u
  %0 = "promote.subtract"(%x, %max) : (tensor<2x4xbf16>, !u) -> !u
  %1 = "promote.exp"(%0) : (!u) -> !u
  %sum = "promote.sum"(%1) {axis = array<i64: 1>, keepdims = true} : (!u) -> !u
  %2 = "promote.divide"(%1, %sum) : (!u, !u) -> !u
  %3 = "promote.softmax"(%x) {axis = array<i64: 1>} : (tensor<2x4xbf16>) -> !u
  return %2, %3 : !u, !u
}
