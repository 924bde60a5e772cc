// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

func.func private @external(tensor<*xf32>, tensor<?xbf16>)
func.func @caller(%x: tensor<4xbf16>) {
  %0 = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  %1 = "promote.negative"(%x) : (tensor<4xbf16>) -> tensor<?xbf16>
  call @external(%0, %1) : (tensor<*xf32>, tensor<?xbf16>) -> ()
  return
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func private @external(tensor<*xf32>, tensor<?xbf16>)
// CHECK-NEXT:  func.func @caller(%arg0: tensor<4xbf16>) {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = "promote.negative"(%arg0) : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %cast = tensor.cast %0 : tensor<4xf32> to tensor<*xf32>
// CHECK-NEXT:    %cast_0 = tensor.cast %1 : tensor<4xbf16> to tensor<?xbf16>
// CHECK-NEXT:    call @external(%cast, %cast_0) : (tensor<*xf32>, tensor<?xbf16>) -> ()
// CHECK-NEXT:    return
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
