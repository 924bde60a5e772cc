func.func @f(%x: tensor<3xf32>) -> tensor<f32> {
  %r = promote.sum %x : tensor<3xf32>
  return %r : tensor<f32>
}
