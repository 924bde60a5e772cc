// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  %0 = call @f(%x) : (tensor<4xf32>) -> !u
  return %0 : !u
}

// CHECK-NOT:{{.+}}
// CHECK:a_recursive_function_without_stated_results.mlir:5:8: error[P0013]: the result types of @f depend only on this call itself
// CHECK-NEXT:  %0 = call @f(%x) : (tensor<4xf32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:a_recursive_function_without_stated_results.mlir:4:14: note: operand 0 is tensor<4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<4xf32>) -> !u {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: state the result types in its signature
// CHECK-NOT:{{.+}}
