// Upstream's convert-scf-to-cf compares 32 bits of an index: 2^32 would be the case 0.
// RUN: promote-run %s --input 1.5 --input 4294967296 | FileCheck %s --check-prefix=BEYOND
// RUN: promote-run %s --input 1.5 --input -4294967295 | FileCheck %s --check-prefix=BEYOND
// RUN: promote-run %s --input 1.5 --input 0 | FileCheck %s --check-prefix=ZERO
// RUN: promote-run %s --input 1.5 --input -1 | FileCheck %s --check-prefix=MINUS
// RUN: promote-run %s --input 1.5 --input 4294967297 | FileCheck %s --check-prefix=WIDE

// BEYOND: {{^}}1.5
// ZERO: {{^}}3.0
// MINUS: {{^}}-1.5
// WIDE: {{^}}2.25

func.func @f(%x: tensor<f32>, %i: index) -> tensor<f32> {
  %r = scf.index_switch %i -> tensor<f32>
  case 0 {
    %a = "promote.add"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %a : tensor<f32>
  }
  case -1 {
    %b = "promote.negative"(%x) : (tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  }
  case 4294967297 {
    %c = "promote.square"(%x) : (tensor<f32>) -> tensor<f32>
    scf.yield %c : tensor<f32>
  }
  default {
    scf.yield %x : tensor<f32>
  }
  return %r : tensor<f32>
}
