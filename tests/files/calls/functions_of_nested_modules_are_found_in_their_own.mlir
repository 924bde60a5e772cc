// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func private @g(%x: tensor<4xi8>) -> !u {
  %0 = "promote.sum"(%x) : (tensor<4xi8>) -> !u
  return %0 : !u
}
module @inner {
  func.func @f(%x: tensor<4xi8>) -> !u {
    %0 = call @g(%x) : (tensor<4xi8>) -> !u
    return %0 : !u
  }
  func.func private @g(%x: tensor<4xi8>) -> !u {
    %0 = "promote.mean"(%x) : (tensor<4xi8>) -> !u
    return %0 : !u
  }
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func private @g(%arg0: tensor<4xi8>) -> tensor<i32> {
// CHECK-NEXT:    %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xi8>) -> tensor<4xi32>
// CHECK-NEXT:    %1 = "promote.sum"(%0) : (tensor<4xi32>) -> tensor<i32>
// CHECK-NEXT:    return %1 : tensor<i32>
// CHECK-NEXT:  }
// CHECK-NEXT:  module @inner {
// CHECK-NEXT:    func.func @f(%arg0: tensor<4xi8>) -> tensor<f32> {
// CHECK-NEXT:      %0 = call @g(%arg0) : (tensor<4xi8>) -> tensor<f32>
// CHECK-NEXT:      return %0 : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func private @g(%arg0: tensor<4xi8>) -> tensor<f32> {
// CHECK-NEXT:      %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT:      %1 = "promote.mean"(%0) : (tensor<4xf32>) -> tensor<f32>
// CHECK-NEXT:      return %1 : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
