// RUN: promote-opt %s --verify-each --pass-pipeline=promote-fold-converts 2>&1 | %{exact}

func.func @f() {
  return
^bb1:
  %a = "promote.convert"(%b) : (tensor<i32>) -> tensor<i8>
  %b = "promote.convert"(%a) : (tensor<i8>) -> tensor<i32>
  cf.br ^bb1
}

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  func.func @f() {
// CHECK-NEXT:    return
// CHECK-NEXT:  ^bb1:  // pred: ^bb1
// CHECK-NEXT:    %0 = "promote.convert"(%1) : (tensor<i32>) -> tensor<i8>
// CHECK-NEXT:    %1 = "promote.convert"(%0) : (tensor<i8>) -> tensor<i32>
// CHECK-NEXT:    cf.br ^bb1
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
