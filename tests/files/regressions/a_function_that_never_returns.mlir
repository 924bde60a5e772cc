// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  cf.br ^bb1
^bb1:
  cf.br ^bb1
}

// CHECK-NOT:{{.+}}
// CHECK:a_function_that_never_returns.mlir:4:1: error[P0013]: this function has no func.return, so its result types cannot be inferred
// CHECK-NEXT:func.func @f(%x: tensor<4xf32>) -> !u {
// CHECK-NEXT:^
// CHECK-NEXT:  help: state the result types in its signature
// CHECK-NOT:{{.+}}
