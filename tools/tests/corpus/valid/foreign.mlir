// Ops of other dialects, registered and not, around ours.
#map = affine_map<(d0) -> (d0)>
!u = tensor<*x!promote.unknown>
module attributes {my.note = dense_resource<blob> : tensor<3xi8>} {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<4xi8>, %c: i1) -> !u {
    %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = scf.if %c -> (tensor<4xf32>) {
      %t = "promote.maximum"(%0, %n) {my.mark} : (tensor<4xf32>, tensor<4xi8>) -> tensor<4xf32>
      scf.yield %t : tensor<4xf32>
    } else {
      scf.yield %0 : tensor<4xf32>
    }
    %2 = "foo.bar"(%1) ({
      "foo.yield"(%1) : (tensor<4xf32>) -> ()
    }) {foo.x = "a"} : (tensor<4xf32>) -> tensor<4xi16>
    %3 = "promote.subtract"(%2, %1) : (tensor<4xi16>, tensor<4xf32>) -> !u
    return %3 : !u
  }
}
{-#
  dialect_resources: { builtin: { blob: "0x08000000010203" } }
#-}
