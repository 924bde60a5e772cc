//! Modules: types, constants, what the environment provides, and kernels.

use promote_device::Parameter;
use promote_scalar::{Binary, Emit, Ty};
use rspirv::binary::{Assemble, Disassemble};
use rspirv::dr::{Builder, Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
    MemoryModel, Op, StorageClass, Word,
};
use rustc_hash::FxHashMap;

/// Who runs a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Environment {
    /// Vulkan 1.2: compute shaders. What a kernel takes is a block of words, whose address is its push constant.
    Vulkan,
    /// OpenCL 2.0 or newer: kernels with parameters.
    OpenCl,
}

/// What the instructions of an environment's devices are known to do, beyond what all of them promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Whether Vulkan may be asked to keep subnormal numbers of single precision.
    pub keeps_subnormals_32: bool,
    /// Whether it may be asked to keep those of double precision.
    pub keeps_subnormals_64: bool,
    /// Whether it may be asked to round to nearest even, and to keep signed zeros, infinities and NaNs.
    pub has_float_controls: bool,
}

/// What a device must have to run a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Arithmetic in double precision.
    pub f64: bool,
    /// Integers of 8 bits, in memory too.
    pub i8: bool,
    /// Integers of 16 bits, in memory too.
    pub i16: bool,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    module: rspirv::dr::Module,
    /// What it needs.
    pub needs: Needs,
}

impl Module {
    /// Its words.
    pub fn words(&self) -> Vec<u32> {
        self.module.assemble()
    }

    /// Its bytes, as files have them: little-endian words.
    pub fn bytes(&self) -> Vec<u8> {
        self.words().into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// As text.
    pub fn text(&self) -> String {
        self.module.disassemble()
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub id: Word,
    pub ty: Ty,
}

/// Emits a module.
pub struct Emitter {
    pub(crate) builder: Builder,
    pub(crate) environment: Environment,
    features: Features,
    needs: Needs,
    /// The extended instructions.
    pub(crate) library: Word,
    constants: FxHashMap<(Ty, u64), Word>,
    /// The bits of constants.
    literals: FxHashMap<Word, u64>,
    types: FxHashMap<Ty, Word>,
    pointers: FxHashMap<(StorageClass, Word), Word>,
    /// The built-in variables: of the group, how many groups there are, and of the thread.
    built_in: [Word; 3],
    /// The push constant of Vulkan's kernels.
    push_constant: Option<Word>,
    /// Of the kernel at hand.
    pub(crate) kernel: Kernel,
}

/// A kernel in the making.
#[derive(Default)]
pub struct Kernel {
    function: Word,
    name: String,
    threads: u32,
    /// Variables of the function, which its first block begins with.
    variables: Vec<Instruction>,
    /// The words that it takes: addresses and numbers.
    pub parameters: Vec<Word>,
    /// Its thread, group, and how many groups there are.
    pub place: [Word; 3],
    /// Shared memory.
    shared: Vec<Word>,
    /// 64 bits that are zero, which nobody but the run time knows.
    pub nothing: Word,
    /// Numbers that [compilers cannot see](Emitter::unseen), by their type and bits.
    pub(crate) unseen: FxHashMap<(Ty, u64), Word>,
    /// What computes them, after [`nothing`](Self::nothing).
    pub(crate) first_instructions: Vec<Instruction>,
    /// What exceptions are noted as: where, what is added, and the number of the node.
    pub note: Option<(usize, usize, u32)>,
}

impl Emitter {
    /// An empty module.
    pub fn new(environment: Environment, features: Features) -> Self {
        let mut builder = Builder::new();
        let (library, capabilities): (_, &[Capability]) = match environment {
            Environment::Vulkan => {
                builder.set_version(1, 5);
                builder.memory_model(AddressingModel::PhysicalStorageBuffer64, MemoryModel::GLSL450);
                let needed: &[Capability] =
                    &[Capability::Shader, Capability::Int64, Capability::PhysicalStorageBufferAddresses];
                ("GLSL.std.450", needed)
            }
            Environment::OpenCl => {
                builder.set_version(1, 0);
                builder.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
                let needed: &[Capability] = &[
                    Capability::Kernel,
                    Capability::Addresses,
                    Capability::Linkage,
                    Capability::Int64,
                    Capability::Int16,
                    Capability::Int8,
                ];
                ("OpenCL.std", needed)
            }
        };
        capabilities.iter().for_each(|capability| builder.capability(*capability));
        let library = builder.ext_inst_import(library);
        let mut emitter = Self {
            builder,
            environment,
            features,
            needs: Needs::default(),
            library,
            constants: FxHashMap::default(),
            literals: FxHashMap::default(),
            types: FxHashMap::default(),
            pointers: FxHashMap::default(),
            built_in: [0; 3],
            push_constant: None,
            kernel: Kernel::default(),
        };
        emitter.declare_built_in();
        if environment == Environment::Vulkan {
            emitter.declare_push_constant();
        }
        emitter
    }

    /// The module.
    pub fn finish(mut self) -> Module {
        self.declare_capabilities();
        Module { module: self.builder.module(), needs: self.needs }
    }

    fn declare_capabilities(&mut self) {
        let Needs { f64, i8, i16 } = self.needs;
        let mut add = |condition: bool, capability| {
            if condition {
                self.builder.capability(capability);
            }
        };
        add(f64, Capability::Float64);
        if self.environment == Environment::OpenCl {
            return;
        }
        add(i8, Capability::Int8);
        add(i8, Capability::StorageBuffer8BitAccess);
        add(i16, Capability::Int16);
        add(i16, Capability::StorageBuffer16BitAccess);
        let Features { keeps_subnormals_32, keeps_subnormals_64, has_float_controls } = self.features;
        add(keeps_subnormals_32 || keeps_subnormals_64, Capability::DenormPreserve);
        add(has_float_controls, Capability::SignedZeroInfNanPreserve);
        add(has_float_controls, Capability::RoundingModeRTE);
    }

    /// The type of what a dispatch counts.
    const fn count_type(&self) -> Ty {
        match self.environment {
            Environment::Vulkan => Ty::I32,
            Environment::OpenCl => Ty::I64,
        }
    }

    fn declare_built_in(&mut self) {
        let number = self.ty(self.count_type());
        let triple = self.builder.type_vector(number, 3);
        let pointer = self.pointer(StorageClass::Input, triple);
        let built_in = [BuiltIn::LocalInvocationId, BuiltIn::WorkgroupId, BuiltIn::NumWorkgroups];
        self.built_in = built_in.map(|which| {
            let variable = self.builder.variable(pointer, None, StorageClass::Input, None);
            self.builder.decorate(variable, Decoration::BuiltIn, [Operand::BuiltIn(which)]);
            variable
        });
    }

    fn declare_push_constant(&mut self) {
        let word = self.ty(Ty::I64);
        let block = self.builder.type_struct([word]);
        self.builder.decorate(block, Decoration::Block, []);
        self.builder.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        let pointer = self.pointer(StorageClass::PushConstant, block);
        self.push_constant = Some(self.builder.variable(pointer, None, StorageClass::PushConstant, None));
    }

    // Types and constants.

    pub(crate) fn ty(&mut self, ty: Ty) -> Word {
        if let Some(known) = self.types.get(&ty) {
            return *known;
        }
        let made = match ty {
            Ty::I1 => self.builder.type_bool(),
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => self.builder.type_int(ty.bits(), 0),
            Ty::F16 | Ty::F32 | Ty::F64 => self.builder.type_float(ty.bits(), None),
        };
        self.needs.f64 |= ty == Ty::F64;
        self.needs.i8 |= ty == Ty::I8;
        self.needs.i16 |= ty == Ty::I16;
        self.types.insert(ty, made);
        made
    }

    pub(crate) fn pointer(&mut self, class: StorageClass, pointee: Word) -> Word {
        if let Some(known) = self.pointers.get(&(class, pointee)) {
            return *known;
        }
        let made = self.builder.type_pointer(None, class, pointee);
        self.pointers.insert((class, pointee), made);
        made
    }

    /// The low bits, in a constant.
    pub(crate) fn constant(&mut self, ty: Ty, bits: u64) -> Value {
        let bits = bits & (u64::MAX >> (64 - ty.bits()));
        if let Some(known) = self.constants.get(&(ty, bits)) {
            return Value { id: *known, ty };
        }
        let r#type = self.ty(ty);
        let id = match ty {
            Ty::I1 if bits == 1 => self.builder.constant_true(r#type),
            Ty::I1 => self.builder.constant_false(r#type),
            Ty::I64 | Ty::F64 => self.builder.constant_bit64(r#type, bits),
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::F16 | Ty::F32 => {
                self.builder.constant_bit32(r#type, bits as u32)
            }
        };
        self.constants.insert((ty, bits), id);
        self.literals.insert(id, bits);
        Value { id, ty }
    }

    /// The bits of a constant.
    pub(crate) fn literal(&self, value: Value) -> Option<u64> {
        self.literals.get(&value.id).copied()
    }

    // Instructions.

    /// An instruction with a result.
    pub(crate) fn op(&mut self, op: Op, r#type: Word, operands: Vec<Operand>) -> Word {
        let id = self.builder.id();
        let instruction = Instruction::new(op, Some(r#type), Some(id), operands);
        self.insert(instruction);
        id
    }

    /// An instruction without one.
    pub(crate) fn act(&mut self, op: Op, operands: Vec<Operand>) {
        self.insert(Instruction::new(op, None, None, operands));
    }

    fn insert(&mut self, instruction: Instruction) {
        let inserted = self.builder.insert_into_block(rspirv::dr::InsertPoint::End, instruction);
        inserted.unwrap_or_else(|error| unreachable!("instructions stand in blocks: {error}"));
    }

    pub(crate) fn decorate(&mut self, id: Word, decoration: Decoration) {
        self.builder.decorate(id, decoration, []);
    }

    /// A new variable of the function.
    pub(crate) fn variable(&mut self, ty: Ty) -> Word {
        let pointee = self.ty(ty);
        let pointer = self.pointer(StorageClass::Function, pointee);
        let id = self.builder.id();
        let class = Operand::StorageClass(StorageClass::Function);
        self.kernel.variables.push(Instruction::new(Op::Variable, Some(pointer), Some(id), vec![class]));
        id
    }

    /// New memory of a group, of so many elements: a pointer to an array.
    pub(crate) fn shared_array(&mut self, ty: Ty, count: u32) -> Word {
        let (element, count) = (self.ty(ty), self.constant(Ty::I32, count.into()).id);
        let array = self.builder.type_array(element, count);
        let pointer = self.pointer(StorageClass::Workgroup, array);
        // Outside of the function at hand.
        let id = self.builder.id();
        let class = Operand::StorageClass(StorageClass::Workgroup);
        let variable = Instruction::new(Op::Variable, Some(pointer), Some(id), vec![class]);
        self.builder.module_mut().types_global_values.push(variable);
        self.kernel.shared.push(id);
        id
    }

    // Kernels.

    pub(crate) fn begin_kernel(&mut self, name: &str, parameters: &[Parameter], threads: u32) {
        self.kernel = Kernel { name: name.to_owned(), threads, ..Kernel::default() };
        let nothing = self.builder.type_void();
        let word = self.ty(Ty::I64);
        let types: Vec<Word> = match self.environment {
            Environment::Vulkan => Vec::new(),
            Environment::OpenCl => {
                let byte = self.ty(Ty::I8);
                let memory = self.pointer(StorageClass::CrossWorkgroup, byte);
                let r#type = |parameter: &Parameter| match parameter {
                    Parameter::Memory => memory,
                    Parameter::Word => word,
                };
                parameters.iter().map(r#type).collect()
            }
        };
        let signature = self.builder.type_function(nothing, types.iter().copied());
        let function = self.builder.begin_function(nothing, None, FunctionControl::NONE, signature);
        self.kernel.function =
            function.unwrap_or_else(|error| unreachable!("the kernel before was ended: {error}"));
        let taken: Vec<Word> = types
            .iter()
            .map(|r#type| {
                let parameter = self.builder.function_parameter(*r#type);
                parameter.unwrap_or_else(|error| unreachable!("a function was begun: {error}"))
            })
            .collect();
        let block = self.builder.begin_block(None);
        block.unwrap_or_else(|error| unreachable!("a function was begun: {error}"));
        self.kernel.parameters = match self.environment {
            Environment::Vulkan => self.argument_block(parameters.len()),
            Environment::OpenCl => taken
                .into_iter()
                .zip(parameters)
                .map(|(taken, parameter)| match parameter {
                    Parameter::Memory => self.op(Op::ConvertPtrToU, word, vec![Operand::IdRef(taken)]),
                    Parameter::Word => taken,
                })
                .collect(),
        };
        self.kernel.place = self.built_in.map(|variable| self.first_of(variable));
    }

    /// The first number of a built-in variable, as an index.
    fn first_of(&mut self, variable: Word) -> Word {
        let ty = self.count_type();
        let number = self.ty(ty);
        let triple = self.builder.type_vector(number, 3);
        let all = self.op(Op::Load, triple, vec![Operand::IdRef(variable)]);
        let first =
            self.op(Op::CompositeExtract, number, vec![Operand::IdRef(all), Operand::LiteralBit32(0)]);
        if ty == Ty::I64 {
            return first;
        }
        let wide = self.ty(Ty::I64);
        self.op(Op::UConvert, wide, vec![Operand::IdRef(first)])
    }

    /// The words of a Vulkan kernel.
    fn argument_block(&mut self, count: usize) -> Vec<Word> {
        let Some(block) = self.push_constant else { unreachable!("Vulkan's kernels have a push constant") };
        let word = self.ty(Ty::I64);
        let pointer = self.pointer(StorageClass::PushConstant, word);
        let zero = self.constant(Ty::I32, 0).id;
        let member = self.op(Op::AccessChain, pointer, vec![Operand::IdRef(block), Operand::IdRef(zero)]);
        let address = self.op(Op::Load, word, vec![Operand::IdRef(member)]);
        let address = Value { id: address, ty: Ty::I64 };
        // No address has the highest bit.
        let last = self.constant(Ty::I64, 63);
        self.kernel.nothing = self.binary(Binary::ShrU, address, last).id;
        (0..count)
            .map(|number| {
                let index = self.constant(Ty::I64, number as u64);
                self.load_elements(address.id, index, Ty::I64, 1)[0].id
            })
            .collect()
    }

    pub(crate) fn end_kernel(&mut self) {
        self.act(Op::Return, Vec::new());
        // The builder takes note of terminators of its own only.
        self.builder.select_block(None).unwrap_or_else(|error| unreachable!("{error}"));
        let ended = self.builder.end_function();
        ended.unwrap_or_else(|error| unreachable!("a function was begun: {error}"));
        let kernel = std::mem::take(&mut self.kernel);
        let functions = &mut self.builder.module_mut().functions;
        if let Some(entry) = functions.last_mut().and_then(|function| function.blocks.first_mut()) {
            let is_nothing = |instruction: &Instruction| instruction.result_id == Some(kernel.nothing);
            let after = entry.instructions.iter().position(is_nothing).map_or(0, |place| place + 1);
            entry.instructions.splice(after..after, kernel.first_instructions);
            entry.instructions.splice(0..0, kernel.variables);
        }
        let mut interface = self.built_in.to_vec();
        if self.environment == Environment::Vulkan {
            interface.extend(self.push_constant);
            interface.extend(&kernel.shared);
        }
        let model = match self.environment {
            Environment::Vulkan => ExecutionModel::GLCompute,
            Environment::OpenCl => ExecutionModel::Kernel,
        };
        self.builder.entry_point(model, kernel.function, kernel.name, interface);
        let mode = |emitter: &mut Self, mode, operands: &[u32]| {
            emitter.builder.execution_mode(kernel.function, mode, operands);
        };
        mode(self, ExecutionMode::LocalSize, &[kernel.threads, 1, 1]);
        if self.environment == Environment::OpenCl {
            return mode(self, ExecutionMode::ContractionOff, &[]);
        }
        let single = (32, self.features.keeps_subnormals_32);
        let double = self.needs.f64.then_some((64, self.features.keeps_subnormals_64));
        for (width, keeps) in std::iter::once(single).chain(double) {
            if keeps {
                mode(self, ExecutionMode::DenormPreserve, &[width]);
            }
            if self.features.has_float_controls {
                mode(self, ExecutionMode::SignedZeroInfNanPreserve, &[width]);
                mode(self, ExecutionMode::RoundingModeRTE, &[width]);
            }
        }
    }
}
