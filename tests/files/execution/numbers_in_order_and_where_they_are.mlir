// NaN is last where elements are sorted, and first where the greatest is sought.
// EXECUTE: numpy2
// INPUT: tensor<2x4xf32> [[3, nan, -1, 0.5], [2, 7, 7, -inf]]
// INPUT: tensor<5xi8> [3, -128, 127, 0, 3]
// OUTPUT: tensor<2x4xf32> [[-1.0, 0.5, 3.0, NaN], [-inf, 2.0, 7.0, 7.0]]
// OUTPUT: tensor<2xi64> [1, 1]
// OUTPUT: tensor<5xi8> [-128, 0, 3, 3, 127]
// OUTPUT: tensor<i64> 1

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<2x4xf32>, %y: tensor<5xi8>) -> (!u, !u, !u, !u) {
  %0 = "promote.sort"(%x) {axis = array<i64: 1>} : (tensor<2x4xf32>) -> !u
  %1 = "promote.argmax"(%x) {axis = array<i64: 1>} : (tensor<2x4xf32>) -> !u
  %2 = "promote.sort"(%y) {axis = array<i64: 0>} : (tensor<5xi8>) -> !u
  %3 = "promote.argmin"(%y) {axis = array<i64: 0>} : (tensor<5xi8>) -> !u
  return %0, %1, %2, %3 : !u, !u, !u, !u
}
