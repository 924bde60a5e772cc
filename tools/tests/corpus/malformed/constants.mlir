// RUN: promote-opt %s --split-input-file
// Constants whose value is not of their type, or is of a type that has no dtype.

// a value of vector type
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4]> : vector<4xi64>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of vector type, a result without rank
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1> : vector<4xi64>} : () -> tensor<*x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<*x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of vector type, a result of dynamic shape
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4]> : vector<4xi64>} : () -> tensor<?x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<?x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value with an encoding
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1> : tensor<4xi64, "enc">} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of index
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1> : tensor<4xindex>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of an odd width
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4]> : tensor<4xi37>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a splat of an odd width
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1> : tensor<4xi37>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of 128 bits
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4]> : tensor<4xi128>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of strings
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<["a", "b", "c", "d"]> : tensor<4x!foo.bar>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of strings of the weak type itself
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<["a", "b", "c", "d"]> : tensor<4x!promote.weak_int>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a value of strings, nothing stated
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<["a", "b", "c", "d"]> : tensor<4x!promote.unknown>} : () -> tensor<4x!promote.unknown>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// nothing stated
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4]> : tensor<4xi64>} : () -> tensor<*x!promote.unknown>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a float for a weak integer
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// f32 for a weak float
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<!promote.weak_float>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// bool for a weak integer
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a resource that is not there
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense_resource<blob> : tensor<4xi64>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// sparse
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = sparse<[[0], [1]], [1, 2]> : tensor<4xi64>} : () -> tensor<4x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// unit
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = unit} : () -> tensor<4xf32>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// one integer
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = 1 : i64} : () -> tensor<4xi64>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4xi64>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// a list
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = array<i64: 1, 2, 3, 4>} : () -> tensor<4xi64>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<4xi64>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// no elements
func.func @f(%x: tensor<1xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<> : tensor<0xi64>} : () -> tensor<0x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<1xf32>, tensor<0x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// no elements of bool
func.func @f(%x: tensor<1xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<> : tensor<0xi1>} : () -> tensor<0xi1>
  %0 = "promote.add"(%x, %c) : (tensor<1xf32>, tensor<0xi1>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// more elements than can be counted
func.func @f(%x: tensor<1xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1> : tensor<4294967296x4294967296x2xi64>} : () -> tensor<4294967296x4294967296x2x!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<1xf32>, tensor<4294967296x4294967296x2x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// as many elements as can be counted
func.func @f(%x: tensor<1xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<1> : tensor<9223372036854775807xi64>} : () -> tensor<9223372036854775807xi64>
  %0 = "promote.add"(%x, %c) : (tensor<1xf32>, tensor<9223372036854775807xi64>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// an integer that f32 does not hold
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<9223372036854775807> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// NaN bits
func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<0x7FF8DEADBEEF0001> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, tensor<!promote.weak_float>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----
// another width, converted
func.func @f() -> tensor<2xi64> {
  %c = "promote.constant"() {value = dense<[1, 2]> : tensor<2xi8>} : () -> tensor<2xi32>
  %0 = "promote.convert"(%c) : (tensor<2xi32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// a vector, converted
func.func @f() -> tensor<2xi64> {
  %c = "promote.constant"() {value = dense<[1, 2]> : vector<2xi8>} : () -> tensor<2xi32>
  %0 = "promote.convert"(%c) : (tensor<2xi32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// more elements, converted
func.func @f() -> tensor<2xi64> {
  %c = "promote.constant"() {value = dense<[1, 2, 3]> : tensor<3xi32>} : () -> tensor<2xi32>
  %0 = "promote.convert"(%c) : (tensor<2xi32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// elements for no rank, converted
func.func @f() -> tensor<*xi64> {
  %c = "promote.constant"() {value = dense<[1, 2, 3]> : tensor<3xi32>} : () -> tensor<*xi32>
  %0 = "promote.convert"(%c) : (tensor<*xi32>) -> tensor<*xi64>
  return %0 : tensor<*xi64>
}

// -----
// elements for a dynamic dimension, converted
func.func @f() -> tensor<?xi64> {
  %c = "promote.constant"() {value = dense<[1, 2, 3]> : tensor<3xi32>} : () -> tensor<?xi32>
  %0 = "promote.convert"(%c) : (tensor<?xi32>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// -----
// bools for integers, converted
func.func @f() -> tensor<2xi64> {
  %c = "promote.constant"() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi32>
  %0 = "promote.convert"(%c) : (tensor<2xi32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// strings, converted
func.func @f() -> tensor<2xi64> {
  %c = "promote.constant"() {value = dense<["a", "b"]> : tensor<2x!foo.bar>} : () -> tensor<2xi32>
  %0 = "promote.convert"(%c) : (tensor<2xi32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// nothing stated, returned
func.func @f() -> tensor<*x!promote.unknown> {
  %c = "promote.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<*x!promote.unknown>
  return %c : tensor<*x!promote.unknown>
}

// -----
// a weak literal that only another dialect uses
func.func @f() {
  %c = "promote.constant"() {value = dense<99999999999> : tensor<i64>} : () -> tensor<!promote.weak_int>
  "foo.use"(%c, %c) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> ()
  return
}

// -----
// a weak literal of a dialect that has no such constants
func.func @f() {
  %c = arith.constant dense<1> : tensor<2x!promote.weak_int>
  return
}
