// What examples/c and examples/python call: rows of numbers, scaled and shifted, and their means.
//
//   promote-opt examples/scale_and_shift.mlir --emit=so -o libscale.so
//   promote-opt examples/scale_and_shift.mlir --emit=header -o scale.h
//
// The rows are as many as the caller has; scale is a Python float, which is f32 at the boundary.
!u = tensor<*x!promote.unknown>
func.func @scale_and_shift(%rows: tensor<?x4xf32>, %shift: tensor<4xi32>, %scale: tensor<!promote.weak_float>) -> (!u, !u) {
  %0 = "promote.multiply"(%rows, %scale) : (tensor<?x4xf32>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.add"(%0, %shift) : (!u, tensor<4xi32>) -> !u
  %2 = "promote.mean"(%1) {axis = array<i64: 1>} : (!u) -> !u
  return %1, %2 : !u, !u
}
