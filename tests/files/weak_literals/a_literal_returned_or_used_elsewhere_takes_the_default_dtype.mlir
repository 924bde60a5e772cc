// RUN: promote-opt %s --verify-each --pass-pipeline=promote-infer-types,promote-insert-converts 2>&1 | %{exact}

func.func @f() -> tensor<!promote.weak_int> {
  %k = "promote.constant"() {value = dense<7> : tensor<i64>} : () -> tensor<!promote.weak_int>
  "other.use"(%k) : (tensor<!promote.weak_int>) -> ()
  return %k : tensor<!promote.weak_int>
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f() -> tensor<i32> {
// CHECK-NEXT:    %0 = "promote.constant"() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT:    "other.use"(%0) : (tensor<i32>) -> ()
// CHECK-NEXT:    return %0 : tensor<i32>
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
