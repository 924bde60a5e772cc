// RUN: not promote-opt %s --verify-each --pass-pipeline=promote-insert-converts 2>&1 | %{exact}

func.func @f(%x: tensor<8xbf16>, %y: tensor<8xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<8xbf16>, tensor<8xf32>) -> tensor<*x!promote.unknown>
  return
}

// CHECK-NOT:{{.+}}
// CHECK:inserting_before_inferring.mlir:4:8: error[P0016]: a value is still of type tensor<*x!promote.unknown>
// CHECK-NEXT:  %0 = "promote.add"(%x, %y) : (tensor<8xbf16>, tensor<8xf32>) -> tensor<*x!promote.unknown>
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: run promote-infer-types first
// CHECK-NOT:{{.+}}
