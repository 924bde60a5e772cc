!u = tensor<*x!promote.unknown>
func.func @rms_norm(%x0: tensor<3x4xf16>, %x1: tensor<4xbf16>) -> (!u) {
  %v0 = "promote.convert"(%x0) : (tensor<3x4xf16>) -> tensor<*xf32>
  %v1 = "promote.square"(%v0) : (tensor<*xf32>) -> !u
  %v2 = "promote.mean"(%v1) {axis = array<i64: 1>} : (!u) -> !u
  %v3 = "promote.expand_dims"(%v2) {axis = array<i64: 1>} : (!u) -> !u
  %k0 = "promote.constant"() {value = dense<0.0> : tensor<3x1xf32>} : () -> tensor<3x1xf32>
  %v4 = "promote.subtract"(%x0, %k0) : (tensor<3x4xf16>, tensor<3x1xf32>) -> !u
  %k1 = "promote.constant"() {value = dense<1.0e-06> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %v5 = "promote.add"(%v3, %k1) : (!u, tensor<!promote.weak_float>) -> !u
  %v6 = "promote.rsqrt"(%v5) : (!u) -> !u
  %v7 = "promote.reshape"(%x1) {shape = array<i64: 1, 4>} : (tensor<4xbf16>) -> !u
  %v8 = "promote.multiply"(%v6, %v7) : (!u, !u) -> !u
  %v9 = "promote.multiply"(%v4, %v8) : (!u, !u) -> !u
  return %v9 : !u
}
