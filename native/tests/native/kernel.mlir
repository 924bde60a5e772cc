// What a code generator writes for out[i] = fmod(x[i] + y[i], m) * table[i % 4], m of rank 0, with its metadata and functions for C.

!type = !llvm.struct<(i8, i8, i16, i32, ptr, ptr)>
!input = !llvm.struct<(ptr, ptr, ptr)>
!function = !llvm.struct<(ptr, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i64, ptr)>

llvm.func @promote_rt_output(!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @promote_rt_shape(!llvm.ptr, i64, !llvm.ptr)
llvm.func @promote_rt_fail(!llvm.ptr, !llvm.ptr, i64)
llvm.func @promote_rt_parallel(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64)
llvm.func @promote_rt_call(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @promote_rt_shapes(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @fmodf(f32, f32) -> f32

llvm.mlir.global internal constant @table(dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>) : !llvm.array<4 x f32>
llvm.mlir.global internal constant @name("promote_f\00")
llvm.mlir.global internal constant @name_x("x\00")
llvm.mlir.global internal constant @differ("x and y have different extents")
llvm.mlir.global internal constant @dims(dense<-1> : tensor<1xi64>) : !llvm.array<1 x i64>

llvm.mlir.global internal constant @vector() : !type {
  %0 = llvm.mlir.undef : !type
  %code = llvm.mlir.constant(2 : i8) : i8
  %bits = llvm.mlir.constant(32 : i8) : i8
  %lanes = llvm.mlir.constant(1 : i16) : i16
  %rank = llvm.mlir.constant(1 : i32) : i32
  %dims = llvm.mlir.addressof @dims : !llvm.ptr
  %name = llvm.mlir.addressof @name_x : !llvm.ptr
  %1 = llvm.insertvalue %code, %0[0] : !type
  %2 = llvm.insertvalue %bits, %1[1] : !type
  %3 = llvm.insertvalue %lanes, %2[2] : !type
  %4 = llvm.insertvalue %rank, %3[3] : !type
  %5 = llvm.insertvalue %dims, %4[4] : !type
  %6 = llvm.insertvalue %name, %5[5] : !type
  llvm.return %6 : !type
}

llvm.mlir.global internal constant @inputs() : !llvm.array<3 x !type> {
  %0 = llvm.mlir.undef : !llvm.array<3 x !type>
  %null = llvm.mlir.zero : !llvm.ptr
  %code = llvm.mlir.constant(2 : i8) : i8
  %bits = llvm.mlir.constant(32 : i8) : i8
  %lanes = llvm.mlir.constant(1 : i16) : i16
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %dims = llvm.mlir.addressof @dims : !llvm.ptr
  %name = llvm.mlir.addressof @name_x : !llvm.ptr
  %1 = llvm.insertvalue %code, %0[0, 0] : !llvm.array<3 x !type>
  %2 = llvm.insertvalue %bits, %1[0, 1] : !llvm.array<3 x !type>
  %3 = llvm.insertvalue %lanes, %2[0, 2] : !llvm.array<3 x !type>
  %4 = llvm.insertvalue %one, %3[0, 3] : !llvm.array<3 x !type>
  %5 = llvm.insertvalue %dims, %4[0, 4] : !llvm.array<3 x !type>
  %6 = llvm.insertvalue %name, %5[0, 5] : !llvm.array<3 x !type>
  %7 = llvm.insertvalue %code, %6[1, 0] : !llvm.array<3 x !type>
  %8 = llvm.insertvalue %bits, %7[1, 1] : !llvm.array<3 x !type>
  %9 = llvm.insertvalue %lanes, %8[1, 2] : !llvm.array<3 x !type>
  %10 = llvm.insertvalue %one, %9[1, 3] : !llvm.array<3 x !type>
  %11 = llvm.insertvalue %dims, %10[1, 4] : !llvm.array<3 x !type>
  %12 = llvm.insertvalue %null, %11[1, 5] : !llvm.array<3 x !type>
  %13 = llvm.insertvalue %code, %12[2, 0] : !llvm.array<3 x !type>
  %14 = llvm.insertvalue %bits, %13[2, 1] : !llvm.array<3 x !type>
  %15 = llvm.insertvalue %lanes, %14[2, 2] : !llvm.array<3 x !type>
  %16 = llvm.insertvalue %zero, %15[2, 3] : !llvm.array<3 x !type>
  %17 = llvm.insertvalue %null, %16[2, 4] : !llvm.array<3 x !type>
  %18 = llvm.insertvalue %null, %17[2, 5] : !llvm.array<3 x !type>
  llvm.return %18 : !llvm.array<3 x !type>
}

llvm.mlir.global constant @promote_f_meta() : !function {
  %0 = llvm.mlir.undef : !function
  %name = llvm.mlir.addressof @name : !llvm.ptr
  %three = llvm.mlir.constant(3 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %inputs = llvm.mlir.addressof @inputs : !llvm.ptr
  %outputs = llvm.mlir.addressof @vector : !llvm.ptr
  %entry = llvm.mlir.addressof @entry : !llvm.ptr
  %shape = llvm.mlir.addressof @shape : !llvm.ptr
  %1 = llvm.insertvalue %name, %0[0] : !function
  %2 = llvm.insertvalue %three, %1[1] : !function
  %3 = llvm.insertvalue %one, %2[2] : !function
  %4 = llvm.insertvalue %inputs, %3[3] : !function
  %5 = llvm.insertvalue %outputs, %4[4] : !function
  %6 = llvm.insertvalue %entry, %5[5] : !function
  %7 = llvm.insertvalue %shape, %6[6] : !function
  %unknown = llvm.mlir.zero : !llvm.ptr
  %8 = llvm.insertvalue %unknown, %7[7] : !function
  %9 = llvm.insertvalue %unknown, %8[8] : !function
  %none = llvm.mlir.constant(0 : i64) : i64
  %10 = llvm.insertvalue %none, %9[9] : !function
  %11 = llvm.insertvalue %unknown, %10[10] : !function
  llvm.return %11 : !function
}

llvm.func @promote_f(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %meta = llvm.mlir.addressof @promote_f_meta : !llvm.ptr
  %status = llvm.call @promote_rt_call(%meta, %inputs, %outputs) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}

llvm.func @promote_f_shape(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %meta = llvm.mlir.addressof @promote_f_meta : !llvm.ptr
  %status = llvm.call @promote_rt_shapes(%meta, %inputs, %outputs) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}

llvm.func internal @shape(%context: !llvm.ptr, %inputs: !llvm.ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %place = llvm.getelementptr %inputs[0, 1] : (!llvm.ptr) -> !llvm.ptr, !input
  %dims = llvm.load %place : !llvm.ptr -> !llvm.ptr
  llvm.call @promote_rt_shape(%context, %c0, %dims) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  llvm.return %ok : i32
}

llvm.func internal @entry(%context: !llvm.ptr, %inputs: !llvm.ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %grain = llvm.mlir.constant(4096 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %failed = llvm.mlir.constant(1 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %x_place = llvm.getelementptr %inputs[0, 0] : (!llvm.ptr) -> !llvm.ptr, !input
  %x_dims_place = llvm.getelementptr %inputs[0, 1] : (!llvm.ptr) -> !llvm.ptr, !input
  %y_place = llvm.getelementptr %inputs[1, 0] : (!llvm.ptr) -> !llvm.ptr, !input
  %y_dims_place = llvm.getelementptr %inputs[1, 1] : (!llvm.ptr) -> !llvm.ptr, !input
  %m_place = llvm.getelementptr %inputs[2, 0] : (!llvm.ptr) -> !llvm.ptr, !input
  %x = llvm.load %x_place : !llvm.ptr -> !llvm.ptr
  %y = llvm.load %y_place : !llvm.ptr -> !llvm.ptr
  %m_data = llvm.load %m_place : !llvm.ptr -> !llvm.ptr
  %m = llvm.load %m_data : !llvm.ptr -> f32
  %x_dims = llvm.load %x_dims_place : !llvm.ptr -> !llvm.ptr
  %y_dims = llvm.load %y_dims_place : !llvm.ptr -> !llvm.ptr
  %n = llvm.load %x_dims : !llvm.ptr -> i64
  %y_n = llvm.load %y_dims : !llvm.ptr -> i64
  %agree = llvm.icmp "eq" %n, %y_n : i64
  llvm.cond_br %agree, ^same, ^different
^different:
  %message = llvm.mlir.addressof @differ : !llvm.ptr
  %length = llvm.mlir.constant(30 : i64) : i64
  llvm.call @promote_rt_fail(%context, %message, %length) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return %failed : i32
^same:
  %out = llvm.call @promote_rt_output(%context, %c0, %x_dims) : (!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  %none = llvm.icmp "eq" %out, %null : !llvm.ptr
  llvm.cond_br %none, ^fail, ^run
^fail:
  llvm.return %failed : i32
^run:
  %env = llvm.alloca %c1 x !llvm.struct<(ptr, ptr, ptr, f32)> : (i64) -> !llvm.ptr
  %e1 = llvm.getelementptr %env[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr, f32)>
  %e2 = llvm.getelementptr %env[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr, f32)>
  %e3 = llvm.getelementptr %env[0, 3] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr, f32)>
  llvm.store %x, %env : !llvm.ptr, !llvm.ptr
  llvm.store %y, %e1 : !llvm.ptr, !llvm.ptr
  llvm.store %out, %e2 : !llvm.ptr, !llvm.ptr
  llvm.store %m, %e3 : f32, !llvm.ptr
  %body = llvm.mlir.addressof @body : !llvm.ptr
  llvm.call @promote_rt_parallel(%context, %body, %env, %n, %grain) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
  llvm.return %ok : i32
}

llvm.func internal @body(%env: !llvm.ptr, %begin: i64, %end: i64) {
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c3 = llvm.mlir.constant(3 : i64) : i64
  %e1 = llvm.getelementptr %env[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr, f32)>
  %e2 = llvm.getelementptr %env[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr, f32)>
  %e3 = llvm.getelementptr %env[0, 3] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr, f32)>
  %x = llvm.load %env : !llvm.ptr -> !llvm.ptr
  %y = llvm.load %e1 : !llvm.ptr -> !llvm.ptr
  %out = llvm.load %e2 : !llvm.ptr -> !llvm.ptr
  %m = llvm.load %e3 : !llvm.ptr -> f32
  %table = llvm.mlir.addressof @table : !llvm.ptr
  llvm.br ^loop(%begin : i64)
^loop(%i: i64):
  %more = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %more, ^step, ^done
^step:
  %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %po = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.load %px : !llvm.ptr -> f32
  %b = llvm.load %py : !llvm.ptr -> f32
  %sum = llvm.fadd %a, %b : f32
  %rest = llvm.call @fmodf(%sum, %m) : (f32, f32) -> f32
  %k = llvm.and %i, %c3 : i64
  %pt = llvm.getelementptr %table[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %t = llvm.load %pt : !llvm.ptr -> f32
  %value = llvm.fmul %rest, %t : f32
  llvm.store %value, %po : f32, !llvm.ptr
  %next = llvm.add %i, %c1 : i64
  llvm.br ^loop(%next : i64)
^done:
  llvm.return
}
