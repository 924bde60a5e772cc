// How many rows there are is known but for the batch: they are multiplied as matrices.
// RUN: promote-opt %s --emit=program | FileCheck %s
// RUN: promote-opt %s --emit=program --target=vulkan | FileCheck %s

// CHECK-LABEL: func public @f
// CHECK: matmul
// CHECK-LABEL: func public @few
// CHECK-NOT: matmul
// CHECK: {{^}}kernel @

func.func @f(%x: tensor<?x1000x8xf32>, %y: tensor<8x8xf32>) -> tensor<?x1000x8xf32> {
  %0 = "promote.matmul"(%x, %y) : (tensor<?x1000x8xf32>, tensor<8x8xf32>) -> tensor<?x1000x8xf32>
  return %0 : tensor<?x1000x8xf32>
}

func.func @few(%x: tensor<?x2x8xf32>, %y: tensor<8x8xf32>) -> tensor<?x2x8xf32> {
  %0 = "promote.matmul"(%x, %y) : (tensor<?x2x8xf32>, tensor<8x8xf32>) -> tensor<?x2x8xf32>
  return %0 : tensor<?x2x8xf32>
}
