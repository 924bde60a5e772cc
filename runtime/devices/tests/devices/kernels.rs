//! The devices of this machine, and the kernels that tests run on them.

use std::io::Write;
use std::process::{Command, Stdio};

use promote_devices::{Api, Argument, Code, Device, DeviceError, Launch, Memory, ModuleId, open};

/// How many invocations the groups of all kernels have.
pub const THREADS: u32 = 64;

/// An open device with the kernels loaded.
pub struct Bench {
    pub device: Box<dyn Device>,
    pub module: ModuleId,
}

/// Runs a test on each interface that has a device.
pub fn on_each_device(test: impl Fn(&mut Bench)) {
    for api in Api::ALL {
        if let Some(mut bench) = bench(api) {
            println!("{api}: {}", bench.device.description().name);
            test(&mut bench);
        }
    }
}

/// The device of an interface with the kernels loaded, if there is one.
pub fn bench(api: Api) -> Option<Bench> {
    match open(api) {
        Ok(mut device) => {
            let module = load(&mut *device).unwrap();
            Some(Bench { device, module })
        }
        Err(error @ (DeviceError::NoDriver { .. } | DeviceError::NoDevice { .. })) => {
            assert!(!is_required(api), "{api} is in PROMOTE_REQUIRE_DEVICES: {error}");
            println!("skipped: no device ({error})");
            None
        }
        Err(error) => panic!("{api}: {error}"),
    }
}

fn is_required(api: Api) -> bool {
    let required = std::env::var("PROMOTE_REQUIRE_DEVICES").unwrap_or_default();
    required.split(',').any(|name| name.trim().parse() == Ok(api))
}

/// Loads the kernels.
pub fn load(device: &mut dyn Device) -> Result<ModuleId, DeviceError> {
    let api = device.description().api;
    match api {
        Api::Cuda => device.load(Code::Ptx(include_str!("kernels/cuda.ptx"))),
        Api::Vulkan | Api::OpenCl => device.load(Code::SpirV(&spirv(api))),
    }
}

/// The kernels as SPIR-V.
pub fn spirv(api: Api) -> Vec<u32> {
    match api {
        Api::Cuda => panic!("CUDA takes no SPIR-V"),
        Api::Vulkan => assemble(include_str!("kernels/vulkan.spvasm"), "spv1.5"),
        Api::OpenCl => assemble(include_str!("kernels/opencl.spvasm"), "spv1.0"),
    }
}

/// Assembles SPIR-V for an environment of `spirv-as`.
pub fn assemble(text: &str, environment: &str) -> Vec<u32> {
    let mut assembler = Command::new("spirv-as")
        .args(["--target-env", environment, "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("spirv-as is there (Debian: apt install spirv-tools)");
    let mut input = assembler.stdin.take().expect("the input is piped");
    input.write_all(text.as_bytes()).expect("spirv-as reads its input");
    drop(input);
    let output = assembler.wait_with_output().expect("spirv-as was started");
    assert!(output.status.success(), "spirv-as refuses the text");
    output.stdout.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

impl Bench {
    pub fn allocate(&mut self, bytes: usize) -> Memory {
        self.device.allocate(bytes as u64).unwrap()
    }

    /// Memory with these words.
    pub fn upload(&mut self, words: &[u32]) -> Memory {
        let memory = self.allocate(words.len() * 4);
        self.device.write(memory, 0, &bytes(words)).unwrap();
        memory
    }

    /// The first words of memory.
    pub fn download(&mut self, memory: Memory, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.device.read(memory, 0, &mut bytes).unwrap();
        words(&bytes)
    }

    /// Runs a kernel over so many elements.
    pub fn run(&mut self, entry: &str, elements: usize, arguments: &[Argument]) -> Result<(), DeviceError> {
        let groups = u32::try_from(elements).unwrap().div_ceil(THREADS);
        self.launch(entry, [groups, 1, 1], THREADS, arguments)
    }

    pub fn launch(
        &mut self,
        entry: &str,
        groups: [u32; 3],
        threads: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let module = self.module;
        self.device.launch(&Launch { module, entry, groups, threads, arguments })
    }

    /// `x[i] = value` for the first elements.
    pub fn fill(&mut self, x: Memory, elements: usize, value: u32) {
        let arguments =
            [Argument::Memory(x), Argument::Word(elements as u64), Argument::Word(u64::from(value))];
        self.run("fill", elements, &arguments).unwrap();
    }

    /// `x[i] = 3 x[i] + 1` for the first elements.
    pub fn step(&mut self, x: Memory, elements: usize) {
        let arguments = [Argument::Memory(x), Argument::Word(elements as u64)];
        self.run("step", elements, &arguments).unwrap();
    }
}

pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Numbers that differ.
pub fn pattern(count: usize, seed: u32) -> Vec<u32> {
    (0..count as u32).map(|at| (at ^ seed).wrapping_mul(0x9E37_79B9)).collect()
}
