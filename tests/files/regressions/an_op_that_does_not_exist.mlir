// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

func.func @f(%x: tensor<4xf32>) {
  %0 = "promote.substract"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-NOT:{{.+}}
// CHECK:an_op_that_does_not_exist.mlir:4:8: error[P0001]: unregistered operation 'promote.substract' found in dialect ('promote') that does not allow unknown operations
// CHECK-NEXT:  %0 = "promote.substract"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: did you mean promote.subtract?
// CHECK-NOT:{{.+}}
