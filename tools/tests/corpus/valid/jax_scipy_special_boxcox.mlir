// jax.scipy.special.boxcox, as it was recorded before promotion.
func.func @real_jax32_020(%x0: tensor<6xf32>, %x1: tensor<6xi32>) -> (tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %v0 = "promote.convert"(%x1) : (tensor<6xi32>) -> tensor<*xf32>
  %k0 = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %v1 = "promote.equal"(%v0, %k0) : (tensor<*xf32>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  %k1 = "promote.constant"() {value = dense<1.0> : tensor<6xf32>} : () -> tensor<6xf32>
  %v2 = "promote.where"(%v1, %k1, %v0) : (tensor<*x!promote.unknown>, tensor<6xf32>, tensor<*xf32>) -> tensor<*x!promote.unknown>
  %v3 = "promote.log"(%x0) : (tensor<6xf32>) -> tensor<*x!promote.unknown>
  %v4 = "promote.multiply"(%v2, %v3) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v5 = "promote.expm1"(%v4) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v6 = "promote.divide"(%v5, %v2) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v7 = "promote.where"(%v1, %v3, %v6) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7 : tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>
}
