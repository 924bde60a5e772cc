// jax.scipy.special.entr, as it was recorded before promotion.
func.func @real_jax32_024(%x0: tensor<6xui8>) -> (tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %v0 = "promote.convert"(%x0) : (tensor<6xui8>) -> tensor<*xf32>
  %k0 = "promote.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %v1 = "promote.less"(%v0, %k0) : (tensor<*xf32>, tensor<f32>) -> tensor<*x!promote.unknown>
  %k1 = "promote.constant"() {value = dense<0.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v2 = "promote.not_equal"(%v0, %k1) : (tensor<*xf32>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %v3 = "promote.isnan"(%v0) : (tensor<*xf32>) -> tensor<*x!promote.unknown>
  %v4 = "promote.bitwise_or"(%v2, %v3) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v5 = "promote.log"(%v0) : (tensor<*xf32>) -> tensor<*x!promote.unknown>
  %v6 = "promote.multiply"(%v0, %v5) : (tensor<*xf32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k2 = "promote.constant"() {value = dense<0.0> : tensor<6xf32>} : () -> tensor<6xf32>
  %v7 = "promote.where"(%v4, %v6, %k2) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<6xf32>) -> tensor<*x!promote.unknown>
  %v8 = "promote.negative"(%v7) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k3 = "promote.constant"() {value = dense<0xFF800000> : tensor<6xf32>} : () -> tensor<6xf32>
  %v9 = "promote.where"(%v1, %k3, %v8) : (tensor<*x!promote.unknown>, tensor<6xf32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9 : tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>
}
