// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32, "csr"> {
  %r = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> index
  %s = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32, "csr">
  return %s : tensor<4xf32, "csr">
}

// CHECK-NOT:{{.+}}
// CHECK:a_result_that_is_no_plain_tensor.mlir:4:8: error[P0012]: the result of promote.add must be a tensor of a dtype that can be promoted, without an encoding
// CHECK-NEXT:  %r = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> index
// CHECK-NEXT:       ^
// CHECK-NEXT:a_result_that_is_no_plain_tensor.mlir:3:14: note: operand 0 is tensor<4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<4xf32>) -> tensor<4xf32, "csr"> {
// CHECK-NEXT:             ^
// CHECK-NEXT:a_result_that_is_no_plain_tensor.mlir:3:14: note: operand 1 is tensor<4xf32>
// CHECK-NEXT:  help: write tensor<*x!promote.unknown> to have the type inferred
// CHECK-NEXT:a_result_that_is_no_plain_tensor.mlir:5:8: error[P0012]: the result of promote.add must be a tensor of a dtype that can be promoted, without an encoding
// CHECK-NEXT:  %s = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32, "csr">
// CHECK-NEXT:       ^
// CHECK-NEXT:a_result_that_is_no_plain_tensor.mlir:3:14: note: operand 0 is tensor<4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<4xf32>) -> tensor<4xf32, "csr"> {
// CHECK-NEXT:             ^
// CHECK-NEXT:a_result_that_is_no_plain_tensor.mlir:3:14: note: operand 1 is tensor<4xf32>
// CHECK-NEXT:  help: write tensor<*x!promote.unknown> to have the type inferred
// CHECK-NOT:{{.+}}
