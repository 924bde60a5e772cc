// RUN: not promote-opt %s --verify-each 2>&1 | %{exact}

!u = tensor<*x!promote.unknown>
func.func private @declared(!u)
func.func @f() {
  %0 = "other.make"() : () -> tuple<tensor<!promote.weak_int>>
  return
}

// CHECK-NOT:{{.+}}
// CHECK:types_hidden_where_nothing_promotes_them.mlir:4:1: error[P0013]: a declaration must state its argument types
// CHECK-NEXT:func.func private @declared(!u)
// CHECK-NEXT:^
// CHECK-NEXT:  help: state them in its signature
// CHECK-NOT:{{.+}}
