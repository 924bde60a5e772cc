// Nothing stands behind it in its block, where the check of what it states goes.
// RUN: promote-opt %s | FileCheck %s

// CHECK: [[SUM:%.*]] = "promote.add"({{.*}}) {promote.checked} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK: cf.assert {{.*}}dimension 0 of the result must be 4, as stated
// CHECK: tensor.cast [[SUM]] : tensor<?xf32> to tensor<4xf32>
%x = "test.source"() : () -> tensor<?xf32>
%y = "promote.add"(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32>
