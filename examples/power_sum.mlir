!u = tensor<*x!promote.unknown>

// A loop whose carry begins as Python's 0. It becomes what the loop makes of it: tensor<8xbf16>.
func.func @power_sum(%x: tensor<8xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (!u) {
    %next = "promote.add"(%acc, %x) : (!u, tensor<8xbf16>) -> !u
    scf.yield %next : !u
  }
  return %sum : !u
}
