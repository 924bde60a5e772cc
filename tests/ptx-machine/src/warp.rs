//! A warp: 32 threads, of which those that are at the same instruction do it together.
//!
//! Threads that went different ways are groups. The group that is furthest behind goes on until it comes to where another one
//! is, so that ways that meet again are gone together. A group that comes to where threads have to meet waits for the others.

use std::ops::ControlFlow;

use crate::Fault;
use crate::code::{
    Access, Action, Address, Code, Copy, Element, Instruction, Parameter, Slot, Special, What,
};
use crate::lanes::{LANES, Mask, Outcome, Registers, lanes_of};
use crate::meet;
use crate::memory::{Global, Shared, Space};

/// What all warps of a block share.
pub(crate) struct Around<'l> {
    pub(crate) code: &'l Code,
    pub(crate) parameters: &'l [u8],
    pub(crate) global: Global,
    pub(crate) shared: Shared,
    /// How many instructions the block may still do.
    pub(crate) budget: u64,
}

/// Where blocks and threads are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: [u32; 3],
    pub(crate) block: [u32; 3],
}

/// A fault, and the instruction.
pub(crate) type Stop = (Box<Fault>, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// At a barrier of the block.
    Barrier,
    /// At an instruction that other threads of the warp have to come to.
    Meeting,
}

/// Threads that are at the same instruction.
#[derive(Clone, Copy, Debug)]
struct Group {
    mask: Mask,
    next: u32,
    state: State,
}

/// Copies of a thread that are not done.
struct Pending {
    copy: Copy,
    lane: usize,
    to: u64,
    from: u64,
    read: u32,
    /// How many groups the thread had committed when it was started.
    group: u32,
}

/// A warp.
pub(crate) struct Warp {
    pub(crate) registers: Registers,
    /// The place of its first thread in the block.
    pub(crate) first: u32,
    groups: Vec<Group>,
    /// Threads that have not ended.
    live: Mask,
    pending: Vec<Pending>,
    committed: [u32; LANES],
}

impl Warp {
    pub(crate) fn new(code: &Code, first: u32) -> Self {
        Self {
            registers: Registers::new(code.counts),
            first,
            groups: Vec::new(),
            live: 0,
            pending: Vec::new(),
            committed: [0; LANES],
        }
    }

    /// Makes it the warp of another block, at the first instruction.
    pub(crate) fn start(&mut self, code: &Code, site: &Site) {
        let threads: u32 = site.threads.iter().product();
        let count = (threads - self.first).min(LANES as u32);
        self.live = Mask::MAX >> (LANES as u32 - count);
        self.groups.clear();
        self.groups.push(Group { mask: self.live, next: 0, state: State::Ready });
        self.pending.clear();
        self.committed = [0; LANES];
        self.registers.clear();
        for (slot, bits) in &code.constants {
            self.registers.set_bits(*slot, Mask::MAX, &[*bits; LANES]);
        }
        for (slot, special) in &code.specials {
            let values = std::array::from_fn(|lane| u64::from(self.special(*special, lane as u32, site)));
            self.registers.set_bits(*slot, Mask::MAX, &values);
        }
    }

    fn special(&self, special: Special, lane: u32, site: &Site) -> u32 {
        let [x, y, _] = site.threads;
        let thread = self.first + lane;
        match special {
            Special::Thread(axis) => [thread % x, thread / x % y, thread / (x * y)][axis],
            Special::Threads(axis) => site.threads[axis],
            Special::Block(axis) => site.block[axis],
            Special::Blocks(axis) => site.blocks[axis],
            Special::Lane => lane,
            Special::Warp => self.first / LANES as u32,
        }
    }

    /// Whether threads wait at a barrier; otherwise all have ended.
    pub(crate) fn waits(&self) -> bool {
        self.live != 0
    }

    /// Goes on after a barrier, which all threads of the block have come to.
    pub(crate) fn release(&mut self) {
        for group in &mut self.groups {
            group.state = State::Ready;
            group.next += 1;
        }
    }

    /// Executes until all threads have ended or wait at a barrier.
    pub(crate) fn run(&mut self, around: &mut Around<'_>) -> Result<(), Stop> {
        loop {
            let ready = self.groups.iter().enumerate().filter(|(_, group)| group.state == State::Ready);
            let Some((index, _)) = ready.min_by_key(|(_, group)| group.next) else {
                if !self.is_met(around.code)? {
                    return self.at_one_barrier();
                }
                continue;
            };
            let mut group = self.groups.swap_remove(index);
            self.groups.retain(|other| {
                let is_same = other.state == State::Ready && other.next == group.next;
                group.mask |= if is_same { other.mask } else { 0 };
                !is_same
            });
            let others = self.groups.iter().filter(|other| other.state == State::Ready);
            let limit = others.map(|other| other.next).min().unwrap_or(u32::MAX);
            while group.next < limit {
                if self.step(&mut group, around).map_err(|fault| (fault, group.next))?.is_break() {
                    group.mask = 0;
                    break;
                }
            }
            if group.mask != 0 {
                self.groups.push(group);
            }
        }
    }

    /// Whether threads that wait for others need not any more, since those have ended; an error if they wait for ever.
    fn is_met(&mut self, code: &Code) -> Result<bool, Stop> {
        let mut first_missing = None;
        for group in self.groups.iter_mut().filter(|group| group.state == State::Meeting) {
            let members = match &code.instructions[group.next as usize].action {
                Action::Meet(meeting) => meeting.members,
                _ => unreachable!("only threads at such an instruction are in this state"),
            };
            let wanted = self.registers.bits(members, group.mask).map_err(|fault| (fault, group.next))?;
            let lane = group.mask.trailing_zeros();
            let missing = wanted[lane as usize] as Mask & self.live & !group.mask;
            if missing == 0 {
                group.state = State::Ready;
                return Ok(true);
            }
            first_missing.get_or_insert((missing, lane, group.next));
        }
        match first_missing {
            None => Ok(false),
            Some((missing, lane, next)) => {
                let what = format!("threads {missing:#010x} of the warp do not come to this instruction");
                Err((Fault::new(lane, what), next))
            }
        }
    }

    /// All threads of a warp have to come to a barrier by the same instruction.
    fn at_one_barrier(&self) -> Result<(), Stop> {
        match self.groups.as_slice() {
            [] | [_] => Ok(()),
            [one, other, ..] => {
                let what = "threads of a warp are at different barriers";
                Err((Fault::new(one.mask.trailing_zeros(), what), other.next))
            }
        }
    }

    /// Executes an instruction of a group; a break if the group is not to go on now.
    #[inline(always)]
    fn step(&mut self, group: &mut Group, around: &mut Around<'_>) -> Result<ControlFlow<()>, Box<Fault>> {
        let Instruction { action, guard, .. } = &around.code.instructions[group.next as usize];
        let mask = match guard {
            None => group.mask,
            Some((predicate, negated)) => {
                let set = self.registers.predicate(*predicate, group.mask)?;
                if *negated { group.mask & !set } else { set }
            }
        };
        around.budget = around.budget.checked_sub(1).ok_or_else(endless(mask))?;
        match action {
            Action::Compute(run, places) => {
                if mask != 0 {
                    run(&mut self.registers, places, mask)?;
                }
            }
            Action::Branch(target) => {
                if mask == group.mask {
                    group.next = *target;
                    return Ok(ControlFlow::Continue(()));
                }
                if mask != 0 {
                    let rest = Group { mask: group.mask & !mask, next: group.next + 1, ..*group };
                    self.groups.extend([Group { mask, next: *target, ..*group }, rest]);
                    return Ok(ControlFlow::Break(()));
                }
            }
            Action::Exit => {
                if let Some(copy) = self.pending.iter().find(|pending| mask >> pending.lane & 1 != 0) {
                    let what = "the thread ends, and its copies to shared memory were not waited for";
                    return Err(Fault::new(copy.lane as u32, what));
                }
                self.live &= !mask;
                group.mask &= !mask;
                if group.mask == 0 {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Action::Barrier => {
                let waiting = self
                    .groups
                    .iter_mut()
                    .find(|other| other.state == State::Barrier && other.next == group.next);
                match waiting {
                    Some(other) => other.mask |= group.mask,
                    None => self.groups.push(Group { state: State::Barrier, ..*group }),
                }
                return Ok(ControlFlow::Break(()));
            }
            Action::Meet(meeting) => {
                let next = group.next;
                let is_here = |other: &Group| other.state == State::Meeting && other.next == next;
                if let Some(index) = self.groups.iter().position(is_here) {
                    group.mask |= self.groups.swap_remove(index).mask;
                }
                let members = meet::members(&self.registers, meeting.members, group.mask)?;
                if members & self.live & !group.mask != 0 {
                    self.groups.push(Group { state: State::Meeting, ..*group });
                    return Ok(ControlFlow::Break(()));
                }
                meet::together(&mut self.registers, &meeting.what, group.mask, self.first, around)?;
            }
            Action::Access(access) => self.access(access, mask, around)?,
            Action::Parameter(parameter) => self.parameter(parameter, mask, around.parameters),
            Action::Unpack(from, to) => self.unpack(*from, to, mask),
            Action::Pack(to, from) => self.pack(*to, from, mask),
            Action::Copy(copy) => self.copy(copy, mask, &mut around.shared)?,
            Action::Commit => lanes_of(mask).for_each(|lane| self.committed[lane] += 1),
            Action::Wait(left) => self.wait(*left, mask, around)?,
            Action::WaitAll => {
                lanes_of(mask).for_each(|lane| self.committed[lane] += 1);
                self.wait(0, mask, around)?;
            }
        }
        group.next += 1;
        Ok(ControlFlow::Continue(()))
    }

    /// The address of an access in each thread.
    fn addresses(&self, address: &Address, mask: Mask) -> Result<[u64; LANES], Box<Fault>> {
        addresses(&self.registers, address, mask)
    }

    fn access(&mut self, access: &Access, mask: Mask, around: &mut Around<'_>) -> Outcome {
        let addresses = self.addresses(&access.address, mask)?;
        let Element { bytes, .. } = access.element;
        let count = match &access.what {
            What::Load(to) => to.len(),
            What::Store(from) => from.len(),
            What::Update(..) => 1,
        };
        aligned(&addresses, bytes * count as u32, mask)?;
        let Around { global, shared, .. } = around;
        let step = u64::from(bytes);
        match &access.what {
            What::Load(to) => {
                for (part, to) in to.iter().enumerate() {
                    let mut values = [0; LANES];
                    for lane in lanes_of(mask) {
                        let address = addresses[lane] + step * part as u64;
                        let value = match access.space {
                            Space::Global => global.read(address, step, false, lane as u32)?,
                            Space::ReadOnly => global.read(address, step, true, lane as u32)?,
                            Space::Shared => {
                                shared.read(address, step, self.first + lane as u32, lane as u32)?
                            }
                        };
                        values[lane] = extended(value, access.element);
                    }
                    if let Some(to) = to {
                        self.registers.set_bits(*to, mask, &values);
                    }
                }
            }
            What::Store(from) => {
                for (part, from) in from.iter().enumerate() {
                    let values = self.registers.bits(*from, mask)?;
                    for lane in lanes_of(mask) {
                        let (address, value) = (addresses[lane] + step * part as u64, values[lane]);
                        match access.space {
                            Space::Global | Space::ReadOnly => {
                                global.write(address, step, value, lane as u32)?
                            }
                            Space::Shared => {
                                shared.write(address, step, value, self.first + lane as u32, lane as u32)?;
                            }
                        }
                    }
                }
            }
            What::Update(update, to, [first, second]) => {
                let (a, b) = (self.registers.bits(*first, mask)?, self.registers.bits(*second, mask)?);
                let mut values = [0; LANES];
                for lane in lanes_of(mask) {
                    let of = |old| update(old, a[lane], b[lane]);
                    let (address, at) = (addresses[lane], lane as u32);
                    values[lane] = match access.space {
                        Space::Global | Space::ReadOnly => global.update(address, step, at, of)?,
                        Space::Shared => shared.update(address, step, self.first + at, at, of)?,
                    };
                }
                if let Some(to) = to {
                    self.registers.set_bits(*to, mask, &values);
                }
            }
        }
        Ok(())
    }

    fn parameter(&mut self, parameter: &Parameter, mask: Mask, bytes: &[u8]) {
        let Element { bytes: size, .. } = parameter.element;
        for (part, to) in parameter.to.iter().enumerate() {
            let start = parameter.place as usize + part * size as usize;
            let mut word = [0; 8];
            word[..size as usize].copy_from_slice(&bytes[start..start + size as usize]);
            if let Some(to) = to {
                let value = extended(u64::from_le_bytes(word), parameter.element);
                self.registers.set_bits(*to, mask, &[value; LANES]);
            }
        }
    }

    fn unpack(&mut self, from: Slot, to: &[Option<Slot>], mask: Mask) {
        let ((values, undefined), width) = (self.registers.partly(from), from.kind.width() / to.len() as u32);
        for (to, number) in to.iter().zip(0..) {
            let part = |bits: u64| bits >> (number * width);
            if let Some(to) = to {
                self.registers.set_partly(*to, mask, (&values.map(part), &undefined.map(part)));
            }
        }
    }

    /// A part that was never written may be there: LLVM packs vectors of which it uses some elements.
    fn pack(&mut self, to: Slot, from: &[Slot], mask: Mask) {
        let (mut values, mut undefined, mut shift) = ([0; LANES], [0; LANES], 0);
        for from in from {
            let (part, without) = self.registers.partly(*from);
            for lane in 0..LANES {
                values[lane] |= part[lane] << shift;
                undefined[lane] |= (without[lane] & from.kind.bits()) << shift;
            }
            shift += from.kind.width();
        }
        self.registers.set_partly(to, mask, (&values, &undefined));
    }

    /// Starts a copy of each thread.
    fn copy(&mut self, copy: &Copy, mask: Mask, shared: &mut Shared) -> Outcome {
        let (to, from) = (self.addresses(&copy.to, mask)?, self.addresses(&copy.from, mask)?);
        aligned(&to, copy.bytes, mask)?;
        aligned(&from, copy.bytes, mask)?;
        let read = copy.read.map(|read| self.registers.bits(read, mask)).transpose()?;
        for lane in lanes_of(mask) {
            let read = read.map_or(copy.bytes, |read| read[lane] as u32);
            if read > copy.bytes {
                let what = format!("{read} bytes are read of {}", copy.bytes);
                return Err(Fault::new(lane as u32, what));
            }
            let (to, from, group) = (to[lane], from[lane], self.committed[lane]);
            shared.start_copy(to, copy.bytes.into(), self.first + lane as u32, lane as u32)?;
            self.pending.push(Pending { copy: *copy, lane, to, from, read, group });
        }
        Ok(())
    }

    /// Does the copies of all but the last groups of each thread.
    fn wait(&mut self, left: u32, mask: Mask, around: &mut Around<'_>) -> Outcome {
        let mut pending = std::mem::take(&mut self.pending);
        let committed = self.committed;
        let is_due = |pending: &Pending| {
            mask >> pending.lane & 1 != 0 && pending.group + left < committed[pending.lane]
        };
        for Pending { copy, lane, to, from, read, .. } in pending.extract_if(.., |pending| is_due(pending)) {
            let mut copied = [0; 16];
            for (byte, copied) in (0..u64::from(read)).zip(&mut copied) {
                *copied = around.global.read(from + byte, 1, false, lane as u32)? as u8;
            }
            around.shared.end_copy(to, &copied[..copy.bytes as usize], self.first + lane as u32);
        }
        self.pending = pending;
        Ok(())
    }
}

/// The address of an access in each thread.
pub(crate) fn addresses(
    registers: &Registers,
    address: &Address,
    mask: Mask,
) -> Result<[u64; LANES], Box<Fault>> {
    let offset = address.offset as u64;
    Ok(registers.bits(address.base, mask)?.map(|base| base.wrapping_add(offset)))
}

fn aligned(addresses: &[u64; LANES], bytes: u32, mask: Mask) -> Outcome {
    match lanes_of(mask).find(|lane| !addresses[*lane].is_multiple_of(u64::from(bytes))) {
        None => Ok(()),
        Some(lane) => {
            let what = format!("{bytes} bytes are accessed at {:#x}, which is not aligned", addresses[lane]);
            Err(Fault::new(lane as u32, what))
        }
    }
}

fn extended(value: u64, element: Element) -> u64 {
    let unused = 64 - 8 * element.bytes;
    match element.is_signed {
        true => ((value << unused) as i64 >> unused) as u64,
        false => value,
    }
}

#[cold]
fn endless(mask: Mask) -> impl Fn() -> Box<Fault> {
    move || Fault::new(mask.trailing_zeros() % LANES as u32, "the block does not come to an end")
}
