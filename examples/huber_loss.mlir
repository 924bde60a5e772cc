!u = tensor<*x!promote.unknown>
func.func @huber_loss(%x0: tensor<3x4xbf16>, %x1: tensor<3x4xui8>) -> (!u) {
  %v0 = "promote.subtract"(%x0, %x1) : (tensor<3x4xbf16>, tensor<3x4xui8>) -> !u
  %v1 = "promote.abs"(%v0) : (!u) -> !u
  %k0 = "promote.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v2 = "promote.minimum"(%v1, %k0) : (!u, tensor<!promote.weak_float>) -> !u
  %v3 = "promote.subtract"(%v1, %v2) : (!u, !u) -> !u
  %k1 = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %v4 = "promote.pow"(%v2, %k1) : (!u, tensor<!promote.weak_int>) -> !u
  %k2 = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v5 = "promote.multiply"(%k2, %v4) : (tensor<!promote.weak_float>, !u) -> !u
  %k3 = "promote.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v6 = "promote.multiply"(%k3, %v3) : (tensor<!promote.weak_float>, !u) -> !u
  %v7 = "promote.add"(%v5, %v6) : (!u, !u) -> !u
  return %v7 : !u
}
