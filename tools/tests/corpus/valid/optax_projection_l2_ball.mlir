// optax.projection_l2_ball, as it was recorded before promotion.
func.func @real_jax32_090(%x0: tensor<6xi32>) -> (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %v0 = "promote.real"(%x0) : (tensor<6xi32>) -> tensor<*x!promote.unknown>
  %v1 = "promote.square"(%v0) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v2 = "promote.imag"(%x0) : (tensor<6xi32>) -> tensor<*x!promote.unknown>
  %v3 = "promote.square"(%v2) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v4 = "promote.add"(%v1, %v3) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v5 = "promote.sum"(%v4) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k0 = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %v6 = "promote.add"(%k0, %v5) : (tensor<!promote.weak_int>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k1 = "promote.constant"() {value = dense<0.19140625> : tensor<bf16>} : () -> tensor<bf16>
  %v7 = "promote.maximum"(%v6, %k1) : (tensor<*x!promote.unknown>, tensor<bf16>) -> tensor<*x!promote.unknown>
  %v8 = "promote.sqrt"(%v7) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k2 = "promote.constant"() {value = dense<0.4375> : tensor<bf16>} : () -> tensor<bf16>
  %v9 = "promote.divide"(%k2, %v8) : (tensor<bf16>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v10 = "promote.multiply"(%v9, %x0) : (tensor<*x!promote.unknown>, tensor<6xi32>) -> tensor<*x!promote.unknown>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9, %v10 : tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>
}
