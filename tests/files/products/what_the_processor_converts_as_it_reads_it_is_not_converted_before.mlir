// RUN: promote-opt %s --emit=program --target-cpu=x86-64 | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: promote-opt %s --emit=program --target-cpu=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,HALF

// CHECK-LABEL: func public @bytes
// CHECK: ^bb0(%[[X:.*]]: buffer<i8>, %[[Y:.*]]: buffer<u8>)
// CHECK: %[[R:.*]] = output 0 [64, 96] : buffer<i32>
// CHECK: matmul %[[X]], %[[Y]] to %[[R]]{{.*}} [batch 1, rows 64, inner 80, columns 96]
func.func @bytes(%x: tensor<64x80xi8>, %y: tensor<80x96xui8>) -> tensor<64x96xi32> {
  %a = "promote.convert"(%x) : (tensor<64x80xi8>) -> tensor<64x80xi32>
  %b = "promote.convert"(%y) : (tensor<80x96xui8>) -> tensor<80x96xi32>
  %r = "promote.matmul"(%a, %b) : (tensor<64x80xi32>, tensor<80x96xi32>) -> tensor<64x96xi32>
  return %r : tensor<64x96xi32>
}

// One operand alone; through a dtype in between.
// CHECK-LABEL: func public @one
// CHECK: ^bb0(%[[X:.*]]: buffer<i64>, %[[Y:.*]]: buffer<i8>)
// CHECK: matmul %[[X]], %[[Y]] to
func.func @one(%x: tensor<64x80xi64>, %y: tensor<80x96xi8>) -> tensor<64x96xi64> {
  %a = "promote.convert"(%y) : (tensor<80x96xi8>) -> tensor<80x96xi16>
  %b = "promote.convert"(%a) : (tensor<80x96xi16>) -> tensor<80x96xi64>
  %r = "promote.matmul"(%x, %b) : (tensor<64x80xi64>, tensor<80x96xi64>) -> tensor<64x96xi64>
  return %r : tensor<64x96xi64>
}

// A conversion that loses something is one before the product.
// CHECK-LABEL: func public @lossy
// CHECK: ^bb0(%[[X:.*]]: buffer<u32>, %[[Y:.*]]: buffer<i32>)
// CHECK: launch {{.*}}(%[[X]], %[[A:[^)]*]])
// CHECK: matmul %[[A]], %[[Y]] to
func.func @lossy(%x: tensor<64x80xui32>, %y: tensor<80x96xi32>) -> tensor<64x96xi32> {
  %a = "promote.convert"(%x) : (tensor<64x80xui32>) -> tensor<64x80xi32>
  %r = "promote.matmul"(%a, %y) : (tensor<64x80xi32>, tensor<80x96xi32>) -> tensor<64x96xi32>
  return %r : tensor<64x96xi32>
}

// Products of half precision are added up in f32. x86-64 converts them in many instructions, f16c in one.
// CHECK-LABEL: func public @half
// CHECK: ^bb0(%[[X:.*]]: buffer<f16>, %[[Y:.*]]: buffer<f16>)
// PLAIN: launch {{.*}}(%[[X]],
// PLAIN: launch {{.*}}(%[[Y]],
// HALF-NOT: launch
// HALF: matmul %[[X]], %[[Y]] to
// HALF: launch
func.func @half(%x: tensor<64x80xf16>, %y: tensor<80x96xf16>) -> tensor<64x96xf16> {
  %r = "promote.matmul"(%x, %y) : (tensor<64x80xf16>, tensor<80x96xf16>) -> tensor<64x96xf16>
  return %r : tensor<64x96xf16>
}

// A small product is a kernel, which converts what it reads.
// CHECK-LABEL: func public @small
// CHECK-NOT: matmul
// CHECK: launch @[[KERNEL:k[0-9]+]](
// CHECK-NOT: launch
// CHECK: return
// CHECK: kernel @[[KERNEL]]
// CHECK: load {{.*}} : bf16
// CHECK: convert {{.*}} : f32
func.func @small(%x: tensor<3x4xbf16>, %y: tensor<4x5xbf16>) -> tensor<3x5xf32> {
  %a = "promote.convert"(%x) : (tensor<3x4xbf16>) -> tensor<3x4xf32>
  %b = "promote.convert"(%y) : (tensor<4x5xbf16>) -> tensor<4x5xf32>
  %r = "promote.matmul"(%a, %b) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
