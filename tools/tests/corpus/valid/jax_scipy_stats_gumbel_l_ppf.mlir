// jax.scipy.stats.gumbel_l.ppf, as it was recorded before promotion.
func.func @real_jax32_050(%x0: tensor<6xi32>, %x1: tensor<6xf16>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %v0 = "promote.convert"(%x0) : (tensor<6xi32>) -> tensor<*xf32>
  %v1 = "promote.convert"(%x1) : (tensor<6xf16>) -> tensor<*xf32>
  %k0 = "promote.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %v2 = "promote.greater"(%v0, %k0) : (tensor<*xf32>, tensor<f32>) -> tensor<*x!promote.unknown>
  %k1 = "promote.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %v3 = "promote.less"(%v0, %k1) : (tensor<*xf32>, tensor<f32>) -> tensor<*x!promote.unknown>
  %v4 = "promote.bitwise_and"(%v2, %v3) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v5 = "promote.negative"(%v0) : (tensor<*xf32>) -> tensor<*x!promote.unknown>
  %v6 = "promote.isnan"(%v5) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v7 = "promote.log1p"(%v5) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k2 = "promote.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %v8 = "promote.multiply"(%k2, %v7) : (tensor<f32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k3 = "promote.constant"() {value = dense<true> : tensor<6xi1>} : () -> tensor<6xi1>
  %k4 = "promote.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %v9 = "promote.where"(%k3, %v8, %k4) : (tensor<6xi1>, tensor<*x!promote.unknown>, tensor<f32>) -> tensor<*x!promote.unknown>
  %v10 = "promote.log"(%v9) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k5 = "promote.constant"() {value = dense<0.875> : tensor<f32>} : () -> tensor<f32>
  %v11 = "promote.multiply"(%k5, %v10) : (tensor<f32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v12 = "promote.add"(%v1, %v11) : (tensor<*xf32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k6 = "promote.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v13 = "promote.where"(%v4, %v12, %k6) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9, %v10, %v11, %v12, %v13 : tensor<*xf32>, tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>
}
