// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

func.func @f() {
  return
^bb1:
  %a = "promote.relax"(%a) : (tensor<f32>) -> tensor<f32>
  cf.br ^bb1
}

// CHECK-NOT:{{.+}}
// CHECK:a_value_relaxed_from_itself.mlir:6:8: error[P0016]: a promote.relax remains
// CHECK-NEXT:  %a = "promote.relax"(%a) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: run promote-infer-types and promote-insert-converts first
// CHECK-NOT:{{.+}}
