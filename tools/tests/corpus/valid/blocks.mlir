// Blocks in another order than they run in.
!u = tensor<*x!promote.unknown>
func.func @f(%c: i1, %x: tensor<2x3xbf16>, %w: tensor<3xi64>) -> !u {
  cf.cond_br %c, ^bb2, ^bb3
^bb1:
  %0 = "promote.where"(%m, %v, %x) : (!u, !u, tensor<2x3xbf16>) -> !u
  return %0 : !u
^bb2:
  %v = "promote.take"(%x, %w) {axis = 1 : i64} : (tensor<2x3xbf16>, tensor<3xi64>) -> !u
  %m = "promote.less"(%v, %w) : (!u, tensor<3xi64>) -> !u
  cf.br ^bb1
^bb3:
  %r = "promote.matmul"(%x, %w) : (tensor<2x3xbf16>, tensor<3xi64>) -> !u
  %s = "promote.expand_dims"(%r) {axis = array<i64: 1>} : (!u) -> !u
  %t = "promote.broadcast_to"(%s) {shape = array<i64: 2, 3>} : (!u) -> !u
  return %t : !u
}
