// RUN: not promote-opt %s --verify-each --pass-pipeline=promote-verify-strong 2>&1 | %{exact}

func.func @f(%x: tensor<*xf32>, %y: tensor<4xf32>) -> tensor<*xf32> {
  %0 = "promote.add"(%x, %y) : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  %1 = "promote.exp"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:operands_without_rank_might_broadcast.mlir:4:8: error[P0015]: promote.add needs the ranks of its operands, but not all are known
// CHECK-NEXT:  %0 = "promote.add"(%x, %y) : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: state the rank of the operands, as in tensor<?x?xf32>
// CHECK-NOT:{{.+}}
