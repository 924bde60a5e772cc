// RUN: promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  builtin.module {
    func.func @g(%y: tensor<4xf32>) -> !u {
      %0 = "promote.abs"(%y) : (tensor<4xf32>) -> !u
      return %0 : !u
    }
  }
  return %x : tensor<4xf32>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    builtin.module {
// CHECK-NEXT:      func.func @g(%arg1: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:        %0 = "promote.abs"(%arg1) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:        return %0 : tensor<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    return %arg0 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
