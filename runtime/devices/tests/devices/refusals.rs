//! Code and launches that are refused, with nothing harmed.

use promote_devices::{Api, Argument, Code, DeviceError, list, open};

use crate::kernels::{Bench, THREADS, bench, on_each_device};

/// Whether the device still computes.
fn still_computes(bench: &mut Bench) {
    let x = bench.upload(&[5; 10]);
    bench.step(x, 10);
    assert_eq!(bench.download(x, 10), [16; 10]);
    bench.device.free(x);
}

#[test]
fn what_is_no_code_is_refused_with_the_log() {
    on_each_device(|bench| {
        let cut = |words: &[u32]| words[..words.len() - 3].to_vec();
        let errors = match bench.device.description().api {
            Api::Cuda => {
                let text = ".version 7.0\n.target sm_52\n.address_size 64\n.entry f() { nonsense; }";
                let error = bench.device.load(Code::Ptx(text)).unwrap_err();
                assert!(error.to_string().contains("nonsense"), "{error}");
                vec![error, bench.device.load(Code::Ptx("")).unwrap_err()]
            }
            api @ (Api::Vulkan | Api::OpenCl) => {
                let other = if api == Api::Vulkan { Api::OpenCl } else { Api::Vulkan };
                let kernels = crate::kernels::spirv(other);
                let error = bench.device.load(Code::SpirV(&kernels)).unwrap_err();
                assert!(error.to_string().contains("execution model"), "{error}");
                let cut = cut(&crate::kernels::spirv(api));
                let others = [&[][..], &[1, 2, 3, 4, 5, 6], &cut];
                let others = others.map(|words| bench.device.load(Code::SpirV(words)).unwrap_err());
                others.into_iter().chain([error]).collect()
            }
        };
        for error in errors {
            println!("{error}");
            assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
        }
        still_computes(bench);
    });
}

#[test]
fn code_of_the_other_kind_is_not_supported() {
    on_each_device(|bench| {
        let error = match bench.device.description().api {
            Api::Cuda => bench.device.load(Code::SpirV(&[])).unwrap_err(),
            Api::Vulkan | Api::OpenCl => bench.device.load(Code::Ptx("")).unwrap_err(),
        };
        assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
    });
}

#[test]
fn capabilities_that_a_device_lacks_are_named() {
    for (api, extra) in [(Api::Vulkan, "DenormPreserve"), (Api::OpenCl, "Float16")] {
        let Some(mut bench) = bench(api) else { continue };
        let limits = bench.device.description().limits;
        let text = match api {
            Api::Vulkan if !limits.floats[1].denorm_preserve => include_str!("kernels/vulkan.spvasm")
                .replace("OpMemoryModel", "OpCapability DenormPreserve\nOpMemoryModel")
                .replace(
                    "OpDecorate %global B",
                    "OpExecutionMode %add DenormPreserve 32\nOpDecorate %global B",
                ),
            Api::OpenCl if !limits.has_f16 => include_str!("kernels/opencl.spvasm")
                .replace("OpMemoryModel", "OpCapability Float16\nOpMemoryModel"),
            Api::Cuda | Api::Vulkan | Api::OpenCl => continue,
        };
        let words = crate::kernels::assemble(&text, "spv1.5");
        let error = bench.device.load(Code::SpirV(&words)).unwrap_err();
        assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(extra), "{error}");
        still_computes(&mut bench);
    }
}

#[test]
fn more_shared_memory_than_there_is_is_refused() {
    on_each_device(|bench| {
        let api = bench.device.description().api;
        let shared = bench.device.description().limits.shared_bytes;
        let error = match api {
            Api::Cuda => {
                let text = include_str!("kernels/cuda.ptx").replace("tile[256]", "tile[1000000]");
                let error = bench.device.load(Code::Ptx(&text)).unwrap_err();
                assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
                error
            }
            Api::Vulkan | Api::OpenCl => {
                let (text, environment) = match api {
                    Api::Vulkan => (include_str!("kernels/vulkan.spvasm"), "spv1.5"),
                    _ => (include_str!("kernels/opencl.spvasm"), "spv1.0"),
                };
                let text = text.replace("%u32 64\n", &format!("%u32 {}\n", shared / 4 + 1));
                let words = crate::kernels::assemble(&text, environment);
                let error = bench.device.load(Code::SpirV(&words)).unwrap_err();
                assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
                error
            }
        };
        assert!(error.to_string().contains("sum"), "{error}");
        still_computes(bench);
    });
}

#[test]
fn a_missing_entry_is_named() {
    on_each_device(|bench| {
        let error = bench.run("subtract", 1, &[]).unwrap_err();
        let device = bench.device.description().name.clone();
        assert_eq!(error, DeviceError::NoEntry { device, entry: "subtract".to_owned() });
        still_computes(bench);
    });
}

#[test]
fn launches_beyond_the_limits_are_refused() {
    on_each_device(|bench| {
        let limits = bench.device.description().limits;
        let x = bench.upload(&[1]);
        let arguments = [Argument::Memory(x), Argument::Word(1)];
        let mut shapes = vec![([1, 1, 1], 0), ([1, 1, 1], limits.group_threads + 1), ([1, 1, 1], u32::MAX)];
        for axis in 0..3 {
            let mut groups = [1; 3];
            if let Some(beyond) = limits.groups[axis].checked_add(1) {
                groups[axis] = beyond;
                shapes.push((groups, THREADS));
            }
        }
        for (groups, threads) in shapes {
            let error = bench.launch("step", groups, threads, &arguments).unwrap_err();
            assert!(matches!(error, DeviceError::Launch { .. }), "{error}");
        }
        assert_eq!(bench.download(x, 1), [1]);
        still_computes(bench);
    });
}

#[test]
fn launches_that_do_not_fit_the_kernel_are_refused() {
    on_each_device(|bench| {
        let x = bench.upload(&[1]);
        let (memory, word) = (Argument::Memory(x), Argument::Word(1));
        let error = match bench.device.description().api {
            // The size of groups is in the module.
            Api::Vulkan => bench.launch("step", [1, 1, 1], 32, &[memory, word]).unwrap_err(),
            api @ (Api::Cuda | Api::OpenCl) => {
                if api == Api::OpenCl {
                    let error = bench.run("step", 1, &[word, word]).unwrap_err();
                    assert!(error.to_string().contains("argument 0 is memory"), "{error}");
                    let error = bench.run("step", 1, &[memory, memory]).unwrap_err();
                    assert!(error.to_string().contains("argument 1 is a word"), "{error}");
                }
                for arguments in [&[][..], &[memory], &[memory, word, word]] {
                    let error = bench.run("step", 1, arguments).unwrap_err();
                    assert!(error.to_string().contains("2 arguments"), "{error}");
                }
                return;
            }
        };
        assert!(error.to_string().contains("64 × 1 × 1"), "{error}");
        still_computes(bench);
    });
}

#[test]
fn stale_handles_launch_nothing() {
    on_each_device(|bench| {
        let (x, freed) = (bench.upload(&[1]), bench.upload(&[1]));
        bench.device.free(freed);
        let error = bench.run("step", 1, &[Argument::Memory(freed), Argument::Word(1)]).unwrap_err();
        assert_eq!(error, DeviceError::Stale { what: "memory" });
        still_computes(bench);
        bench.device.unload(bench.module);
        bench.device.unload(bench.module);
        let error = bench.run("step", 1, &[Argument::Memory(x), Argument::Word(1)]).unwrap_err();
        assert_eq!(error, DeviceError::Stale { what: "a module" });
        assert_eq!(bench.download(x, 1), [1]);
    });
}

#[test]
fn every_interface_lists_its_devices_or_says_why_not() {
    for api in Api::ALL {
        match (list(api), open(api)) {
            (Ok(devices), Ok(device)) => assert!(devices.contains(device.description()), "{devices:?}"),
            (Ok(devices), Err(error)) => assert!(devices.is_empty(), "{error}"),
            (Err(listed), Err(opened)) => {
                println!("skipped: no device ({listed})");
                assert_eq!(listed, opened);
                assert!(listed.to_string().contains(&api.to_string()), "{listed}");
            }
            (Err(error), Ok(_)) => panic!("{error}"),
        }
    }
}

#[test]
fn interfaces_have_names() {
    for api in Api::ALL {
        assert_eq!(api.name().parse(), Ok(api));
        assert_eq!(api.to_string().parse(), Ok(api));
    }
    let error = "metal".parse::<Api>().unwrap_err().to_string();
    assert!(error.contains("`metal`") && error.contains("vulkan"), "{error}");
}
