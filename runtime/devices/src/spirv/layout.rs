//! Reads the layout of a module: its entries, what they take, and how much memory their groups share.

use std::collections::{HashMap, HashSet};

use super::{Entry, Layout, Model, Parameter};

const MAGIC: u32 = 0x0723_0203;
const HEADER_WORDS: usize = 5;

mod op {
    pub(super) const ENTRY_POINT: u32 = 15;
    pub(super) const EXECUTION_MODE: u32 = 16;
    pub(super) const CAPABILITY: u32 = 17;
    pub(super) const TYPE_BOOL: u32 = 20;
    pub(super) const TYPE_INT: u32 = 21;
    pub(super) const TYPE_FLOAT: u32 = 22;
    pub(super) const TYPE_VECTOR: u32 = 23;
    pub(super) const TYPE_ARRAY: u32 = 28;
    pub(super) const TYPE_STRUCT: u32 = 30;
    pub(super) const TYPE_POINTER: u32 = 32;
    pub(super) const TYPE_FUNCTION: u32 = 33;
    pub(super) const CONSTANT: u32 = 43;
    pub(super) const SPEC_CONSTANT: u32 = 50;
    pub(super) const FUNCTION: u32 = 54;
    pub(super) const FUNCTION_END: u32 = 56;
    pub(super) const FUNCTION_CALL: u32 = 57;
    pub(super) const VARIABLE: u32 = 59;
}

const LOCAL_SIZE: u32 = 17;
const WORKGROUP: u32 = 4;
const CROSS_WORKGROUP: u32 = 5;

/// Reads the layout of a module, or says why it is none.
pub(super) fn layout(words: &[u32]) -> Result<Layout, String> {
    match words.first() {
        Some(&MAGIC) if words.len() >= HEADER_WORDS => {}
        Some(&MAGIC) => return Err("the SPIR-V module ends in its header".to_owned()),
        _ => return Err("it is not a SPIR-V module".to_owned()),
    }
    let mut reader = Reader::default();
    let mut rest = &words[HEADER_WORDS..];
    while let Some(&first) = rest.first() {
        let (length, op) = ((first >> 16) as usize, first & 0xffff);
        if length == 0 || length > rest.len() {
            let at = words.len() - rest.len();
            return Err(format!("the SPIR-V instruction at word {at} has {length} words"));
        }
        reader.instruction(op, &rest[1..length])?;
        rest = &rest[length..];
    }
    Ok(reader.finish())
}

/// A type, as far as it matters here.
struct Type {
    /// Its size, without padding; 0 for what has none.
    bytes: u64,
    kind: Kind,
}

enum Kind {
    Scalar,
    Composite,
    Pointer { class: u32, pointee_bytes: u64 },
    Function { parameters: Vec<u32> },
}

#[derive(Default)]
struct Function {
    kind: u32,
    /// What its instructions mention and what they call, by id.
    mentions: HashSet<u32>,
    calls: HashSet<u32>,
}

#[derive(Default)]
struct Reader {
    layout: Layout,
    /// The functions of the layout's entries.
    entries: Vec<u32>,
    types: HashMap<u32, Type>,
    constants: HashMap<u32, u32>,
    /// Variables that a group shares, and their sizes.
    shared: HashMap<u32, u64>,
    functions: HashMap<u32, Function>,
    current: Option<u32>,
}

impl Reader {
    fn instruction(&mut self, op: u32, operands: &[u32]) -> Result<(), String> {
        match (op, operands) {
            (op::CAPABILITY, [capability]) => self.layout.capabilities.push(*capability),
            (op::ENTRY_POINT, operands) => self.entry_point(operands)?,
            (op::EXECUTION_MODE, [function, mode @ ..]) => self.execution_mode(*function, mode),
            (op::TYPE_BOOL, [id]) => self.add(*id, 1, Kind::Scalar),
            (op::TYPE_INT | op::TYPE_FLOAT, [id, bits, ..]) => {
                self.add(*id, u64::from(*bits).div_ceil(8), Kind::Scalar);
            }
            (op::TYPE_VECTOR, [id, element, count]) => {
                let bytes = self.bytes(*element).saturating_mul(u64::from(*count));
                self.add(*id, bytes, Kind::Composite);
            }
            (op::TYPE_ARRAY, [id, element, count]) => {
                let count = self.constants.get(count).copied().unwrap_or(0);
                let bytes = self.bytes(*element).saturating_mul(u64::from(count));
                self.add(*id, bytes, Kind::Composite);
            }
            (op::TYPE_STRUCT, [id, members @ ..]) => {
                let bytes = members.iter().map(|member| self.bytes(*member)).fold(0, u64::saturating_add);
                self.add(*id, bytes, Kind::Composite);
            }
            (op::TYPE_POINTER, [id, class, pointee]) => {
                let pointee_bytes = self.bytes(*pointee);
                self.add(*id, 8, Kind::Pointer { class: *class, pointee_bytes });
            }
            (op::TYPE_FUNCTION, [id, _, parameters @ ..]) => {
                self.add(*id, 0, Kind::Function { parameters: parameters.to_vec() });
            }
            (op::CONSTANT | op::SPEC_CONSTANT, [_, id, low, ..]) => {
                self.constants.insert(*id, *low);
            }
            (op::VARIABLE, [pointer, id, WORKGROUP, ..]) => {
                let bytes = match self.types.get(pointer) {
                    Some(Type { kind: Kind::Pointer { pointee_bytes, .. }, .. }) => *pointee_bytes,
                    _ => 0,
                };
                self.shared.insert(*id, bytes);
            }
            (op::FUNCTION, [_, id, _, kind]) => {
                self.functions.insert(*id, Function { kind: *kind, ..Function::default() });
                self.current = Some(*id);
            }
            (op::FUNCTION_END, _) => self.current = None,
            _ => self.mention(op, operands),
        }
        Ok(())
    }

    fn add(&mut self, id: u32, bytes: u64, kind: Kind) {
        self.types.insert(id, Type { bytes, kind });
    }

    /// The size of a type that was declared before.
    fn bytes(&self, id: u32) -> u64 {
        self.types.get(&id).map_or(0, |declared| declared.bytes)
    }

    fn entry_point(&mut self, operands: &[u32]) -> Result<(), String> {
        let [model, function, name @ ..] = operands else {
            return Err("an entry point of the SPIR-V module is cut short".to_owned());
        };
        let name = string(name).ok_or("the name of an entry point of the SPIR-V module is no string")?;
        let model = match model {
            5 => Model::GlCompute,
            6 => Model::Kernel,
            other => return Err(format!("entry `{name}` is no compute kernel (execution model {other})")),
        };
        self.entries.push(*function);
        self.layout.entries.push(Entry {
            model,
            name,
            local_size: None,
            modes: Vec::new(),
            parameters: Vec::new(),
            shared_bytes: 0,
        });
        Ok(())
    }

    fn execution_mode(&mut self, function: u32, mode: &[u32]) {
        let entries = self.entries.iter().zip(&mut self.layout.entries);
        for (_, entry) in entries.filter(|(of, _)| **of == function) {
            match *mode {
                [LOCAL_SIZE, x, y, z] => entry.local_size = Some([x, y, z]),
                [mode, literal] => entry.modes.push((mode, literal)),
                _ => {}
            }
        }
    }

    /// Notes what an instruction of a function mentions. Its first operand is never a variable that it uses, but for a store. A literal
    /// that looks like an id may be noted, too.
    fn mention(&mut self, op: u32, operands: &[u32]) {
        let Some(function) = self.current.and_then(|id| self.functions.get_mut(&id)) else { return };
        if let (op::FUNCTION_CALL, [_, _, called, ..]) = (op, operands) {
            function.calls.insert(*called);
        }
        function.mentions.extend(operands.iter().filter(|id| self.shared.contains_key(*id)));
    }

    fn finish(mut self) -> Layout {
        let mut entries = std::mem::take(&mut self.layout.entries);
        for (entry, function) in entries.iter_mut().zip(&self.entries) {
            entry.parameters = self.parameters(*function);
            entry.shared_bytes = self.shared_bytes(*function);
        }
        Layout { entries, ..self.layout }
    }

    fn parameters(&self, function: u32) -> Vec<Parameter> {
        let kind = self.functions.get(&function).and_then(|function| self.types.get(&function.kind));
        let Some(Type { kind: Kind::Function { parameters }, .. }) = kind else { return Vec::new() };
        let parameter = |id| match self.types.get(id) {
            Some(Type { kind: Kind::Pointer { class: CROSS_WORKGROUP, .. }, .. }) => Parameter::Memory,
            Some(Type { kind: Kind::Scalar, bytes: 8 }) => Parameter::Word,
            _ => Parameter::Other,
        };
        parameters.iter().map(parameter).collect()
    }

    /// What the functions that an entry reaches mention of shared memory.
    fn shared_bytes(&self, entry: u32) -> u64 {
        let (mut reached, mut waiting) = (HashSet::new(), vec![entry]);
        let mut variables = HashSet::new();
        while let Some(id) = waiting.pop() {
            if let (true, Some(function)) = (reached.insert(id), self.functions.get(&id)) {
                variables.extend(&function.mentions);
                waiting.extend(&function.calls);
            }
        }
        variables.iter().map(|id| self.shared[id]).fold(0, u64::saturating_add)
    }
}

/// A string literal: UTF-8 in little-endian words, ended by a zero byte.
fn string(words: &[u32]) -> Option<String> {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect();
    (bytes.len() < words.len() * 4).then(|| String::from_utf8(bytes).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u32; 5] = [MAGIC, 0x0001_0500, 0, 9, 0];

    fn module(instructions: &[&[u32]]) -> Vec<u32> {
        let mut words = HEADER.to_vec();
        for instruction in instructions {
            let length = u32::try_from(instruction.len()).expect("few words");
            words.push(length << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        words
    }

    #[test]
    fn entries_have_their_sizes_and_modes() {
        let add = u32::from_le_bytes(*b"add\0");
        let words = module(&[
            &[op::CAPABILITY, 1],
            &[op::CAPABILITY, 11],
            &[op::ENTRY_POINT, 5, 4, add],
            &[op::EXECUTION_MODE, 4, LOCAL_SIZE, 64, 1, 1],
            &[op::EXECUTION_MODE, 4, 4459, 32],
        ]);
        let entry = Entry {
            model: Model::GlCompute,
            name: "add".to_owned(),
            local_size: Some([64, 1, 1]),
            modes: vec![(4459, 32)],
            parameters: Vec::new(),
            shared_bytes: 0,
        };
        assert_eq!(layout(&words), Ok(Layout { capabilities: vec![1, 11], entries: vec![entry] }));
    }

    #[test]
    fn parameters_and_shared_memory_are_those_of_what_an_entry_reaches() {
        let name = |letter: u8| u32::from_le_bytes([letter, 0, 0, 0]);
        let (void, int, word, pointer, count) = (10, 11, 12, 13, 14);
        let (array, shared, kernel, helper) = (15, 16, 17, 18);
        let (one, other) = (20, 21);
        let words = module(&[
            &[op::ENTRY_POINT, 6, 1, name(b'a')],
            &[op::ENTRY_POINT, 6, 2, name(b'b')],
            &[op::TYPE_INT, int, 32, 0],
            &[op::TYPE_INT, word, 64, 0],
            &[op::TYPE_POINTER, pointer, CROSS_WORKGROUP, int],
            &[op::CONSTANT, int, count, 100],
            &[op::TYPE_ARRAY, array, word, count],
            &[op::TYPE_POINTER, shared, WORKGROUP, array],
            &[op::VARIABLE, shared, one, WORKGROUP],
            &[op::VARIABLE, shared, other, WORKGROUP],
            &[op::TYPE_FUNCTION, kernel, void, pointer, word, int],
            &[op::TYPE_FUNCTION, helper, void],
            &[op::FUNCTION, void, 1, 0, kernel],
            &[61, int, 30, one],
            &[op::FUNCTION_CALL, void, 31, 3],
            &[op::FUNCTION_END],
            &[op::FUNCTION, void, 2, 0, helper],
            &[op::FUNCTION_END],
            &[op::FUNCTION, void, 3, 0, helper],
            &[61, int, 32, other],
            &[op::FUNCTION_CALL, void, 33, 3],
            &[op::FUNCTION_END],
        ]);
        let entries = layout(&words).unwrap().entries;
        assert_eq!(entries[0].parameters, [Parameter::Memory, Parameter::Word, Parameter::Other]);
        assert_eq!((entries[0].shared_bytes, entries[1].shared_bytes), (1600, 0));
        assert!(entries[1].parameters.is_empty());
    }

    #[test]
    fn damaged_modules_do_no_harm() {
        let name = u32::from_le_bytes(*b"f\0\0\0");
        let whole = module(&[
            &[op::ENTRY_POINT, 6, 1, name],
            &[op::TYPE_INT, 2, 32, 0],
            &[op::CONSTANT, 2, 3, u32::MAX],
            &[op::TYPE_ARRAY, 4, 2, 3],
            &[op::TYPE_STRUCT, 5, 4, 4],
            &[op::TYPE_POINTER, 6, WORKGROUP, 5],
            &[op::VARIABLE, 6, 7, WORKGROUP],
            &[op::TYPE_FUNCTION, 8, 6],
            &[op::FUNCTION, 6, 1, 0, 8],
            &[61, 5, 9, 7],
            &[op::FUNCTION_CALL, 5, 9, 1],
            &[op::FUNCTION_END],
        ]);
        assert_eq!(layout(&whole).unwrap().entries[0].shared_bytes, 2 * 4 * u64::from(u32::MAX));
        for at in HEADER_WORDS..whole.len() {
            for word in (0..16).chain([whole[at] ^ 0x1_0000, u32::MAX]) {
                let mut damaged = whole.clone();
                damaged[at] = word;
                // Whether it is still a module depends on the word.
                layout(&damaged).ok();
            }
        }
    }

    #[test]
    fn what_is_no_module_is_refused() {
        for words in [
            &[][..],
            &[1, 2, 3, 4, 5],
            &HEADER[..3],
            &module(&[&[op::ENTRY_POINT]]),
            &module(&[&[op::ENTRY_POINT, 5, 4, u32::from_le_bytes(*b"abcd")]]),
            &[&HEADER[..], &[0]].concat(),
            &[&HEADER[..], &[2 << 16 | op::CAPABILITY]].concat(),
        ] {
            layout(words).unwrap_err();
        }
    }
}
