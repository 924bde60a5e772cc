// jax.nn.dot_product_attention, as it was recorded before promotion.
func.func @real_jax32_006(%x2: tensor<1x4x2x3xf16>, %x3: tensor<1x2x4x4xf16>, %x4: tensor<1x2x4x4xf32>, %x5: tensor<1x2x4x4xi1>) -> (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*xf16>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {
  %k0 = "promote.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %v0 = "promote.multiply"(%x4, %k0) : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<*x!promote.unknown>
  %v1 = "promote.add"(%v0, %x3) : (tensor<*x!promote.unknown>, tensor<1x2x4x4xf16>) -> tensor<*x!promote.unknown>
  %k1 = "promote.constant"() {value = dense<-2.381976325057654e+38> : tensor<f32>} : () -> tensor<f32>
  %v2 = "promote.where"(%x5, %v1, %k1) : (tensor<1x2x4x4xi1>, tensor<*x!promote.unknown>, tensor<f32>) -> tensor<*x!promote.unknown>
  %v3 = "promote.max"(%v2) {axis = array<i64: 3>, keepdims = true} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v4 = "promote.subtract"(%v2, %v3) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v5 = "promote.exp"(%v4) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v6 = "promote.sum"(%v5) {axis = array<i64: 3>, keepdims = true} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v7 = "promote.divide"(%v5, %v6) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v8 = "promote.convert"(%v7) : (tensor<*x!promote.unknown>) -> tensor<*xf16>
  %v9 = "promote.permute_dims"(%x2) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x3xf16>) -> tensor<*x!promote.unknown>
  %v10 = "promote.matmul"(%v8, %v9) : (tensor<*xf16>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v11 = "promote.permute_dims"(%v10) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9, %v10, %v11 : tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*xf16>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>, tensor<*x!promote.unknown>
}
