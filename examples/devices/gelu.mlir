// promote-opt --emit=ptx --target=cuda:sm_80 gelu.mlir -o gelu.ptx
func.func @gelu(%x: tensor<?xf32>) -> tensor<*x!promote.unknown> {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %root = "promote.constant"() {value = dense<0.7071067811865476> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.multiply"(%x, %root) : (tensor<?xf32>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %1 = "promote.erf"(%0) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %2 = "promote.add"(%1, %one) : (tensor<*x!promote.unknown>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  %3 = "promote.multiply"(%x, %half) : (tensor<?xf32>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %4 = "promote.multiply"(%3, %2) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %4 : tensor<*x!promote.unknown>
}
