// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "promote.add"(%x, %y) {my.note = "kept"} : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32> loc("model.py":7:3)
  return %0 : tensor<4xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xbf16>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = "promote.add"(%0, %arg1) {my.note = "kept"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %1 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
