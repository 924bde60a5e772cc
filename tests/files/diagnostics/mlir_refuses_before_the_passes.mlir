// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

func.func @f(%x: tensor<4xf32>) {
  %0 = "promote.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-NOT:{{.+}}
// CHECK:mlir_refuses_before_the_passes.mlir:4:8: error[P0001]: 'promote.add' op expects exactly 2 operands, but got 1
// CHECK-NEXT:  %0 = "promote.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: promote.add takes 2 operand(s)
// CHECK-NOT:{{.+}}
