// RUN: promote-opt %s --verify-each --pass-pipeline=promote-fold-converts 2>&1 | %{exact}

%a = "promote.convert"(%a) : (tensor<f32>) -> tensor<f32>

// CHECK-NOT:{{.+}}
// CHECK:module {
// CHECK-NEXT:  %0 = "promote.convert"(%0) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:}
// CHECK-NOT:{{.+}}
