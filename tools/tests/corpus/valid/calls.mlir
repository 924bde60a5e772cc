// Calls in any order, modules in modules.
!u = tensor<*x!promote.unknown>
func.func @outer(%x: tensor<4x1xi8>, %y: tensor<3xf16>) -> (!u, !u) {
  %0 = func.call @middle(%x, %y) : (tensor<4x1xi8>, tensor<3xf16>) -> !u
  %1 = "promote.sum"(%0) {axis = array<i64: -1>, keepdims = true} : (!u) -> !u
  return %0, %1 : !u, !u
}
func.func private @middle(%x: tensor<4x1xi8>, %y: tensor<3xf16>) -> !u {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.multiply"(%x, %half) : (tensor<4x1xi8>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.concat"(%y, %y, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3xf16>, tensor<3xf16>, tensor<3xf16>) -> !u
  %2 = "promote.add"(%0, %y) : (!u, tensor<3xf16>) -> !u
  return %2 : !u
}
module @inner {
  func.func @outer(%x: tensor<?xui8>) -> !u {
    %0 = "promote.mean"(%x) : (tensor<?xui8>) -> !u
    return %0 : !u
  }
}
