// RUN: promote-opt %s --split-input-file
// Attributes that are unknown, missing, of the wrong kind or out of range.

// twice
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {axis = array<i64: 0>, axis = array<i64: 0>} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// out of range
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {axis = array<i64: 99999999999999999999>} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// of i32
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {axis = array<i32: 0>} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a single one
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// dense
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {axis = dense<0> : tensor<1xi64>} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// without a name
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {"" = 1} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// dots for names
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {"." = 1, "a." = 2, ".b" = 3} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// misspelt
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// keepdims of i64
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {keepdims = 1 : i64} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// keepdims of i1
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {keepdims = 1 : i1} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a weak type
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {t = tensor<4x!promote.weak_int>} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// another dialect's
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {my.t = tensor<4x!promote.weak_int>, my.u = !promote.unknown} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// not UTF-8
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {"\FFax" = 1} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// escape characters
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {"\1b[31mred" = 1} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a NUL
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%a) {"a\00b" = 1} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// correction of f32
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.var"(%a) {correction = 1.0 : f32} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// correction of i64::MIN
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.var"(%a) {correction = -9223372036854775808 : i64} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// correction that is NaN
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.std"(%a) {correction = 0x7FF8000000000000 : f64} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// an axis of i65
func.func @f(%a: tensor<4x5xf32>, %b: tensor<2x3xi32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.take"(%a, %b) {axis = 1 : i65} : (tensor<4x5xf32>, tensor<2x3xi32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// an axis of index
func.func @f(%a: tensor<4x5xf32>, %b: tensor<2x3xi32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.take"(%a, %b) {axis = 1 : index} : (tensor<4x5xf32>, tensor<2x3xi32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// an axis of ui64
func.func @f(%a: tensor<4x5xf32>, %b: tensor<2x3xi32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.take"(%a, %b) {axis = 1 : ui64} : (tensor<4x5xf32>, tensor<2x3xi32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// an axis of si64
func.func @f(%a: tensor<4x5xf32>, %b: tensor<2x3xi32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.take"(%a, %b) {axis = 1 : si64} : (tensor<4x5xf32>, tensor<2x3xi32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// our own mark
func.func @f(%a: tensor<4xf32>, %b: tensor<4xi8>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) {promote.implicit} : (tensor<4xf32>, tensor<4xi8>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// missing
func.func @f(%a: tensor<4x5xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.permute_dims"(%a) : (tensor<4x5xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, negative
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, -1, 1, 1, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, a sum that overflows
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = array<i32: 2147483647, 2147483647, 4, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, a gap
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, none
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = array<i32>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, of i64
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = array<i64: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, the first missing
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = array<i32: 0, 1, 1, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, two in one
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments missing
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments, dense
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b) {axis = 0 : i64, operandSegmentSizes = dense<[1, 1, 0, 0, 0, 0, 0, 0]> : tensor<8xi32>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// no operands
func.func @f() -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"() {axis = 0 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// nine operands
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>, %f: tensor<4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>, %i: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.concat"(%a, %b, %c, %d, %e, %f, %g, %h, %i) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 2>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// segments where there are none
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// properties
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%x) <{axis = array<i64: 0>}> : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// properties and attributes that disagree
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.sum"(%x) <{axis = array<i64: 0>}> {axis = array<i64: 9>} : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// on the module, of our dialect
module attributes {promote.implicit, promote.foo = 1, a.t = tensor<4x!promote.weak_int>} {}

// -----
// one of our dialect, which has none
module attributes {a.b = #promote.foo} {}

// -----
// a resource
module attributes {a.b = dense_resource<blob> : tensor<3xi8>} {}

{-#
  dialect_resources: { builtin: { blob: "0x08000000010203" } }
#-}

// -----
// a damaged resource
module {}

{-#
  dialect_resources: { builtin: { blob: "0x0" } }
#-}

// -----
// a resource of our dialect, which has none
module {}

{-#
  dialect_resources: { promote: { blob: "0x08000000010203" } }, external_resources: { x: { y: true } }
#-}
