// Quotients are rounded down, remainders have the sign of the divisor; true division gives floats.
// EXECUTE: numpy2
// INPUT: tensor<4xi32> [7, -7, 7, -7]
// INPUT: tensor<4xi16> [2, 2, -2, -2]
// OUTPUT: tensor<4xi32> [3, -4, -4, 3]
// OUTPUT: tensor<4xi32> [1, 1, -1, -1]
// OUTPUT: tensor<4xf64> [3.5, -3.5, -3.5, 3.5]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>, %y: tensor<4xi16>) -> (!u, !u, !u) {
  %0 = "promote.floor_divide"(%x, %y) : (tensor<4xi32>, tensor<4xi16>) -> !u
  %1 = "promote.remainder"(%x, %y) : (tensor<4xi32>, tensor<4xi16>) -> !u
  %2 = "promote.divide"(%x, %y) : (tensor<4xi32>, tensor<4xi16>) -> !u
  return %0, %1, %2 : !u, !u, !u
}
