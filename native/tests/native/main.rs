//! Compiling, loading, linking and calling, with a module as a code generator would write it.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use melior::Context;
use melior::ir::Module;
use promote_native::{
    Argument, Compiled, Error, Image, OptLevel, RUNTIME_OBJECT, Signature, Target, compile, header,
    shared_library, shared_library_bytes, translate,
};
use promote_runtime::{
    Callable, DLDataType, DLDevice, DLTensor, Function, Status, TensorView, promote_last_error,
};

const KERNEL: &str = include_str!("kernel.mlir");
const F32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };

/// Runs `test` on a module of the LLVM dialect, given as text.
fn with_module<T>(text: &str, test: impl FnOnce(&Module<'_>) -> T) -> T {
    let context = Context::new();
    context.append_dialect_registry(&registry());
    context.load_all_available_dialects();
    test(&Module::parse(&context, text).expect("the module parses"))
}

fn registry() -> melior::dialect::DialectRegistry {
    let registry = melior::dialect::DialectRegistry::new();
    // SAFETY: the registry is alive.
    unsafe {
        mlir_sys::mlirDialectHandleInsertDialect(mlir_sys::mlirGetDialectHandle__llvm__(), registry.to_raw());
    }
    registry
}

fn compiled(text: &str, target: &Target) -> Result<Compiled, Error> {
    // SAFETY: the module is alive and used by this thread only.
    with_module(text, |module| unsafe { compile(module.to_raw(), target, OptLevel::Aggressive) })
}

fn kernel_object() -> Vec<u8> {
    compiled(KERNEL, &Target::host()).and_then(|compiled| compiled.object()).expect("the kernel compiles")
}

fn expected(x: &[f32], y: &[f32], m: f32) -> Vec<f32> {
    (0..x.len()).map(|index| (x[index] + y[index]) % m * (index % 4 + 1) as f32).collect()
}

fn numbers(count: usize) -> (Vec<f32>, Vec<f32>) {
    (
        (0..count).map(|index| index as f32 * 0.37).collect(),
        (0..count).map(|index| index as f32 * -0.11).collect(),
    )
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|chunk| f32::from_ne_bytes(chunk.try_into().expect("four bytes"))).collect()
}

fn tensor(data: &mut [f32], shape: &mut [i64]) -> DLTensor {
    DLTensor {
        data: data.as_mut_ptr().cast::<c_void>(),
        device: DLDevice { device_type: 1, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: F32,
        shape: shape.as_mut_ptr(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    }
}

type Wrapper = unsafe extern "C" fn(*const *const DLTensor, *const *mut DLTensor) -> i32;

/// Calls `promote_f` as C would, with three inputs and one output.
fn call(function: Wrapper, (x, y, m): (&[f32], &[f32], f32), out: &mut [f32]) -> i32 {
    let (mut x, mut y, mut m) = (x.to_vec(), y.to_vec(), [m]);
    let (mut x_shape, mut y_shape, mut out_shape) = ([x.len() as i64], [y.len() as i64], [out.len() as i64]);
    let (x, y) = (tensor(&mut x, &mut x_shape), tensor(&mut y, &mut y_shape));
    let (m, mut out) = (tensor(&mut m, &mut []), tensor(out, &mut out_shape));
    let inputs: [*const DLTensor; 3] = [&x, &y, &m];
    let outputs: [*mut DLTensor; 1] = [&mut out];
    // SAFETY: the tensors are what they say, and alive.
    unsafe { function(inputs.as_ptr(), outputs.as_ptr()) }
}

fn last_error() -> String {
    // SAFETY: the message is NUL-terminated and lives until the next call.
    unsafe { CStr::from_ptr(promote_last_error()) }.to_string_lossy().into_owned()
}

mod ptx;
mod targets;

mod compiling {
    use super::*;

    const SCALE: &str =
        "llvm.func @scale(%p: !llvm.ptr {llvm.noalias}, %q: !llvm.ptr {llvm.noalias}, %n: i64) {
        %c0 = llvm.mlir.constant(0 : i64) : i64
        %c1 = llvm.mlir.constant(1 : i64) : i64
        llvm.br ^loop(%c0 : i64)
      ^loop(%i: i64):
        %more = llvm.icmp \"slt\" %i, %n : i64
        llvm.cond_br %more, ^step, ^done
      ^step:
        %from = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %to = llvm.getelementptr %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %a = llvm.load %from : !llvm.ptr -> f32
        %b = llvm.fadd %a, %a : f32
        llvm.store %b, %to : f32, !llvm.ptr
        %next = llvm.add %i, %c1 : i64
        llvm.br ^loop(%next : i64)
      ^done:
        llvm.return
      }";

    #[test]
    fn ir_is_there_before_and_after_optimisation() {
        with_module(SCALE, |module| {
            // SAFETY: the module is alive and used by this thread only.
            let translated = unsafe { translate(module.to_raw(), &Target::host()) }.expect("it translates");
            let before = translated.ir_text();
            assert!(before.contains("define void @scale") && before.contains("\"target-cpu\""), "{before}");
            let after = translated.optimise(OptLevel::Aggressive).expect("it compiles").ir_text();
            assert!(after.contains("define void @scale") && after != before, "{after}");
        });
    }

    #[test]
    fn scalar_loops_stay_scalar() {
        with_module(SCALE, |module| {
            // SAFETY: the module is alive and used by this thread only.
            let translated = unsafe { translate(module.to_raw(), &Target::host()) }.expect("it translates");
            let after = translated.optimise(OptLevel::Aggressive).expect("it compiles").ir_text();
            assert!(after.contains("fadd float") && !after.contains(" x float>"), "{after}");
            assert_eq!(after.matches("fadd float").count(), 1, "the loop is not unrolled: {after}");
        });
    }

    /// A loop over a chain of operations that use each result twice.
    #[test]
    fn long_chains_in_loops_compile() {
        let step = |index: usize| {
            format!(
                "%m{index} = llvm.fcmp \"olt\" %v{index}, %k : f32
                 %w{index} = llvm.fmul %v{index}, %v{index} : f32
                 %v{} = llvm.select %m{index}, %v{index}, %w{index} : i1, f32\n",
                index + 1
            )
        };
        let chain: String = (0..200).map(step).collect();
        let text = SCALE
            .replace("%b = llvm.fadd %a, %a : f32", &chain)
            .replace("%from = llvm.getelementptr %p[%i]", "%from = llvm.getelementptr %p[%c0]")
            .replace("%a = llvm.load", "%k = llvm.mlir.constant(2.0 : f32) : f32\n %v0 = llvm.load")
            .replace("llvm.store %b", "llvm.store %v200")
            .replace(" {llvm.noalias}", "");
        assert!(
            text.contains("%v200, %to") && text.contains("%p[%c0]") && !text.contains("noalias"),
            "{text}"
        );
        // It takes milliseconds, or forever.
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(compiled(&text, &Target::host()).map(|_| ())));
        wait.recv_timeout(std::time::Duration::from_secs(300)).expect("it ends").expect("it compiles");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn vectors_are_as_wide_as_the_processor_has_them() {
        let wide = SCALE.replace("f32", "vector<16xf32>");
        for (name, register) in [("x86-64", "%xmm"), ("x86-64-v3", "%ymm"), ("x86-64-v4", "%zmm")] {
            let target = Target::named(name).expect("the CPU is known");
            let assembly = compiled(&wide, &target).and_then(|it| it.assembly()).expect("it compiles");
            assert!(assembly.contains(register), "{name}: {assembly}");
        }
    }

    #[test]
    fn the_same_module_gives_the_same_object() {
        assert_eq!(kernel_object(), kernel_object());
    }

    #[test]
    fn threads_compile_at_once() {
        let object = kernel_object();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    assert_eq!(kernel_object(), object);
                    assert!(Image::load(&object).is_ok());
                });
            }
        });
    }

    #[test]
    fn other_dialects_are_refused() {
        let context = Context::new();
        let registry = registry();
        // SAFETY: the registry is alive.
        unsafe {
            let func = mlir_sys::mlirGetDialectHandle__func__();
            mlir_sys::mlirDialectHandleInsertDialect(func, registry.to_raw());
        }
        context.append_dialect_registry(&registry);
        context.load_all_available_dialects();
        let module = Module::parse(&context, "func.func @f() { return }").expect("it parses");
        // SAFETY: the module is alive and used by this thread only.
        let outcome = unsafe { compile(module.to_raw(), &Target::host(), OptLevel::None) };
        let text = outcome.err().expect("it is not the LLVM dialect").to_string();
        assert!(text.starts_with("the module cannot be translated to LLVM IR: "), "{text}");
        assert!(text.contains("func.func"), "{text}");
    }
}

mod in_memory {
    use super::*;

    #[test]
    fn the_kernel_runs_from_rust() {
        let image = Image::load(&kernel_object()).expect("it loads");
        let function = image.symbol("promote_f_meta").expect("it is defined").cast::<Function>();
        // SAFETY: the symbol is metadata, and the image lives on.
        let function = unsafe { Callable::new(&*function) };
        assert_eq!((function.name(), function.inputs().len(), function.outputs().len()), ("promote_f", 3, 1));
        for count in [0, 1, 5, 100_003] {
            let (x, y) = numbers(count);
            let (x_bytes, y_bytes, m) = (bytes(&x), bytes(&y), bytes(&[2.5]));
            let shape = [count as i64];
            let inputs = [
                TensorView::new(F32, &shape, &x_bytes),
                TensorView::new(F32, &shape, &y_bytes),
                TensorView::new(F32, &[], &m),
            ];
            let results = function.run(&inputs).expect("it runs");
            assert_eq!(results[0].shape(), shape);
            assert_eq!(floats(results[0].data()), expected(&x, &y, 2.5));
            assert_eq!(function.shapes(&inputs).expect("the inputs are valid"), [shape.to_vec()]);
        }
    }

    #[test]
    fn the_kernel_runs_as_from_c() {
        let image = Image::load(&kernel_object()).expect("it loads");
        let address = image.symbol("promote_f").expect("it is defined");
        // SAFETY: the symbol is a function of that type.
        let function = unsafe { std::mem::transmute::<*const (), Wrapper>(address) };
        let (x, y) = numbers(9000);
        let mut out = vec![0.0; 9000];
        assert_eq!((call(function, (&x, &y, 3.0), &mut out), last_error().as_str()), (0, ""));
        assert_eq!(out, expected(&x, &y, 3.0));

        assert_eq!(call(function, (&x, &y[1..], 3.0), &mut out), Status::Check as i32);
        assert_eq!(last_error(), "promote_f: x and y have different extents");
        assert_eq!(call(function, (&x, &y, 3.0), &mut out[1..]), Status::Shape as i32);
        assert_eq!(
            last_error(),
            "promote_f: output 0 must be float32[9000] for these inputs, but is float32[8999]"
        );
    }

    #[test]
    fn conversions_to_bfloat16_are_there_on_every_processor() {
        let text = "llvm.func @narrow(%p: !llvm.ptr, %q: !llvm.ptr) {
            %d = llvm.load %p : !llvm.ptr -> f64
            %f = llvm.fptrunc %d : f64 to f32
            %a = llvm.fptrunc %d : f64 to bf16
            %b = llvm.fptrunc %f : f32 to bf16
            llvm.store %a, %q : bf16, !llvm.ptr
            %next = llvm.getelementptr %q[1] : (!llvm.ptr) -> !llvm.ptr, bf16
            llvm.store %b, %next : bf16, !llvm.ptr
            llvm.return
        }";
        for target in [Target::named("generic").expect("it is known"), Target::host()] {
            let object = compiled(text, &target).and_then(|it| it.object()).expect("it compiles");
            let image = Image::load(&object).expect("it loads");
            let address = image.symbol("narrow").expect("it is defined");
            type Narrow = unsafe extern "C" fn(*const f64, *mut u16);
            // SAFETY: the symbol is a function of that type.
            let narrow = unsafe { std::mem::transmute::<*const (), Narrow>(address) };
            // The tie of bfloat16 plus what float does not hold: rounding twice loses it.
            for (value, once, twice) in
                [(1.0 + 2f64.powi(-8) + 2f64.powi(-40), 0x3f81, 0x3f80), (-3.0, 0xc040, 0xc040)]
            {
                let mut out = [0u16; 2];
                // SAFETY: both are alive, and large enough.
                unsafe { narrow(&value, out.as_mut_ptr()) };
                assert_eq!(out, [once, twice], "{value} on {}", target.cpu());
            }
        }
    }

    #[test]
    fn images_are_apart_and_go_away() {
        let object = kernel_object();
        let images: Vec<Image> = (0..4).map(|_| Image::load(&object).expect("it loads")).collect();
        let mut addresses: Vec<_> = images.iter().map(|image| image.symbol("promote_f")).collect();
        addresses.sort();
        addresses.dedup();
        assert_eq!(addresses.len(), 4);
        std::thread::spawn(move || drop(images)).join().expect("images may be dropped anywhere");
    }

    #[test]
    fn what_nobody_has_is_named() {
        let text = "llvm.func @nobody_has_this()
            llvm.func @f() { llvm.call @nobody_has_this() : () -> () llvm.return }";
        let object = compiled(text, &Target::host()).and_then(|it| it.object()).expect("it compiles");
        let error = Image::load(&object).expect_err("a function is missing").to_string();
        assert!(error.contains("nobody_has_this"), "{error}");
        let garbage = Image::load(b"not an object").expect_err("it is none").to_string();
        assert_eq!(garbage, "the object cannot be loaded: it is not an object file");
        let cut = Image::load(&object[..object.len() / 2]).expect_err("half is missing").to_string();
        assert!(cut.starts_with("the object cannot be loaded: "), "{cut}");
    }
}

mod libraries {
    use super::*;

    type LastError = unsafe extern "C" fn() -> *const c_char;

    #[test]
    fn a_library_runs_and_shows_only_its_interface() {
        let directory = tempfile::tempdir().expect("there is a place for files");
        let path = directory.path().join("libkernel.so");
        shared_library(&kernel_object(), &["promote_f", "promote_f_shape"], &path).expect("it links");
        let size = std::fs::metadata(&path).expect("it is there").len();
        println!("library {size} bytes, run time {} bytes", RUNTIME_OBJECT.len());
        assert!(size < 1 << 20, "{size} bytes");
        let left: Vec<_> = std::fs::read_dir(directory.path()).expect("it is there").collect();
        assert_eq!(left.len(), 1, "{left:?}");

        // SAFETY: the library's initialisers are those of the C start-up files; the types are those of its functions.
        unsafe {
            let library = libloading::Library::new(&path).expect("it loads");
            let function = *library.get::<Wrapper>(b"promote_f").expect("it is shown");
            let last_error = *library.get::<LastError>(b"promote_last_error").expect("it is shown");
            let (x, y) = numbers(50_000);
            let mut out = vec![0.0; 50_000];
            assert_eq!(call(function, (&x, &y, 2.0), &mut out), 0);
            assert_eq!(out, expected(&x, &y, 2.0));
            assert_eq!(call(function, (&x, &y[1..], 2.0), &mut out), Status::Check as i32);
            let message = CStr::from_ptr(last_error()).to_str().expect("it is text");
            assert_eq!(message, "promote_f: x and y have different extents");
            for hidden in ["promote_rt_call", "promote_rt_new", "promote_f_meta", "rust_eh_personality"] {
                assert!(library.get::<Wrapper>(hidden.as_bytes()).is_err(), "{hidden}");
            }
        }
    }

    #[test]
    fn names_of_files_are_no_flags_of_the_linker() {
        let directory = tempfile::tempdir().expect("there is a place for files");
        for place in ["a,b", "-Wl,-r", "a b"] {
            let inner = directory.path().join(place);
            std::fs::create_dir(&inner).expect("it can be made");
            let path = inner.join("lib,-r.so");
            shared_library(&kernel_object(), &["promote_f"], &path).expect("it links");
            // SAFETY: the library's initialisers are those of the C start-up files.
            let library = unsafe { libloading::Library::new(&path) }.expect("it loads");
            // SAFETY: the symbol is only looked up.
            assert!(unsafe { library.get::<Wrapper>(b"promote_f") }.is_ok());
        }
    }

    #[test]
    fn a_failed_link_leaves_nothing() {
        let directory = tempfile::tempdir().expect("there is a place for files");
        let path = directory.path().join("lib.so");
        let error = shared_library(b"not an object", &["promote_f"], &path).expect_err("it is no object");
        let text = error.to_string();
        assert!(text.starts_with("the linker failed: ") && text.contains("-shared"), "{text}");
        assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0);
        let nowhere = shared_library(&kernel_object(), &["promote_f"], Path::new("/nowhere/lib.so"));
        assert!(nowhere.expect_err("there is no place").to_string().starts_with("/nowhere: "));
    }

    #[test]
    fn a_c_program_uses_library_and_header() {
        let argument = |name: Option<&str>, shape: &[i64]| Argument {
            name: name.map(str::to_owned),
            dtype: F32,
            shape: shape.to_vec(),
        };
        let signature = Signature {
            title: None,
            symbol: "promote_f".into(),
            shape: "promote_f_shape".into(),
            inputs: vec![argument(Some("x"), &[-1]), argument(None, &[-1]), argument(Some("m"), &[])],
            outputs: vec![argument(None, &[-1])],
        };
        let text = header(&[signature]);
        assert!(
            text.contains(
                "   inputs[0] x: float32[?]\n   inputs[1]: float32[?]\n   inputs[2] m: float32[]\n"
            )
        );
        let directory = tempfile::tempdir().expect("there is a place for files");
        let place = |name: &str| directory.path().join(name);
        std::fs::write(place("f.h"), &text).expect("it can be written");
        std::fs::write(place("main.c"), include_str!("main.c")).expect("it can be written");
        let library =
            shared_library_bytes(&kernel_object(), &["promote_f", "promote_f_shape"]).expect("it links");
        std::fs::write(place("libf.so"), library).expect("it can be written");
        for compiler in ["cc", "c++"] {
            let built = Command::new(compiler)
                .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-o"])
                .args([place("main"), place("main.c"), place("libf.so")])
                .output()
                .expect("there is a compiler");
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            let run = Command::new(place("main"))
                .env("LD_LIBRARY_PATH", directory.path())
                .output()
                .expect("it runs");
            assert_eq!(
                String::from_utf8_lossy(&run.stdout),
                "shape 0 [3] float 32\nstatus 0: 0.5 2 4.5 \nstatus 4: promote_f: input 0 (x) must be float32[?], but has rank 0\n"
            );
        }
    }
}

#[test]
fn timing() {
    let target = Target::host();
    for round in 0..3 {
        with_module(KERNEL, |module| {
            let start = Instant::now();
            // SAFETY: the module is alive and used by this thread only.
            let translated = unsafe { translate(module.to_raw(), &target) }.expect("it translates");
            let translation = start.elapsed();
            let compiled = translated.optimise(OptLevel::Aggressive).expect("it compiles");
            let optimisation = start.elapsed() - translation;
            let object = compiled.object().expect("it compiles");
            let emission = start.elapsed() - translation - optimisation;
            let start = Instant::now();
            let image = Image::load(&object).expect("it loads");
            let loading = start.elapsed();
            drop(image);
            println!(
                "round {round}: translate {translation:?}, optimise {optimisation:?}, emit {emission:?}, load {loading:?}, object {} bytes",
                object.len()
            );
        });
    }
    let object = kernel_object();
    let start = Instant::now();
    shared_library_bytes(&object, &["promote_f"]).expect("it links");
    println!("shared library {:?}", start.elapsed());
}
