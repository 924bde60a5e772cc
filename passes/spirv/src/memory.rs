//! Loads and stores.

use promote_scalar::{Binary, Emit, Ty};
use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op, StorageClass, Word};

use crate::module::{Emitter, Environment, Value};

/// How elements are accessed together: so many times a type. SPIR-V has vectors of up to four components everywhere; narrower
/// elements come in words.
struct Access {
    /// The type of a component.
    component: Ty,
    components: u32,
    /// How many elements a component has.
    elements: u32,
}

impl Access {
    fn new(ty: Ty, count: usize) -> Self {
        let count = count as u32;
        if count <= 4 {
            return Self { component: ty, components: count, elements: 1 };
        }
        let elements = 32 / ty.bits();
        Self { component: Ty::I32, components: count / elements, elements }
    }
}

impl Emitter {
    const fn class(&self) -> StorageClass {
        match self.environment {
            Environment::Vulkan => StorageClass::PhysicalStorageBuffer,
            Environment::OpenCl => StorageClass::CrossWorkgroup,
        }
    }

    /// A pointer to what is so many elements further on than an address.
    fn pointer_to(&mut self, base: Word, index: Value, ty: Ty, pointee: Word) -> Word {
        let size = self.constant(Ty::I64, u64::from(ty.bits() / 8));
        let ahead = if ty.bits() == 8 { index } else { self.binary(Binary::Mul, index, size) };
        let address = self.binary(Binary::Add, Value { id: base, ty: Ty::I64 }, ahead);
        let pointer = self.pointer(self.class(), pointee);
        self.op(Op::ConvertUToPtr, pointer, vec![Operand::IdRef(address.id)])
    }

    fn vector(&mut self, ty: Ty, count: u32) -> Word {
        let component = self.ty(ty);
        if count == 1 { component } else { self.builder.type_vector(component, count) }
    }

    /// The operands of an access that say how it is aligned.
    fn aligned(ty: Ty, count: usize) -> [Operand; 2] {
        [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(ty.bits() / 8 * count as u32)]
    }

    pub(crate) fn load_elements(&mut self, base: Word, index: Value, ty: Ty, count: usize) -> Vec<Value> {
        let Access { component, components, elements } = Access::new(ty, count);
        let r#type = self.vector(component, components);
        let pointer = self.pointer_to(base, index, ty, r#type);
        let mut operands = vec![Operand::IdRef(pointer)];
        operands.extend(Self::aligned(ty, count));
        let loaded = self.op(Op::Load, r#type, operands);
        let words = self.components(loaded, component, components);
        if elements == 1 {
            return words;
        }
        let narrow = self.vector(ty, elements);
        let mut all = Vec::with_capacity(count);
        for word in words {
            let parts = self.op(Op::Bitcast, narrow, vec![Operand::IdRef(word.id)]);
            all.extend(self.components(parts, ty, elements));
        }
        all
    }

    pub(crate) fn store_elements(&mut self, base: Word, index: Value, values: &[Value]) {
        let ty = values[0].ty;
        let Access { component, components, elements } = Access::new(ty, values.len());
        let words: Vec<Value> = if elements == 1 {
            values.to_vec()
        } else {
            let word = self.ty(component);
            let joined = |emitter: &mut Self, parts: &[Value]| {
                let vector = emitter.composite(parts);
                let id = emitter.op(Op::Bitcast, word, vec![Operand::IdRef(vector)]);
                Value { id, ty: component }
            };
            values.chunks(elements as usize).map(|parts| joined(self, parts)).collect()
        };
        let value = if components == 1 { words[0].id } else { self.composite(&words) };
        let r#type = self.vector(component, components);
        let pointer = self.pointer_to(base, index, ty, r#type);
        let mut operands = vec![Operand::IdRef(pointer), Operand::IdRef(value)];
        operands.extend(Self::aligned(ty, values.len()));
        self.act(Op::Store, operands);
    }

    fn components(&mut self, vector: Word, ty: Ty, count: u32) -> Vec<Value> {
        if count == 1 {
            return vec![Value { id: vector, ty }];
        }
        let component = self.ty(ty);
        let one = |emitter: &mut Self, number: u32| {
            let operands = vec![Operand::IdRef(vector), Operand::LiteralBit32(number)];
            Value { id: emitter.op(Op::CompositeExtract, component, operands), ty }
        };
        (0..count).map(|number| one(self, number)).collect()
    }

    /// Elements as a vector. They are put in one by one: a converter to LLVM's IR does not take all vectors that are made at once.
    fn composite(&mut self, parts: &[Value]) -> Word {
        let r#type = self.vector(parts[0].ty, parts.len() as u32);
        let empty = self.op(Op::Undef, r#type, Vec::new());
        (0..).zip(parts).fold(empty, |all, (place, part)| {
            let operands = vec![Operand::IdRef(part.id), Operand::IdRef(all), Operand::LiteralBit32(place)];
            self.op(Op::CompositeInsert, r#type, operands)
        })
    }

    /// A pointer to 32 bits at an address.
    pub(crate) fn word_at(&mut self, base: Word) -> Word {
        let zero = self.int(Ty::I64, 0);
        let word = self.ty(Ty::I32);
        self.pointer_to(base, zero, Ty::I32, word)
    }
}
