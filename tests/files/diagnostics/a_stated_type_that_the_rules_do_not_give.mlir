// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<5xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xbf16>
  %1 = "promote.add"(%y, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<4xbf16>, tensor<5xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:a_stated_type_that_the_rules_do_not_give.mlir:4:8: error[P0012]: promote.add has the stated dtype bf16, but the inferred dtype is f32
// CHECK-NEXT:  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT:       ^
// CHECK-NEXT:a_stated_type_that_the_rules_do_not_give.mlir:3:14: note: operand 0 is tensor<4xbf16>
// CHECK-NEXT:func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<5xf32>) {
// CHECK-NEXT:             ^
// CHECK-NEXT:a_stated_type_that_the_rules_do_not_give.mlir:3:34: note: operand 1 is tensor<4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<5xf32>) {
// CHECK-NEXT:                                 ^
// CHECK-NEXT:  help: write f32 or !promote.unknown, and convert the result with promote.convert if bf16 is intended
// CHECK-NEXT:a_stated_type_that_the_rules_do_not_give.mlir:5:8: error[P0012]: promote.add has the stated shape 5, but the inferred shape is 4
// CHECK-NEXT:  %1 = "promote.add"(%y, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
// CHECK-NEXT:       ^
// CHECK-NEXT:a_stated_type_that_the_rules_do_not_give.mlir:3:34: note: operand 0 is tensor<4xf32>
// CHECK-NEXT:func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<5xf32>) {
// CHECK-NEXT:                                 ^
// CHECK-NEXT:a_stated_type_that_the_rules_do_not_give.mlir:3:34: note: operand 1 is tensor<4xf32>
// CHECK-NEXT:  help: write tensor<*x…> to have the shape inferred
// CHECK-NOT:{{.+}}
