// RUN: not promote-opt %s --verify-each --pass-pipeline=promote-verify-strong 2>&1 | %{exact}

func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>, %z: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "promote.add"(%y, %z) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<4xf32>, tensor<3x4xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:implicit_promotions_and_broadcasts_are_refused.mlir:4:8: error[P0017]: operand 0 of promote.add, tensor<4xbf16>, would still be converted to tensor<4xf32>
// CHECK-NEXT:  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       ^
// CHECK-NEXT:implicit_promotions_and_broadcasts_are_refused.mlir:3:14: note: the operand is defined here
// CHECK-NEXT:func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>, %z: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// CHECK-NEXT:             ^
// CHECK-NEXT:  help: run promote-insert-converts first
// CHECK-NEXT:implicit_promotions_and_broadcasts_are_refused.mlir:5:8: error[P0018]: operand 0 of promote.add, tensor<4xf32>, would still be broadcast to tensor<3x4xf32>
// CHECK-NEXT:  %1 = "promote.add"(%y, %z) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:       ^
// CHECK-NEXT:implicit_promotions_and_broadcasts_are_refused.mlir:3:34: note: the operand is defined here
// CHECK-NEXT:func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>, %z: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// CHECK-NEXT:                                 ^
// CHECK-NEXT:  help: run promote-insert-converts first
// CHECK-NOT:{{.+}}
