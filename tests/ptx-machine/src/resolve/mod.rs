//! From statements to code: registers get numbers, instructions are looked up, and what is not known is refused.

mod accesses;
mod meetings;

use std::collections::HashMap;

use crate::PtxError;
use crate::code::{Action, Code, Instruction, Slot, Special};
use crate::lanes::{Counts, Places};
use crate::memory::placed;
use crate::parse::{Entry, Kind, MOST_THREADS, Operand, Statement, product};
use crate::table::Row;

/// The most shared memory that arrays of a kernel may have.
const MOST_SHARED: u64 = 48 << 10;

/// Resolves an entry.
pub(crate) fn resolve(entry: &Entry) -> Result<Code, PtxError> {
    let mut resolver = Resolver::new(entry)?;
    let mut instructions = Vec::with_capacity(entry.statements.len() + 1);
    for statement in &entry.statements {
        let guard = statement.guard.as_ref();
        let guard =
            guard.map(|(name, negated)| Ok((resolver.place(name, Kind::Predicate, statement)?, *negated)));
        let action = resolver.action(statement)?;
        let waits = matches!(action, Action::Barrier | Action::Meet(_));
        if guard.is_some() && waits {
            return Err(unknown(statement, "threads meet under a predicate, which is not known"));
        }
        instructions.push(Instruction { action, guard: guard.transpose()?, line: statement.line });
    }
    let line = entry.statements.last().map_or(entry.line, |last| last.line);
    instructions.push(Instruction { action: Action::Exit, guard: None, line });
    Ok(Code {
        name: entry.name.clone(),
        parameters: entry.parameters.iter().map(|parameter| parameter.bytes).collect(),
        required: entry.required,
        most: entry.required.map(product).or(entry.most).unwrap_or(MOST_THREADS),
        counts: resolver.counts,
        constants: resolver.constants.into_iter().map(|((_, bits), slot)| (slot, bits)).collect(),
        specials: resolver.specials.into_iter().map(|(special, slot)| (slot, special)).collect(),
        shared: resolver.shared,
        instructions,
    })
}

/// The error that a statement is not understood.
fn unknown(statement: &Statement, why: impl std::fmt::Display) -> PtxError {
    PtxError::new(statement.line, format!("`{}`: {why}", statement.name))
}

struct Resolver<'e> {
    entry: &'e Entry,
    registers: HashMap<&'e str, Slot>,
    arrays: HashMap<&'e str, u64>,
    parameters: HashMap<&'e str, (u32, u32)>,
    shared: Vec<crate::memory::Place>,
    counts: Counts,
    constants: HashMap<(Kind, u64), Slot>,
    specials: HashMap<Special, Slot>,
}

impl<'e> Resolver<'e> {
    fn new(entry: &'e Entry) -> Result<Self, PtxError> {
        let shared = placed(entry.shared.iter().map(|array| (array.alignment.into(), array.bytes.into())));
        let bytes: u64 = shared.iter().map(|place| place.bytes).sum();
        let end = shared.last().map_or(0, |last| last.start + last.bytes);
        if bytes > MOST_SHARED || u32::try_from(end).is_err() {
            let why =
                format!("{} has {bytes} bytes of shared memory, and not up to {MOST_SHARED}", entry.name);
            return Err(PtxError::new(entry.line, why));
        }
        let names = entry.shared.iter().map(|array| array.name.as_str());
        let arrays = names.zip(&shared).map(|(name, place)| (name, place.start)).collect();
        let mut next = 0u32;
        let mut parameters = HashMap::new();
        for parameter in &entry.parameters {
            let start = next.next_multiple_of(parameter.bytes);
            parameters.insert(parameter.name.as_str(), (start, parameter.bytes));
            next = start + parameter.bytes;
        }
        let mut this = Self {
            entry,
            registers: HashMap::new(),
            arrays,
            parameters,
            shared,
            counts: Counts::default(),
            constants: HashMap::new(),
            specials: HashMap::new(),
        };
        for (name, kind) in &entry.registers {
            let slot = this.slot(*kind);
            this.registers.insert(name, slot);
        }
        Ok(this)
    }

    /// A register that is nobody's yet.
    fn slot(&mut self, kind: Kind) -> Slot {
        let count = match kind {
            Kind::Predicate => &mut self.counts.predicates,
            Kind::B16 | Kind::B32 => &mut self.counts.words,
            Kind::B64 => &mut self.counts.longs,
        };
        *count += 1;
        Slot { kind, index: u32::try_from(*count - 1).expect("texts are shorter") }
    }

    /// A register that has this number in all threads.
    fn constant(&mut self, kind: Kind, bits: u64) -> Slot {
        if let Some(slot) = self.constants.get(&(kind, bits)) {
            return *slot;
        }
        let slot = self.slot(kind);
        self.constants.insert((kind, bits), slot);
        slot
    }

    fn special(&mut self, name: &str) -> Option<Slot> {
        let axis = |name: &str| ["x", "y", "z"].iter().position(|axis| *axis == name);
        let special = match name {
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            _ => {
                let (which, of) = name.split_once('.')?;
                match which {
                    "%tid" => Special::Thread(axis(of)?),
                    "%ntid" => Special::Threads(axis(of)?),
                    "%ctaid" => Special::Block(axis(of)?),
                    "%nctaid" => Special::Blocks(axis(of)?),
                    _ => return None,
                }
            }
        };
        if let Some(slot) = self.specials.get(&special) {
            return Some(*slot);
        }
        let slot = self.slot(Kind::B32);
        self.specials.insert(special, slot);
        Some(slot)
    }

    /// The register of a name, which must be of this width.
    fn place(&self, name: &str, kind: Kind, statement: &Statement) -> Result<u32, PtxError> {
        match self.registers.get(name) {
            Some(slot) if slot.kind == kind => Ok(slot.index),
            Some(slot) => {
                Err(unknown(statement, format!("`{name}` is {:?}, and {kind:?} is taken", slot.kind)))
            }
            None => Err(unknown(statement, format!("`{name}` is no register"))),
        }
    }

    /// The register of a result; any width will do if none is said.
    fn result(&self, operand: &Operand, kind: Option<Kind>, statement: &Statement) -> Result<Slot, PtxError> {
        let Operand::Word(name) = operand else {
            return Err(unknown(statement, format!("{operand:?} is no register")));
        };
        let slot = self.registers.get(name.as_str()).copied();
        let slot = slot.ok_or_else(|| unknown(statement, format!("`{name}` is no register")))?;
        self.place(name, kind.unwrap_or(slot.kind), statement)?;
        Ok(slot)
    }

    /// The register of an operand, which may be one for a number, an array's address or a special register.
    fn operand(&mut self, operand: &Operand, kind: Kind, statement: &Statement) -> Result<Slot, PtxError> {
        let Operand::Word(name) = operand else {
            return Err(unknown(statement, format!("{operand:?} is no operand of it")));
        };
        if self.registers.contains_key(name.as_str()) {
            return self.result(operand, Some(kind), statement);
        }
        if let Some(start) = self.arrays.get(name.as_str()).copied() {
            return match kind {
                Kind::B32 | Kind::B64 => Ok(self.constant(kind, start)),
                Kind::Predicate | Kind::B16 => Err(unknown(statement, "an address has 32 or 64 bits")),
            };
        }
        if let Some(slot) = self.special(name) {
            return match kind {
                Kind::B32 => Ok(slot),
                _ => Err(unknown(statement, format!("`{name}` has 32 bits"))),
            };
        }
        let bits =
            number(name, kind).ok_or_else(|| unknown(statement, format!("`{name}` is no {kind:?}")))?;
        Ok(self.constant(kind, bits))
    }

    fn action(&mut self, statement: &Statement) -> Result<Action, PtxError> {
        let parts: Vec<&str> = statement.name.split('.').collect();
        let operands = statement.operands.as_slice();
        match (parts.as_slice(), operands) {
            (["bra"] | ["bra", "uni"], [Operand::Word(label)]) => {
                let target = self.entry.labels.get(label).copied();
                let target = target.ok_or_else(|| unknown(statement, format!("there is no `{label}`")))?;
                Ok(Action::Branch(u32::try_from(target).expect("texts are shorter")))
            }
            (["ret"] | ["exit"], []) => Ok(Action::Exit),
            (["mov", of], [Operand::Vector(to), from]) => {
                let (kind, part) =
                    parts_of(of, to.len()).ok_or_else(|| unknown(statement, "no such parts"))?;
                let from = self.operand(from, kind, statement)?;
                Ok(Action::Unpack(from, self.results(to, Some(part), statement)?))
            }
            (["mov", of], [to, Operand::Vector(from)]) => {
                let (kind, part) =
                    parts_of(of, from.len()).ok_or_else(|| unknown(statement, "no such parts"))?;
                let to = self.result(to, Some(kind), statement)?;
                let from = from.iter().map(|from| self.operand(from, part, statement));
                Ok(Action::Pack(to, from.collect::<Result<_, _>>()?))
            }
            (["ld" | "st" | "atom" | "red" | "cp", ..], _) => self.access(&parts, statement),
            (["bar" | "barrier" | "shfl" | "vote" | "mma" | "ldmatrix", ..], _) => {
                self.meeting(&parts, statement)
            }
            _ => self.computation(&parts, statement),
        }
    }

    /// Registers of results; `_` is none.
    fn results(
        &self,
        operands: &[Operand],
        kind: Option<Kind>,
        statement: &Statement,
    ) -> Result<Box<[Option<Slot>]>, PtxError> {
        let result = |operand: &Operand| match operand {
            Operand::Word(name) if name == "_" => Ok(None),
            _ => self.result(operand, kind, statement).map(Some),
        };
        operands.iter().map(result).collect()
    }

    fn computation(&mut self, parts: &[&str], statement: &Statement) -> Result<Action, PtxError> {
        let kind_of = |operand: Option<&Operand>| match operand {
            Some(Operand::Word(name)) => self.registers.get(name.as_str()).map(|slot| slot.kind),
            _ => None,
        };
        let operands = &statement.operands;
        let result = kind_of(operands.first()).ok_or_else(|| unknown(statement, "it has no result"))?;
        let first = kind_of(operands.get(1)).unwrap_or(result);
        let row = Row::find(parts, (result, first));
        let row = row.ok_or_else(|| unknown(statement, "this instruction is not known"))?;
        if operands.len() != row.operands.len() + 1 {
            return Err(unknown(statement, format!("it takes {} operands", row.operands.len())));
        }
        let mut places: Places = [0; 5];
        places[0] = self.result(&operands[0], Some(row.result), statement)?.index;
        for (index, (operand, kind)) in operands[1..].iter().zip(&row.operands).enumerate() {
            places[index + 1] = self.operand(operand, *kind, statement)?.index;
        }
        Ok(Action::Compute(row.run, places))
    }
}

/// The width of a type, and of its parts if there are as many.
fn parts_of(of: &str, count: usize) -> Option<(Kind, Kind)> {
    Some(match (of, count) {
        ("b32", 2) => (Kind::B32, Kind::B16),
        ("b64", 2) => (Kind::B64, Kind::B32),
        ("b64", 4) => (Kind::B64, Kind::B16),
        _ => return None,
    })
}

/// The bits of a number; `None` if it is none of this width.
fn number(text: &str, kind: Kind) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0f").or(text.strip_prefix("0F")) {
        let bits = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8)?;
        return (kind == Kind::B32).then_some(bits.into());
    }
    if let Some(digits) = text.strip_prefix("0d").or(text.strip_prefix("0D")) {
        let bits = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16)?;
        return (kind == Kind::B64).then_some(bits);
    }
    let text = text.strip_suffix('U').unwrap_or(text);
    let value = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => text.parse::<i128>().ok()?,
    };
    let bits = match kind {
        Kind::Predicate => return matches!(value, -1..=1).then_some((value != 0).into()),
        Kind::B16 => 16,
        Kind::B32 => 32,
        Kind::B64 => 64,
    };
    let is_in = value >= -(1 << (bits - 1)) && value < 1 << bits;
    is_in.then_some((value as u64) & (u64::MAX >> (64 - bits)))
}
