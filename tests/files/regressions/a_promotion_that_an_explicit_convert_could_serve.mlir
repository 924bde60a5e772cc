// RUN: not promote-opt %s --verify-each --pass-pipeline=promote-verify-strong 2>&1 | %{exact}

func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<4xf32>
  %r = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:a_promotion_that_an_explicit_convert_could_serve.mlir:5:8: error[P0017]: operand 0 of promote.add, tensor<4xbf16>, would still be converted to tensor<4xf32>
// CHECK-NEXT:  %r = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       ^
// CHECK-NEXT:a_promotion_that_an_explicit_convert_could_serve.mlir:3:14: note: the operand is defined here
// CHECK-NEXT:func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: run promote-insert-converts first
// CHECK-NOT:{{.+}}
