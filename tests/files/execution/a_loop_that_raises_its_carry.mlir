// The carry starts as a Python integer, and takes the dtype and the shape of what is added to it.
// RUN: promote-opt %s | FileCheck %s
// CHECK: func.func @f(%{{.*}}: tensor<3xbf16>, %{{.*}}: index) -> tensor<3xbf16>
// EXECUTE: jax
// INPUT: tensor<3xbf16> [0.5, 1, -2]
// INPUT: index 5
// OUTPUT: tensor<3xbf16> [3.5, 6.0, -9.0]

!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (!u) {
    %next = "promote.add"(%acc, %x) : (!u, tensor<3xbf16>) -> !u
    scf.yield %next : !u
  }
  return %sum : !u
}
