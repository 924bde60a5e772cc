// A block of a transformer: 512 tokens of 512 numbers, 8 heads, and 2048 numbers between its two layers.
func.func @main(%x: tensor<512x512xf32>, %wq: tensor<512x512xf32>, %wk: tensor<512x512xf32>, %wv: tensor<512x512xf32>, %wo: tensor<512x512xf32>, %w1: tensor<512x2048xf32>, %b1: tensor<2048xf32>, %w2: tensor<2048x512xf32>, %b2: tensor<512xf32>, %g1: tensor<512xf32>, %h1: tensor<512xf32>, %g2: tensor<512xf32>, %h2: tensor<512xf32>) -> (tensor<*x!promote.unknown>) {
  %eps = "promote.constant"() {value = dense<1.0e-5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %scale = "promote.constant"() {value = dense<0.125> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %am = "promote.mean"(%x) {axis = array<i64: 1>, keepdims = true} : (tensor<512x512xf32>) -> tensor<*x!promote.unknown>
  %av = "promote.var"(%x) {axis = array<i64: 1>, keepdims = true} : (tensor<512x512xf32>) -> tensor<*x!promote.unknown>
  %ad = "promote.subtract"(%x, %am) : (tensor<512x512xf32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %ae = "promote.add"(%av, %eps) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %ar = "promote.sqrt"(%ae) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %an = "promote.divide"(%ad, %ar) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %ag = "promote.multiply"(%an, %g1) : (tensor<*x!promote.unknown>, tensor<512xf32>) -> tensor<*x!promote.unknown>
  %a = "promote.add"(%ag, %h1) : (tensor<*x!promote.unknown>, tensor<512xf32>) -> tensor<*x!promote.unknown>
  %q0 = "promote.matmul"(%a, %wq) : (tensor<*x!promote.unknown>, tensor<512x512xf32>) -> tensor<*x!promote.unknown>
  %q1 = "promote.reshape"(%q0) {shape = array<i64: 512, 8, 64>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k0 = "promote.matmul"(%a, %wk) : (tensor<*x!promote.unknown>, tensor<512x512xf32>) -> tensor<*x!promote.unknown>
  %k1 = "promote.reshape"(%k0) {shape = array<i64: 512, 8, 64>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v0 = "promote.matmul"(%a, %wv) : (tensor<*x!promote.unknown>, tensor<512x512xf32>) -> tensor<*x!promote.unknown>
  %v1 = "promote.reshape"(%v0) {shape = array<i64: 512, 8, 64>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %q2 = "promote.permute_dims"(%q1) {permutation = array<i64: 1, 0, 2>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %k2 = "promote.permute_dims"(%k1) {permutation = array<i64: 1, 2, 0>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %v2 = "promote.permute_dims"(%v1) {permutation = array<i64: 1, 0, 2>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %s0 = "promote.matmul"(%q2, %k2) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %s1 = "promote.multiply"(%s0, %scale) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %s2 = "promote.softmax"(%s1) {axis = array<i64: 2>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %c0 = "promote.matmul"(%s2, %v2) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %c1 = "promote.permute_dims"(%c0) {permutation = array<i64: 1, 0, 2>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %c2 = "promote.reshape"(%c1) {shape = array<i64: 512, 512>} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %o = "promote.matmul"(%c2, %wo) : (tensor<*x!promote.unknown>, tensor<512x512xf32>) -> tensor<*x!promote.unknown>
  %y = "promote.add"(%x, %o) : (tensor<512x512xf32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %bm = "promote.mean"(%y) {axis = array<i64: 1>, keepdims = true} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %bv = "promote.var"(%y) {axis = array<i64: 1>, keepdims = true} : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %bd = "promote.subtract"(%y, %bm) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %be = "promote.add"(%bv, %eps) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %br = "promote.sqrt"(%be) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %bn = "promote.divide"(%bd, %br) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %bg = "promote.multiply"(%bn, %g2) : (tensor<*x!promote.unknown>, tensor<512xf32>) -> tensor<*x!promote.unknown>
  %b = "promote.add"(%bg, %h2) : (tensor<*x!promote.unknown>, tensor<512xf32>) -> tensor<*x!promote.unknown>
  %f0 = "promote.matmul"(%b, %w1) : (tensor<*x!promote.unknown>, tensor<512x2048xf32>) -> tensor<*x!promote.unknown>
  %f1 = "promote.add"(%f0, %b1) : (tensor<*x!promote.unknown>, tensor<2048xf32>) -> tensor<*x!promote.unknown>
  %k5 = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %k7 = "promote.constant"() {value = dense<0.7978845608> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %k4 = "promote.constant"() {value = dense<0.044715> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %one = "promote.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %u0 = "promote.multiply"(%f1, %f1) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %u1 = "promote.multiply"(%u0, %f1) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %u2 = "promote.multiply"(%u1, %k4) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %u3 = "promote.add"(%f1, %u2) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %u4 = "promote.multiply"(%u3, %k7) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %u5 = "promote.tanh"(%u4) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %u6 = "promote.add"(%u5, %one) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %u7 = "promote.multiply"(%u6, %f1) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  %u8 = "promote.multiply"(%u7, %k5) : (tensor<*x!promote.unknown>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  %f2 = "promote.matmul"(%u8, %w2) : (tensor<*x!promote.unknown>, tensor<2048x512xf32>) -> tensor<*x!promote.unknown>
  %f3 = "promote.add"(%f2, %b2) : (tensor<*x!promote.unknown>, tensor<512xf32>) -> tensor<*x!promote.unknown>
  %z = "promote.add"(%y, %f3) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %z : tensor<*x!promote.unknown>
}
