//! Processors by name and by triple.

use super::*;

fn refusal(triple: &str, cpu: Option<&str>, features: &str) -> String {
    Target::new(Some(triple), cpu, features).expect_err("it is no target").to_string()
}

#[test]
fn unknown_names_are_refused_with_those_like_them() {
    let error = Target::named("x86-64-v5").expect_err("there is no such CPU");
    let text = error.to_string();
    assert!(text.starts_with("unknown CPU 'x86-64-v5' for "), "{text}");
    if cfg!(target_arch = "x86_64") {
        assert!(text.contains("; did you mean 'x86-64-v2' or 'x86-64-v3' or 'x86-64-v4'?"), "{text}");
    }
    let nothing = Target::named("§").expect_err("nothing is like it").to_string();
    assert!(!nothing.contains("did you mean"), "{nothing}");
    assert_eq!(
        refusal("aarch64-linux-gnu", Some("cortex-a5x"), ""),
        "unknown CPU 'cortex-a5x' for aarch64-unknown-linux-gnu; did you mean 'cortex-a35' or 'cortex-a53' or 'cortex-a55'?"
    );
    let feature = refusal("x86_64-linux-gnu", None, "+avx512ff");
    assert!(
        feature.starts_with("unknown feature '+avx512ff' of x86_64-unknown-linux-gnu; did you mean "),
        "{feature}"
    );
    assert!(refusal("x86_64-linux-gnu", None, "fma").starts_with("the feature 'fma' needs a sign: '+fma' "));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn features_follow_from_names() {
    let known = |name| Target::named(name).expect("the CPU is known");
    let of = |target: &Target| (target.has_f16c(), target.has_fma(), target.vector_bytes());
    assert_eq!(of(&known("x86-64")), (false, false, 16));
    assert_eq!(of(&known("generic")), (false, false, 16));
    assert_eq!(of(&known("sandybridge")), (false, false, 32));
    assert_eq!(of(&known("x86-64-v3")), (true, true, 32));
    assert_eq!(of(&known("x86-64-v4")), (true, true, 64));
    let vnni = ["x86-64-v4", "skylake-avx512", "cascadelake", "znver4", "alderlake"];
    assert_eq!(vnni.map(|name| known(name).has_vnni()), [false, false, true, true, false]);
    let words = ["x86-64", "sandybridge", "x86-64-v3", "knl", "x86-64-v4"];
    assert_eq!(words.map(|name| known(name).has_products_of_words()), [true, false, true, false, true]);
    let choosing = ["x86-64-v3", "x86-64-v4", "skylake-avx512", "icelake-server", "znver4"];
    let chosen = choosing.map(|name| known(name).narrowest_chosen());
    assert_eq!(chosen, [None, Some(16), Some(16), Some(8), Some(8)]);
    let bytes = ["x86-64", "x86-64-v2", "x86-64-v3"].map(|name| known(name).chooses_bytes());
    assert_eq!(bytes, [false, true, true]);
    assert_eq!(
        ["x86-64-v4", "znver4", "znver5"].map(|name| known(name).has_many_misses()),
        [false, false, true]
    );
    assert_eq!(Target::named("native").expect("it is always known"), Target::host());
    assert_eq!(of(&Target::host()).2 >= 32, std::arch::is_x86_feature_detected!("avx"));
    assert_eq!(of(&Target::host()).1, std::arch::is_x86_feature_detected!("fma"));
}

#[test]
fn features_follow_from_triples() {
    let known = |triple, features| Target::new(Some(triple), None, features).expect("the triple is known");
    let of = |target: &Target| {
        (target.has_f16c(), target.has_fma(), target.vector_bytes(), target.vector_registers())
    };
    assert_eq!(of(&known("x86_64-linux-gnu", "")), (false, false, 16, 16));
    assert_eq!(of(&known("x86_64-linux-gnu", "+avx2,+fma")), (false, true, 32, 16));
    assert_eq!(of(&known("aarch64-linux-gnu", "")), (true, true, 16, 32));
    assert_eq!(of(&known("arm64-apple-macosx", "")), (true, true, 16, 32));
    assert_eq!(of(&known("riscv64-linux-gnu", "")), (false, true, 16, 32));
    assert_eq!(of(&known("riscv64-linux-gnu", "-d")), (false, false, 16, 32));
    assert_eq!(of(&known("powerpc64le-linux-gnu", "")), (false, true, 16, 32));
    assert_eq!(of(&known("loongarch64-linux-gnu", "")), (false, true, 16, 32));
}

#[test]
fn processors_without_what_their_family_has_are_refused() {
    for cpu in ["i386", "i486", "pentium4"] {
        assert!(refusal("x86_64-linux-gnu", Some(cpu), "").contains(" lacks the feature "), "{cpu}");
    }
    for features in ["-64bit", "-sse2", "+soft-float", "+64bit,-64bit-mode", "+32bit-mode"] {
        assert!(refusal("x86_64-linux-gnu", None, features).contains("which is not supported"), "{features}");
    }
    assert!(refusal("aarch64-linux-gnu", None, "-neon").contains("lacks the feature neon"));
    assert!(refusal("riscv64-linux-gnu", None, "-64bit").contains("lacks the feature 64bit"));
    let commas = Target::new(Some("x86_64-linux-gnu"), None, ",+fma,,").expect("empty names are none");
    assert_eq!(commas.features(), "+fma");
}

#[test]
fn every_processor_of_this_machine_s_family_compiles_or_is_refused() {
    for cpu in Target::names() {
        if let Ok(target) = Target::named(&cpu) {
            assert!(compiled(KERNEL, &target).is_ok_and(|code| code.object().is_ok()), "{cpu}");
        }
    }
}

#[test]
fn what_compiled_code_takes_for_granted_of_memory_is_asked_of_the_triple() {
    let because = |triple| refusal(triple, None, "");
    assert_eq!(
        because("i686-linux-gnu"),
        "i686-unknown-linux-gnu is not a supported target: its pointers have 32 bits, and 64 are needed"
    );
    assert!(because("x86_64-linux-gnux32").contains("32 bits"));
    assert!(because("wasm32").contains("32 bits"));
    assert!(because("s390x-linux-gnu").ends_with("it stores the most significant byte first"));
    assert!(because("powerpc64-linux-gnu").ends_with("it stores the most significant byte first"));
    for triple in ["nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa", "spirv64", "bpfel"] {
        assert!(because(triple).contains("is not a processor that runs programs"), "{triple}");
    }
    assert!(because("none-such").starts_with("no code generator for none-such: "));
    assert!(because("").starts_with("no code generator for "));
}

#[test]
fn a_triple_of_this_machine_is_native_whoever_made_it() {
    let host = Target::host();
    let parts: Vec<&str> = host.triple().split('-').collect();
    let other = [&[parts[0], "unknown"], &parts[2..]].concat().join("-");
    let same = Target::new(Some(&other), Some("native"), "").expect("it is this machine");
    assert!(same.is_native() && same.cpu() == host.cpu());
    assert_ne!(Target::new(Some(&other), None, "").expect("it is known"), host);
    let elsewhere = if cfg!(target_arch = "aarch64") { "x86_64-linux-gnu" } else { "aarch64-linux-gnu" };
    assert!(refusal(elsewhere, Some("native"), "").starts_with("the CPU 'native' is this machine's ("));
}

#[test]
fn code_for_another_machine_is_neither_loaded_nor_linked_here() {
    let elsewhere = if cfg!(target_arch = "aarch64") { "x86_64-linux-gnu" } else { "aarch64-linux-gnu" };
    let target = Target::new(Some(elsewhere), None, "").expect("LLVM has both");
    let compiled = compiled(KERNEL, &target).expect("the kernel compiles");
    assert!(compiled.object().expect("it is written").starts_with(b"\x7fELF"));
    let refused = compiled.native_object().expect_err("it is for another machine").to_string();
    assert!(refused.ends_with("cannot be linked or loaded on this machine"), "{refused}");
}

#[test]
fn integers_of_the_interface_are_extended_where_the_calling_convention_says_so() {
    let ir = |triple| {
        let target = Target::new(Some(triple), None, "").expect("it is known");
        compiled(KERNEL, &target).expect("the kernel compiles").ir_text()
    };
    for triple in
        ["riscv64-linux-gnu", "powerpc64le-linux-gnu", "loongarch64-linux-gnu", "mips64el-linux-gnuabi64"]
    {
        assert!(ir(triple).contains("signext i32 @promote_"), "{triple}");
    }
    for triple in ["x86_64-linux-gnu", "aarch64-linux-gnu"] {
        assert!(!ir(triple).contains("signext"), "{triple}");
    }
}
