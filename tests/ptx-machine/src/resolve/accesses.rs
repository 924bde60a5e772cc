//! Instructions that read and write memory.

use super::{Resolver, unknown};
use crate::PtxError;
use crate::code::{Access, Action, Address, Copy, Element, Parameter, Slot, Update, What};
use crate::memory::Space;
use crate::parse::{Kind, Operand, Statement};

/// A type in memory, and the width of its register if it is as wide.
fn element(of: &str) -> Option<Element> {
    let (bytes, is_signed) = match of {
        "b8" | "u8" => (1, false),
        "s8" => (1, true),
        "b16" | "u16" | "f16" | "bf16" => (2, false),
        "s16" => (2, true),
        "b32" | "u32" | "f32" => (4, false),
        "s32" => (4, true),
        "b64" | "u64" | "f64" => (8, false),
        "s64" => (8, true),
        _ => return None,
    };
    Some(Element { bytes, is_signed })
}

fn width(kind: Kind) -> u32 {
    match kind {
        Kind::Predicate => 0,
        Kind::B16 => 2,
        Kind::B32 => 4,
        Kind::B64 => 8,
    }
}

impl Resolver<'_> {
    pub(super) fn access(&mut self, parts: &[&str], statement: &Statement) -> Result<Action, PtxError> {
        match parts {
            ["ld", "param", rest @ ..] => self.parameter(rest, statement),
            ["ld", "global", "nc", rest @ ..] => self.load(Space::ReadOnly, rest, statement),
            ["ld", "global", rest @ ..] => self.load(Space::Global, rest, statement),
            ["ld", "shared", rest @ ..] => self.load(Space::Shared, rest, statement),
            ["st", "global", rest @ ..] => self.store(Space::Global, rest, statement),
            ["st", "shared", rest @ ..] => self.store(Space::Shared, rest, statement),
            ["atom", "global", operation, of] => self.update(Space::Global, operation, of, true, statement),
            ["atom", "shared", operation, of] => self.update(Space::Shared, operation, of, true, statement),
            ["red", "global", operation, of] => self.update(Space::Global, operation, of, false, statement),
            ["red", "shared", operation, of] => self.update(Space::Shared, operation, of, false, statement),
            ["cp", "async", "commit_group"] if statement.operands.is_empty() => Ok(Action::Commit),
            ["cp", "async", "wait_all"] if statement.operands.is_empty() => Ok(Action::WaitAll),
            ["cp", "async", "wait_group"] => match statement.operands.as_slice() {
                [Operand::Word(count)] if count.parse::<u32>().is_ok() => {
                    Ok(Action::Wait(count.parse().expect("it was parsed")))
                }
                _ => Err(unknown(statement, "it takes a count")),
            },
            ["cp", "async", "ca" | "cg", "shared", "global"] => self.copy(parts[2], statement),
            _ => Err(unknown(statement, "this instruction is not known")),
        }
    }

    /// The type and the count of `[v4, b32]`, and the operands of as many registers.
    fn elements<'s>(
        &self,
        rest: &[&str],
        registers: &'s Operand,
        statement: &Statement,
    ) -> Result<(Element, &'s [Operand]), PtxError> {
        let (of, count) = match rest {
            [of] => (of, 1),
            ["v2", of] => (of, 2),
            ["v4", of] => (of, 4),
            _ => return Err(unknown(statement, "this instruction is not known")),
        };
        let element = element(of).ok_or_else(|| unknown(statement, "the type is not known"))?;
        let registers = match registers {
            Operand::Vector(registers) => registers.as_slice(),
            one => std::slice::from_ref(one),
        };
        match registers.len() == count && element.bytes * count as u32 <= 16 {
            true => Ok((element, registers)),
            false => Err(unknown(statement, format!("it takes {count} registers, up to 16 bytes together"))),
        }
    }

    /// Registers of a load, which are as wide as the type or wider.
    fn loaded(
        &self,
        operands: &[Operand],
        element: Element,
        statement: &Statement,
    ) -> Result<Box<[Option<Slot>]>, PtxError> {
        let slots = self.results(operands, None, statement)?;
        match slots.iter().flatten().all(|slot| width(slot.kind) >= element.bytes) {
            true => Ok(slots),
            false => Err(unknown(statement, "a register is narrower than the type")),
        }
    }

    pub(super) fn address(&mut self, operand: &Operand, statement: &Statement) -> Result<Address, PtxError> {
        let Operand::Address(base, offset) = operand else {
            return Err(unknown(statement, format!("{operand:?} is no address")));
        };
        let kind = self.registers.get(base.as_str()).map_or(Kind::B64, |slot| slot.kind);
        if !matches!(kind, Kind::B32 | Kind::B64) {
            return Err(unknown(statement, "an address has 32 or 64 bits"));
        }
        let base = self.operand(&Operand::Word(base.clone()), kind, statement)?;
        Ok(Address { base, offset: *offset })
    }

    fn load(&mut self, space: Space, rest: &[&str], statement: &Statement) -> Result<Action, PtxError> {
        let [to, from] = statement.operands.as_slice() else {
            return Err(unknown(statement, "it takes registers and an address"));
        };
        let (element, to) = self.elements(rest, to, statement)?;
        let to = self.loaded(to, element, statement)?;
        let address = self.address(from, statement)?;
        Ok(Action::Access(Box::new(Access { space, address, element, what: What::Load(to) })))
    }

    fn store(&mut self, space: Space, rest: &[&str], statement: &Statement) -> Result<Action, PtxError> {
        let [to, from] = statement.operands.as_slice() else {
            return Err(unknown(statement, "it takes an address and registers"));
        };
        let address = self.address(to, statement)?;
        let (element, from) = self.elements(rest, from, statement)?;
        let slots: Result<Box<[_]>, _> =
            from.iter().map(|from| self.stored(from, element, statement)).collect();
        Ok(Action::Access(Box::new(Access { space, address, element, what: What::Store(slots?) })))
    }

    /// A register of a store, which is as wide as the type or wider; or a number.
    fn stored(&mut self, from: &Operand, element: Element, statement: &Statement) -> Result<Slot, PtxError> {
        let own = match from {
            Operand::Word(name) => self.registers.get(name.as_str()).copied(),
            _ => None,
        };
        let kind = own.map_or_else(
            || match element.bytes {
                1 | 2 => Kind::B16,
                4 => Kind::B32,
                _ => Kind::B64,
            },
            |slot| slot.kind,
        );
        match width(kind) >= element.bytes {
            true => self.operand(from, kind, statement),
            false => Err(unknown(statement, "a register is narrower than the type")),
        }
    }

    fn parameter(&mut self, rest: &[&str], statement: &Statement) -> Result<Action, PtxError> {
        let [to, Operand::Address(name, offset)] = statement.operands.as_slice() else {
            return Err(unknown(statement, "it takes registers and a parameter"));
        };
        let (element, to) = self.elements(rest, to, statement)?;
        let (start, bytes) = *self
            .parameters
            .get(name.as_str())
            .ok_or_else(|| unknown(statement, format!("there is no parameter `{name}`")))?;
        let taken = element.bytes * to.len() as u32;
        let is_inside = |offset: &u32| {
            offset.checked_add(taken).is_some_and(|end| end <= bytes) && offset.is_multiple_of(taken)
        };
        let place = u32::try_from(*offset).ok().filter(is_inside);
        let place =
            place.ok_or_else(|| unknown(statement, "this is outside the parameter, or not aligned"))?;
        let to = self.loaded(to, element, statement)?;
        Ok(Action::Parameter(Box::new(Parameter { to, place: start + place, element })))
    }

    fn update(
        &mut self,
        space: Space,
        operation: &str,
        of: &str,
        has_result: bool,
        statement: &Statement,
    ) -> Result<Action, PtxError> {
        let update = updates(operation, of);
        let update = update.ok_or_else(|| unknown(statement, "this instruction is not known"))?;
        let element = element(of).ok_or_else(|| unknown(statement, "the type is not known"))?;
        let kind = if element.bytes == 8 { Kind::B64 } else { Kind::B32 };
        let (to, rest) = match statement.operands.split_first() {
            Some((to, rest)) if has_result => {
                (self.results(std::slice::from_ref(to), Some(kind), statement)?[0], rest)
            }
            _ => (None, statement.operands.as_slice()),
        };
        let (address, first, second) = match rest {
            [address, first] if operation != "cas" => (address, first, first),
            [address, compared, new] if operation == "cas" => (address, compared, new),
            _ => return Err(unknown(statement, "its operands are not known")),
        };
        let operands = [self.operand(first, kind, statement)?, self.operand(second, kind, statement)?];
        let address = self.address(address, statement)?;
        Ok(Action::Access(Box::new(Access {
            space,
            address,
            element,
            what: What::Update(update, to, operands),
        })))
    }

    fn copy(&mut self, caches: &str, statement: &Statement) -> Result<Action, PtxError> {
        let (to, from, bytes, read) = match statement.operands.as_slice() {
            [to, from, Operand::Word(bytes)] => (to, from, bytes, None),
            [to, from, Operand::Word(bytes), read] => (to, from, bytes, Some(read)),
            _ => return Err(unknown(statement, "it takes two addresses and a count of bytes")),
        };
        let bytes = match (caches, bytes.as_str()) {
            ("ca", "4") => 4,
            ("ca", "8") => 8,
            ("ca" | "cg", "16") => 16,
            _ => return Err(unknown(statement, format!("it does not copy {bytes} bytes"))),
        };
        let read = read.map(|read| self.operand(read, Kind::B32, statement)).transpose()?;
        let (to, from) = (self.address(to, statement)?, self.address(from, statement)?);
        Ok(Action::Copy(Box::new(Copy { to, from, bytes, read })))
    }
}

/// Atomic operations on integers: of floats the order would matter.
fn updates(operation: &str, of: &str) -> Option<Update> {
    Some(match (operation, of) {
        ("and", "b32" | "b64") => |old, a, _| old & a,
        ("or", "b32" | "b64") => |old, a, _| old | a,
        ("xor", "b32" | "b64") => |old, a, _| old ^ a,
        ("exch", "b32" | "b64") => |_, a, _| a,
        ("cas", "b32" | "b64") => |old, compared, new| if old == compared { new } else { old },
        ("add", "u32" | "s32") => |old, a, _| u64::from((old as u32).wrapping_add(a as u32)),
        ("add", "u64") => |old, a, _| old.wrapping_add(a),
        ("min", "u32" | "u64") => |old, a, _| old.min(a),
        ("max", "u32" | "u64") => |old, a, _| old.max(a),
        ("min", "s32") => |old, a, _| u64::from((old as i32).min(a as i32) as u32),
        ("max", "s32") => |old, a, _| u64::from((old as i32).max(a as i32) as u32),
        ("min", "s64") => |old, a, _| (old as i64).min(a as i64) as u64,
        ("max", "s64") => |old, a, _| (old as i64).max(a as i64) as u64,
        _ => return None,
    })
}
