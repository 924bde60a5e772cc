// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<f32>) {
  return
^bb1:
  %a = "promote.add"(%a, %x) : (!u, tensor<f32>) -> !u
  cf.br ^bb1
}

// CHECK-NOT:{{.+}}
// CHECK:an_unknown_value_made_of_itself.mlir:7:8: error[P0013]: the dtype of the result of promote.add, of type tensor<*x!promote.unknown>, cannot be inferred
// CHECK-NEXT:  %a = "promote.add"(%a, %x) : (!u, tensor<f32>) -> !u
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: state the type of the result of promote.add
// CHECK-NOT:{{.+}}
