//! Code that was emitted, with its sidecar, and is loaded without a compiler.

use promote::device::{
    Code, DeviceCode, DeviceTarget, EmittedError, SharedDevice, SidecarError, compile_for, load_emitted,
};
use promote::{CompileOptions, DType, Executable, Source};
use promote_reference::{Array, Value};

use super::devices::{array, open, targets};
use super::support::{Place, Random, function, known, run, session};

/// Kernels, a product of matrices, a sort, and a loop whose condition is read back.
const PROGRAM: &str = r#"func.func @f(%x: tensor<?x40xi8>, %y: tensor<40x70xi8>) -> (tensor<?x70xi8>, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<?x40xi8>, tensor<40x70xi8>) -> tensor<?x70xi8>
  %1 = "promote.sort"(%0) {axis = array<i64: 1>} : (tensor<?x70xi8>) -> tensor<?x70xi8>
  %2 = scf.while (%a = %1) : (tensor<?x70xi8>) -> tensor<?x70xi8> {
    %least = "promote.min"(%a) : (tensor<?x70xi8>) -> tensor<i8>
    %limit = "promote.constant"() {value = dense<-128> : tensor<i8>} : () -> tensor<i8>
    %more = "promote.greater"(%least, %limit) : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %on = tensor.extract %more[] : tensor<i1>
    scf.condition(%on) %a : tensor<?x70xi8>
  } do {
  ^bb0(%a: tensor<?x70xi8>):
    %one = "promote.constant"() {value = dense<1> : tensor<i8>} : () -> tensor<i8>
    %b = "promote.subtract"(%a, %one) : (tensor<?x70xi8>, tensor<i8>) -> tensor<?x70xi8>
    scf.yield %b : tensor<?x70xi8>
  }
  %3 = "promote.sum"(%0) {axis = array<i64: 0>} : (tensor<?x70xi8>) -> !u
  return %2, %3 : tensor<?x70xi8>, !u
}
"#;

/// The code of a program for a target.
fn code(text: &str, target: DeviceTarget) -> DeviceCode {
    let session = session("jax", true, false);
    let mut module = session.parse(Source::Text(&known(text))).expect("it is read");
    compile_for(&session, &mut module, &CompileOptions::default(), target).expect("it is compiled")
}

fn load(device: &SharedDevice, code: &DeviceCode, sidecar: &str) -> Result<Executable, EmittedError> {
    let (ptx, words) = (code.ptx().expect("it is compiled"), code.spirv().words());
    let emitted = match code.target() {
        DeviceTarget::Cuda(_) => Code::Ptx(&ptx),
        DeviceTarget::Vulkan | DeviceTarget::OpenCl => Code::SpirV(&words),
    };
    // SAFETY: the code is that of the sidecar, and tests change only what is refused.
    unsafe { load_emitted(device, emitted, sidecar) }
}

#[test]
fn what_was_emitted_runs_as_what_was_compiled() {
    for target in targets() {
        let Place::Device(_, device) = open(target) else { unreachable!("it is a device") };
        let code = code(PROGRAM, target);
        let executable =
            load(&device, &code, &code.sidecar()).unwrap_or_else(|error| panic!("{target}: {error}"));
        let mut random = Random::new(7);
        let arguments: Vec<_> = [[66, 40], [40, 70]]
            .iter()
            .map(|shape| Value::Array(array(DType::I8, shape, &mut random)))
            .collect();
        let results = |executable: &Executable| -> Vec<Array> {
            run(&function(executable, "f"), &arguments).expect("it runs")
        };
        let host =
            Place::host().compile(&session("jax", true, false), &known(PROGRAM)).expect("it is compiled");
        assert_eq!(results(&executable), results(&host), "{target}");
    }
}

#[test]
fn sidecars_that_say_of_other_kernels_how_they_are_launched_are_refused() {
    for target in targets() {
        let Place::Device(_, device) = open(target) else { unreachable!("it is a device") };
        let code = code(PROGRAM, target);
        let sidecar = code.sidecar();
        let changed = |from: &str, to: &str| {
            assert!(sidecar.contains(from), "{sidecar}");
            let error = load(&device, &code, &sidecar.replacen(from, to, 1)).err();
            error.unwrap_or_else(|| panic!("{from} may be {to} for {target}"))
        };
        let of_sidecar = |error| match error {
            EmittedError::Sidecar(error) => error,
            other => panic!("{other}"),
        };
        let own = code.target();
        let emitted = if own == DeviceTarget::Cuda(None) { "cuda:sm_80".to_owned() } else { own.to_string() };
        let stated = format!("\"target\": \"{emitted}\"");
        for (from, to) in [("\"threads\": ", "\"threads\": 1"), ("\"name\": \"sort", "\"name\": \"s")] {
            assert!(matches!(of_sidecar(changed(from, to)), SidecarError::Kernels), "{from}");
        }
        assert!(matches!(of_sidecar(changed("func public", "fun public")), SidecarError::Program(_)));
        assert!(matches!(of_sidecar(changed("{", "")), SidecarError::Json(_)));
        assert!(matches!(changed(&stated, "\"target\": \"tpu\""), EmittedError::Target(_)));
        for other in DeviceTarget::ALL.into_iter().filter(|other| *other != target) {
            let error = changed(&stated, &format!("\"target\": \"{other}\"")).to_string();
            assert!(error.contains(&format!("code for {other}")), "{error}");
        }
        if target == DeviceTarget::Cuda(None) {
            let error = changed(&stated, "\"target\": \"cuda:sm_120a\"").to_string();
            assert!(error.contains("code for sm_120a"), "{error}");
            let without = changed("\"tensor_cores\": \"exact\",", "");
            assert!(matches!(of_sidecar(without), SidecarError::Kernels));
        } else {
            assert!(!sidecar.contains("tensor_cores"), "{sidecar}");
        }
        // Of another version, nothing else is asked.
        let newer = load(&device, &code, "{\"version\": 2, \"kernels\": 5}").err().map(of_sidecar);
        assert!(matches!(newer, Some(SidecarError::Version(2))));
    }
}

#[test]
fn a_sidecar_names_tensor_cores_where_a_product_uses_them() {
    let text = |op: &str| {
        let of = "tensor<?x?xi8>";
        format!(
            "func.func @f(%x: {of}, %y: {of}) -> !u {{\n  %r = \"promote.{op}\"(%x, %y) : ({of}, {of}) -> !u\n  return %r : !u\n}}\n"
        )
    };
    for (op, is_named) in [("matmul", true), ("add", false)] {
        let sidecar = code(&text(op), DeviceTarget::Cuda(None)).sidecar();
        assert_eq!(sidecar.contains("\"tensor_cores\": \"exact\""), is_named, "{op}: {sidecar}");
    }
}
