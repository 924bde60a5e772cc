// Integers of two signs: the sum is of a dtype that holds both, products wrap there, and shifts past the width are defined.
// EXECUTE: jax --x64
// INPUT: tensor<3xi8> [-128, 127, 3]
// INPUT: tensor<3xui8> [255, 1, 200]
// OUTPUT: tensor<3xi16> [127, 128, 203]
// OUTPUT: tensor<3xi16> [16767, 0, -23181]
// OUTPUT: tensor<3xi16> [0, 254, 0]
// OUTPUT: tensor<3xi16> [-2, 0, 66]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3xi8>, %y: tensor<3xui8>) -> (!u, !u, !u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<3xi8>, tensor<3xui8>) -> !u
  %1 = "promote.multiply"(%0, %0) : (!u, !u) -> !u
  %2 = "promote.multiply"(%1, %0) : (!u, !u) -> !u
  %3 = "promote.bitwise_left_shift"(%x, %y) : (tensor<3xi8>, tensor<3xui8>) -> !u
  %4 = "promote.floor_divide"(%y, %x) : (tensor<3xui8>, tensor<3xi8>) -> !u
  return %0, %2, %3, %4 : !u, !u, !u, !u
}
