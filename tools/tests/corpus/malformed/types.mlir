// RUN: promote-opt %s --split-input-file
// Types in places where the dialect has no use for them, and ops of the wrong form.

// operand: index
func.func @f(%a: tensor<4xindex>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<4xindex>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a scalar
func.func @f(%a: f32, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (f32, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a memref
func.func @f(%a: memref<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (memref<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: an encoding
func.func @f(%a: tensor<4xf32, "enc">, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<4xf32, "enc">, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a sparse tensor
func.func @f(%a: tensor<4xf32, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<4xf32, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a function
func.func @f(%a: () -> (), %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (() -> (), tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a tuple
func.func @f(%a: tuple<tensor<4x!promote.weak_int>>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tuple<tensor<4x!promote.weak_int>>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a bare weak type
func.func @f(%a: !promote.weak_float, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (!promote.weak_float, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a bare unknown
func.func @f(%a: !promote.unknown, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (!promote.unknown, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: f80
func.func @f(%a: tensor<4xf80>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<4xf80>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: signed
func.func @f(%a: tensor<4xsi8>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<4xsi8>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: unregistered
func.func @f(%a: !foo.bar<"\FF">, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (!foo.bar<"\FF">, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a weak argument
func.func @f(%a: tensor<4x!promote.weak_float>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<4x!promote.weak_float>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: an unknown argument
func.func @f(%a: tensor<*x!promote.unknown>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<*x!promote.unknown>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// operand: a vector
func.func @f(%a: vector<4xf32>, %b: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (vector<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// abs states f32
func.func @f(%a: tensor<4xf32>) -> f32 {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> f32
  return %0 : f32
}

// -----
// relax states f32
func.func @f(%a: tensor<4xf32>) -> f32 {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> f32
  return %0 : f32
}

// -----
// convert states f32
func.func @f(%a: tensor<4xf32>) -> f32 {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> f32
  return %0 : f32
}

// -----
// abs states memref
func.func @f(%a: tensor<4xf32>) -> memref<4xf32> {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> memref<4xf32>
  return %0 : memref<4xf32>
}

// -----
// relax states memref
func.func @f(%a: tensor<4xf32>) -> memref<4xf32> {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> memref<4xf32>
  return %0 : memref<4xf32>
}

// -----
// convert states memref
func.func @f(%a: tensor<4xf32>) -> memref<4xf32> {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> memref<4xf32>
  return %0 : memref<4xf32>
}

// -----
// abs states index
func.func @f(%a: tensor<4xf32>) -> tensor<4xindex> {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----
// relax states index
func.func @f(%a: tensor<4xf32>) -> tensor<4xindex> {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----
// convert states index
func.func @f(%a: tensor<4xf32>) -> tensor<4xindex> {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----
// abs states an encoding
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32, "enc"> {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> tensor<4xf32, "enc">
  return %0 : tensor<4xf32, "enc">
}

// -----
// relax states an encoding
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32, "enc"> {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> tensor<4xf32, "enc">
  return %0 : tensor<4xf32, "enc">
}

// -----
// convert states an encoding
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32, "enc"> {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> tensor<4xf32, "enc">
  return %0 : tensor<4xf32, "enc">
}

// -----
// abs states weak
func.func @f(%a: tensor<4xf32>) -> tensor<4x!promote.weak_float> {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> tensor<4x!promote.weak_float>
  return %0 : tensor<4x!promote.weak_float>
}

// -----
// relax states weak
func.func @f(%a: tensor<4xf32>) -> tensor<4x!promote.weak_float> {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> tensor<4x!promote.weak_float>
  return %0 : tensor<4x!promote.weak_float>
}

// -----
// convert states weak
func.func @f(%a: tensor<4xf32>) -> tensor<4x!promote.weak_float> {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> tensor<4x!promote.weak_float>
  return %0 : tensor<4x!promote.weak_float>
}

// -----
// abs states bare unknown
func.func @f(%a: tensor<4xf32>) -> !promote.unknown {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> !promote.unknown
  return %0 : !promote.unknown
}

// -----
// relax states bare unknown
func.func @f(%a: tensor<4xf32>) -> !promote.unknown {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> !promote.unknown
  return %0 : !promote.unknown
}

// -----
// convert states bare unknown
func.func @f(%a: tensor<4xf32>) -> !promote.unknown {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> !promote.unknown
  return %0 : !promote.unknown
}

// -----
// abs states bare weak
func.func @f(%a: tensor<4xf32>) -> !promote.weak_int {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> !promote.weak_int
  return %0 : !promote.weak_int
}

// -----
// relax states bare weak
func.func @f(%a: tensor<4xf32>) -> !promote.weak_int {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> !promote.weak_int
  return %0 : !promote.weak_int
}

// -----
// convert states bare weak
func.func @f(%a: tensor<4xf32>) -> !promote.weak_int {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> !promote.weak_int
  return %0 : !promote.weak_int
}

// -----
// abs states another shape
func.func @f(%a: tensor<4xf32>) -> tensor<5xf32> {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// relax states another shape
func.func @f(%a: tensor<4xf32>) -> tensor<5xf32> {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// convert states another shape
func.func @f(%a: tensor<4xf32>) -> tensor<5xf32> {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----
// abs states another dtype
func.func @f(%a: tensor<4xf32>) -> tensor<4xi8> {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----
// relax states another dtype
func.func @f(%a: tensor<4xf32>) -> tensor<4xi8> {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----
// convert states another dtype
func.func @f(%a: tensor<4xf32>) -> tensor<4xi8> {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----
// abs states a function
func.func @f(%a: tensor<4xf32>) -> () -> () {
  %0 = "promote.abs"(%a) : (tensor<4xf32>) -> () -> ()
  return %0 : () -> ()
}

// -----
// relax states a function
func.func @f(%a: tensor<4xf32>) -> () -> () {
  %0 = "promote.relax"(%a) : (tensor<4xf32>) -> () -> ()
  return %0 : () -> ()
}

// -----
// convert states a function
func.func @f(%a: tensor<4xf32>) -> () -> () {
  %0 = "promote.convert"(%a) : (tensor<4xf32>) -> () -> ()
  return %0 : () -> ()
}

// -----
// a weak vector
func.func @f(%b: vector<4x!promote.weak_int>) { return }

// -----
// a weak memref
func.func @f(%b: memref<4x!promote.weak_int>) { return }

// -----
// a weak complex number
func.func @f(%a: complex<!promote.weak_int>) { return }

// -----
// weak types in function types
func.func @f(%a: (tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>, %t: tuple<tensor<4x!promote.weak_int>>) { return }

// -----
// no such type
func.func @f(%a: tensor<4x!promote.nosuch>) { return }

// -----
// a parameter
func.func @f(%a: !promote.weak_int<4>) { return }

// -----
// the long form
func.func @f(%a: !promote<weak_int>, %b: !promote<"unknown">) { return }

// -----
// argument attributes
func.func @f(%x: tensor<4x!promote.weak_int> {my.t = tensor<4x!promote.weak_int>}) -> (tensor<*x!promote.unknown> {my.x}) {
  %0 = "promote.abs"(%x) : (tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a negative extent
func.func @f(%a: tensor<-1xf32>) { return }

// -----
// an extent beyond 2^63
func.func @f(%a: tensor<99999999999999999999xf32>) { return }

// -----
// no join
func.func @f(%a: tensor<4xf8E4M3FN>, %b: tensor<4xf8E5M2>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b) : (tensor<4xf8E4M3FN>, tensor<4xf8E5M2>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// no such op
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.nosuch"(%a) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// one operand too few
func.func @f(%a: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// one operand too many
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%a, %b, %c) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// no operands
func.func @f() -> tensor<*x!promote.unknown> {
  %0 = "promote.add"() : () -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// no results
func.func @f(%x: tensor<4xf32>) {
  "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}

// -----
// two results
func.func @f(%x: tensor<4xf32>) {
  %0:2 = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>)
  return
}

// -----
// a region
func.func @f(%x: tensor<4xf32>) {
  %0 = "promote.add"(%x, %x) ({
  ^bb0(%a: i32):
    "foo.y"() : () -> ()
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return
}

// -----
// a successor
func.func @f(%x: tensor<4xf32>) {
  %0 = "promote.add"(%x, %x) [^bb1] : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
^bb1:
  return
}
