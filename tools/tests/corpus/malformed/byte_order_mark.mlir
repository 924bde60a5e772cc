!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<8xbf16>, %y: tensor<8xf32>) -> !u {
  %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.multiply"(%x, %two) : (tensor<8xbf16>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.add"(%0, %y) : (!u, tensor<8xf32>) -> !u
  return %1 : !u
}
