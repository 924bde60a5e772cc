// A dynamic number of rows, with a weight for each column: XLA compiles a program for each shape, so it refuses this.
// EXECUTE: numpy2
// INPUT: tensor<2x4xf32> [[1, 2, 3, 4], [0.1, 0.2, 0.3, 0.5]]
// INPUT: tensor<4xi16> [1, -1, 2, 3]
// OUTPUT: tensor<2xf32> [4.25, 0.5]
// OUTPUT: tensor<2xf32> [37.58333206176758, 0.5533333420753479]
// OUTPUT: tensor<f32> 4.221004009246826
// REFUSED: stablehlo

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?x4xf32>, %w: tensor<4xi16>) -> (!u, !u, !u) {
  %0 = "promote.multiply"(%x, %w) : (tensor<?x4xf32>, tensor<4xi16>) -> !u
  %1 = "promote.mean"(%0) {axis = array<i64: 1>} : (!u) -> !u
  %2 = "promote.var"(%0) {axis = array<i64: 1>, correction = 1 : i64} : (!u) -> !u
  %3 = "promote.std"(%0) : (!u) -> !u
  return %1, %2, %3 : !u, !u, !u
}
