//! Kernels in short.

use std::sync::Mutex;

use promote_ptx_machine::{Allocations, Launch, LaunchError, Limits, Module};

/// A kernel of so many blocks and threads. It has the address of `input` in `%rd0`, that of the results in `%rd1`, the index of the
/// thread in `%r0`, and four times that, as an address, in `%rd2`.
pub struct Kernel<'k> {
    pub declared: &'k str,
    pub body: &'k str,
    pub blocks: u32,
    pub threads: u32,
}

/// Some words, which a kernel that is not told otherwise reads.
pub const INPUT: [u32; 32] = {
    let mut words = [0; 32];
    let mut index = 0;
    while index < 32 {
        words[index] = 100 + index as u32;
        index += 1;
    }
    words
};

/// A warp that does what is said.
pub fn warp(body: &str) -> Kernel<'_> {
    Kernel { declared: "", body, blocks: 1, threads: 32 }
}

impl Kernel<'_> {
    fn text(&self) -> String {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry k(\n.param .u64 .ptr .global .align 1 k_param_0,\n\
             .param .u64 .ptr .global .align 1 k_param_1\n)\n.maxntid 256, 1, 1\n{{\n\
             .reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<9>;\n{}\n\
             ld.param.b64 %rd0, [k_param_0];\nld.param.b64 %rd1, [k_param_1];\n\
             mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd3, %rd0, %rd2;\nadd.s64 %rd4, %rd1, %rd2;\n\
             {}\nret;\n}}\n",
            self.declared, self.body
        )
    }

    /// As many words as the machine writes.
    pub fn run(&self, input: &[u32], words: usize) -> Result<Vec<u32>, String> {
        let module = Module::new(&self.text()).map_err(|error| error.to_string())?;
        let mut memory = Allocations::new(Limits { bytes: 1 << 20 });
        let [from, to] =
            [input.len(), words].map(|words| memory.allocate(4 * words as u64).expect("there is room"));
        let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(memory.write(from, &bytes));
        assert!(memory.write(to, &vec![0; 4 * words]));
        let parameters: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
        let launch = Launch {
            entry: "k",
            blocks: [self.blocks, 1, 1],
            threads: [self.threads, 1, 1],
            parameters: &parameters,
        };
        let memory = Mutex::new(memory);
        module.launch(&launch, &memory).map_err(|error| match error {
            LaunchError::Refused { why, .. } => why,
            LaunchError::Fault { thread, what, .. } => format!("thread {thread}: {what}"),
        })?;
        let mut bytes = vec![0; 4 * words];
        assert!(memory.into_inner().expect("no thread panicked").read(to, &mut bytes));
        Ok(bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("there are four")))
            .collect())
    }

    /// What it says of what is wrong.
    pub fn fault(&self) -> String {
        self.run(&INPUT, 32).expect_err("something is wrong")
    }
}

/// What a warp computes of each word of the input: it is in `%r1`, and the result in `%r2`.
pub fn of_each(body: &str, input: &[u32; 32]) -> Vec<u32> {
    let body = format!("ld.global.b32 %r1, [%rd3];\n{body}\nst.global.b32 [%rd4], %r2;");
    warp(&body).run(input, 32).unwrap_or_else(|error| panic!("{error}"))
}
