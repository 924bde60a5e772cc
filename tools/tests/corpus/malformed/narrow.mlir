// RUN: promote-opt %s --split-input-file
// Constants and converts of every kind of dtype, and of types that have none.

// i1 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[false, true, false]> : tensor<3xi1>} : () -> tensor<3xi1>
  %0 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xi1>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// i2 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0, 1, 2]> : tensor<3xi2>} : () -> tensor<3xi2>
  %0 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xi2>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// i4 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0, 1, 2]> : tensor<3xi4>} : () -> tensor<3xi4>
  %0 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xi4>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// ui2 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0, 1, 2]> : tensor<3xui2>} : () -> tensor<3xui2>
  %0 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xui2>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// ui4 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0, 1, 2]> : tensor<3xui4>} : () -> tensor<3xui4>
  %0 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xui4>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f8E4M3FN to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf8E4M3FN>} : () -> tensor<3xf8E4M3FN>
  %0 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf8E4M3FN>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f8E5M2 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf8E5M2>} : () -> tensor<3xf8E5M2>
  %0 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf8E5M2>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f4E2M1FN to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf4E2M1FN>} : () -> tensor<3xf4E2M1FN>
  %0 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf4E2M1FN>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f6E2M3FN to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf6E2M3FN>} : () -> tensor<3xf6E2M3FN>
  %0 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf6E2M3FN>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f6E3M2FN to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf6E3M2FN>} : () -> tensor<3xf6E3M2FN>
  %0 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf6E3M2FN>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f8E8M0FNU to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[4.0, 1.0, 2.0]> : tensor<3xf8E8M0FNU>} : () -> tensor<3xf8E8M0FNU>
  %0 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf8E8M0FNU>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f8E3M4 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf8E3M4>} : () -> tensor<3xf8E3M4>
  %0 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf8E3M4>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f8E4M3B11FNUZ to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf8E4M3B11FNUZ>} : () -> tensor<3xf8E4M3B11FNUZ>
  %0 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf8E4M3B11FNUZ>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// f8E4M3 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xf8E4M3>} : () -> tensor<3xf8E4M3>
  %0 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xf8E4M3>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// complex<f32> to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[(0.0, -0.0), (1.0, -1.0), (2.0, -2.0)]> : tensor<3xcomplex<f32>>} : () -> tensor<3xcomplex<f32>>
  %0 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xcomplex<f32>>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// complex<f64> to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[(0.0, -0.0), (1.0, -1.0), (2.0, -2.0)]> : tensor<3xcomplex<f64>>} : () -> tensor<3xcomplex<f64>>
  %0 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xcomplex<f64>>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// bf16 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0.0, 1.0, 2.0]> : tensor<3xbf16>} : () -> tensor<3xbf16>
  %0 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xbf16>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// i64 to everything
func.func @f() {
  %c = "promote.constant"() {value = dense<[0, 1, 2]> : tensor<3xi64>} : () -> tensor<3xi64>
  %0 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xf32>
  %1 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xi1>
  %2 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xi2>
  %3 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xui4>
  %4 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xf8E4M3FN>
  %5 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xf4E2M1FN>
  %6 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xcomplex<f32>>
  %7 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xi64>
  %8 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xf8E8M0FNU>
  %9 = "promote.convert"(%c) : (tensor<3xi64>) -> tensor<*xf6E3M2FN>
  "foo.use"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<*xf32>, tensor<*xi1>, tensor<*xi2>, tensor<*xui4>, tensor<*xf8E4M3FN>, tensor<*xf4E2M1FN>, tensor<*xcomplex<f32>>, tensor<*xi64>, tensor<*xf8E8M0FNU>, tensor<*xf6E3M2FN>) -> ()
  return
}

// -----
// complex<i32>, (1, 2)
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<(1, 2)> : tensor<complex<i32>>} : () -> tensor<complex<i32>>
  %0 = "promote.convert"(%c) : (tensor<complex<i32>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// tf32, 1.0
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<1.0> : tensor<tf32>} : () -> tensor<tf32>
  %0 = "promote.convert"(%c) : (tensor<tf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// f80, 1.0
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<1.0> : tensor<f80>} : () -> tensor<f80>
  %0 = "promote.convert"(%c) : (tensor<f80>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// f128, 1.0
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<1.0> : tensor<f128>} : () -> tensor<f128>
  %0 = "promote.convert"(%c) : (tensor<f128>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// i128, 1
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<1> : tensor<i128>} : () -> tensor<i128>
  %0 = "promote.convert"(%c) : (tensor<i128>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// si8, 1
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<1> : tensor<si8>} : () -> tensor<si8>
  %0 = "promote.convert"(%c) : (tensor<si8>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// none, 0
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<0> : tensor<none>} : () -> tensor<none>
  %0 = "promote.convert"(%c) : (tensor<none>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// bf16, 0x7FC1
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<0x7FC1> : tensor<bf16>} : () -> tensor<bf16>
  %0 = "promote.convert"(%c) : (tensor<bf16>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// f16, 0xFFFF
func.func @f() -> tensor<f32> {
  %c = "promote.constant"() {value = dense<0xFFFF> : tensor<f16>} : () -> tensor<f16>
  %0 = "promote.convert"(%c) : (tensor<f16>) -> tensor<f32>
  return %0 : tensor<f32>
}
