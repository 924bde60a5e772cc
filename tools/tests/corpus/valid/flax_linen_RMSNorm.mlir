// flax.linen.RMSNorm, as it was recorded before promotion.
func.func @real_jax32_000(%x0: tensor<3x4xf16>, %x1: tensor<4xbf16>) -> (tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %v0 = "promote.convert"(%x0) : (tensor<3x4xf16>) -> tensor<*xf32>
  %v1 = "promote.square"(%v0) : (tensor<*xf32>) -> tensor<*x!promote.unknown>
  %v2 = "promote.mean"(%v1) {axis = array<i64: 1>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v3 = "promote.expand_dims"(%v2) {axis = array<i64: 1>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k0 = "promote.constant"() {value = dense<0.0> : tensor<3x1xf32>} : () -> tensor<3x1xf32>
  %v4 = "promote.subtract"(%x0, %k0) : (tensor<3x4xf16>, tensor<3x1xf32>) -> tensor<*x!promote.unknown>
  %k1 = "promote.constant"() {value = dense<1.0e-06> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v5 = "promote.add"(%v3, %k1) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %v6 = "promote.rsqrt"(%v5) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v7 = "promote.reshape"(%x1) {shape = array<i64: 1, 4>} : (tensor<4xbf16>) -> tensor<*x!promote.unknown>
  %v8 = "promote.multiply"(%v6, %v7) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v9 = "promote.multiply"(%v4, %v8) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9 : tensor<*xf32>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>
}
