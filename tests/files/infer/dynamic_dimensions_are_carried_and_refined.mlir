// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?x1xf32>, %y: tensor<4xf32>, %z: tensor<?x?xf32>) -> (!u, !u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<?x1xf32>, tensor<4xf32>) -> !u
  %1 = "promote.matmul"(%0, %z) : (!u, tensor<?x?xf32>) -> !u
  %2 = "promote.reshape"(%0) {shape = array<i64: -1>} : (!u) -> !u
  return %0, %1, %2 : !u, !u, !u
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f(%arg0: tensor<?x1xf32>, %arg1: tensor<4xf32>, %arg2: tensor<?x?xf32>) -> (tensor<?x4xf32>, tensor<?x?xf32>, tensor<?xf32>) {
// CHECK-NEXT:    %0 = "promote.add"(%arg0, %arg1) : (tensor<?x1xf32>, tensor<4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    %1 = "promote.matmul"(%0, %arg2) : (tensor<?x4xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT:    %2 = "promote.reshape"(%0) {shape = array<i64: -1>} : (tensor<?x4xf32>) -> tensor<?xf32>
// CHECK-NEXT:    return %0, %1, %2 : tensor<?x4xf32>, tensor<?x?xf32>, tensor<?xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
