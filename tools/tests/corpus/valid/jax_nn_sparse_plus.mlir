// jax.nn.sparse_plus, as it was recorded before promotion.
func.func @real_jax32_016(%x0: tensor<6xbf16>) -> (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %k0 = "promote.constant"() {value = dense<-1.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v0 = "promote.less_equal"(%x0, %k0) : (tensor<6xbf16>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %k1 = "promote.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v1 = "promote.greater_equal"(%x0, %k1) : (tensor<6xbf16>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %k2 = "promote.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v2 = "promote.add"(%x0, %k2) : (tensor<6xbf16>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %k3 = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %v3 = "promote.pow"(%v2, %k3) : (tensor<*x!promote.unknown>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  %k4 = "promote.constant"() {value = dense<4> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %v4 = "promote.divide"(%v3, %k4) : (tensor<*x!promote.unknown>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  %v5 = "promote.where"(%v1, %x0, %v4) : (tensor<*x!promote.unknown>, tensor<6xbf16>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k5 = "promote.constant"() {value = dense<0.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v6 = "promote.where"(%v0, %k5, %v5) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6 : tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>
}
