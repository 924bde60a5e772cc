// RUN: promote-opt %s --split-input-file
// Errors at odd places.

// none
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc(unknown)
  return
}

// -----
// another file
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("other.mlir":99999999:1)
  return
}

// -----
// a file called -
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("-":1:1)
  return
}

// -----
// line 0
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("":0:0)
  return
}

// -----
// the last line
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("locations.mlir":4294967295:4294967295)
  return
}

// -----
// a fusion
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc(fused<"m">["a", "b"("c.mlir":5:0)])
  return
}

// -----
// an empty fusion
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc(fused[])
  return
}

// -----
// control characters
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("a\00\1b[31m\0Ab":5:7)
  return
}

// -----
// not UTF-8
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("a\FF\FE":2:3)
  return
}

// -----
// a range
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("locations.mlir":2:1 to 3:4)
  return
}

// -----
// a call
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc(callsite("f"("a.mlir":1:2) at unknown))
  return
}

// -----
// nonsense
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc("a":"b")
  return
}

// -----
// 60 levels of calls, each twice
#l0 = loc("a.mlir":1:1)
#l1 = loc(callsite(#l0 at #l0))
#l2 = loc(callsite(#l1 at #l1))
#l3 = loc(callsite(#l2 at #l2))
#l4 = loc(callsite(#l3 at #l3))
#l5 = loc(callsite(#l4 at #l4))
#l6 = loc(callsite(#l5 at #l5))
#l7 = loc(callsite(#l6 at #l6))
#l8 = loc(callsite(#l7 at #l7))
#l9 = loc(callsite(#l8 at #l8))
#l10 = loc(callsite(#l9 at #l9))
#l11 = loc(callsite(#l10 at #l10))
#l12 = loc(callsite(#l11 at #l11))
#l13 = loc(callsite(#l12 at #l12))
#l14 = loc(callsite(#l13 at #l13))
#l15 = loc(callsite(#l14 at #l14))
#l16 = loc(callsite(#l15 at #l15))
#l17 = loc(callsite(#l16 at #l16))
#l18 = loc(callsite(#l17 at #l17))
#l19 = loc(callsite(#l18 at #l18))
#l20 = loc(callsite(#l19 at #l19))
#l21 = loc(callsite(#l20 at #l20))
#l22 = loc(callsite(#l21 at #l21))
#l23 = loc(callsite(#l22 at #l22))
#l24 = loc(callsite(#l23 at #l23))
#l25 = loc(callsite(#l24 at #l24))
#l26 = loc(callsite(#l25 at #l25))
#l27 = loc(callsite(#l26 at #l26))
#l28 = loc(callsite(#l27 at #l27))
#l29 = loc(callsite(#l28 at #l28))
#l30 = loc(callsite(#l29 at #l29))
#l31 = loc(callsite(#l30 at #l30))
#l32 = loc(callsite(#l31 at #l31))
#l33 = loc(callsite(#l32 at #l32))
#l34 = loc(callsite(#l33 at #l33))
#l35 = loc(callsite(#l34 at #l34))
#l36 = loc(callsite(#l35 at #l35))
#l37 = loc(callsite(#l36 at #l36))
#l38 = loc(callsite(#l37 at #l37))
#l39 = loc(callsite(#l38 at #l38))
#l40 = loc(callsite(#l39 at #l39))
#l41 = loc(callsite(#l40 at #l40))
#l42 = loc(callsite(#l41 at #l41))
#l43 = loc(callsite(#l42 at #l42))
#l44 = loc(callsite(#l43 at #l43))
#l45 = loc(callsite(#l44 at #l44))
#l46 = loc(callsite(#l45 at #l45))
#l47 = loc(callsite(#l46 at #l46))
#l48 = loc(callsite(#l47 at #l47))
#l49 = loc(callsite(#l48 at #l48))
#l50 = loc(callsite(#l49 at #l49))
#l51 = loc(callsite(#l50 at #l50))
#l52 = loc(callsite(#l51 at #l51))
#l53 = loc(callsite(#l52 at #l52))
#l54 = loc(callsite(#l53 at #l53))
#l55 = loc(callsite(#l54 at #l54))
#l56 = loc(callsite(#l55 at #l55))
#l57 = loc(callsite(#l56 at #l56))
#l58 = loc(callsite(#l57 at #l57))
#l59 = loc(callsite(#l58 at #l58))
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<*x!promote.unknown> loc(#l59)
  return
}
