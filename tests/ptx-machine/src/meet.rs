//! What threads of a warp do together.

use crate::Fault;
use crate::code::{Direction, Slot, Together, Vote};
use crate::lanes::{LANES, Mask, Outcome, Registers, lanes_of};
use crate::warp::{Around, addresses};

/// The threads that have to come to an instruction, of which all must say the same, and be.
pub(crate) fn members(registers: &Registers, slot: Slot, mask: Mask) -> Result<Mask, Box<Fault>> {
    let said = registers.bits(slot, mask)?;
    let first = said[mask.trailing_zeros() as usize] as Mask;
    for lane in lanes_of(mask) {
        let members = said[lane] as Mask;
        if members != first {
            let what = format!("it says that {members:#010x} come here, and another thread {first:#010x}");
            return Err(Fault::new(lane as u32, what));
        }
        if members >> lane & 1 == 0 {
            return Err(Fault::new(lane as u32, format!("it is none of {members:#010x}, which come here")));
        }
    }
    Ok(first)
}

/// Does what the threads of a mask do together.
pub(crate) fn together(
    registers: &mut Registers,
    what: &Together,
    mask: Mask,
    first: u32,
    around: &mut Around<'_>,
) -> Outcome {
    match what {
        Together::Shuffle { direction, to, is_there, from, by, limits } => {
            let operands = [*by, *limits];
            shuffle(registers, *direction, (*to, *is_there), *from, operands, mask)
        }
        Together::Vote(vote, to, from, negated) => self::vote(registers, *vote, *to, *from, *negated, mask),
        Together::Multiply(matrices, slots) => {
            whole(mask)?;
            matrices.multiply(registers, slots)
        }
        Together::LoadMatrices(to, address, is_transposed) => {
            whole(mask)?;
            let addresses = addresses(registers, address, mask)?;
            for (number, to) in to.iter().enumerate() {
                // The rows of the matrix are where eight threads say.
                let rows = &addresses[8 * number..8 * number + 8];
                let mut values = [0; LANES];
                for (lane, value) in values.iter_mut().enumerate() {
                    for half in 0..2 {
                        let (row, column) = (lane / 4, lane % 4 * 2 + half);
                        let (row, column) = if *is_transposed { (column, row) } else { (row, column) };
                        let (address, at) = (rows[row], lane as u32);
                        if address % 16 != 0 {
                            let what = format!("the row at {address:#x} is not aligned");
                            return Err(Fault::new((8 * number + row) as u32, what));
                        }
                        let element = around.shared.read(address + 2 * column as u64, 2, first + at, at)?;
                        *value |= element << (16 * half);
                    }
                }
                registers.set_bits(*to, mask, &values);
            }
            Ok(())
        }
    }
}

/// Whether all threads of the warp are there.
fn whole(mask: Mask) -> Outcome {
    match mask {
        Mask::MAX => Ok(()),
        _ => Err(Fault::new(
            mask.trailing_zeros(),
            format!("only {mask:#010x} come here, and not the whole warp"),
        )),
    }
}

fn shuffle(
    registers: &mut Registers,
    direction: Direction,
    (to, is_there): (Slot, Option<Slot>),
    from: Slot,
    [by, limits]: [Slot; 2],
    mask: Mask,
) -> Outcome {
    let (from, by) = (registers.bits(from, mask)?, registers.bits(by, mask)?);
    let limits = registers.bits(limits, mask)?;
    let (mut values, mut there) = ([0; LANES], [0; LANES]);
    for lane in lanes_of(mask) {
        let (by, clamp, segments) = (by[lane] & 31, limits[lane] & 31, limits[lane] >> 8 & 31);
        let place = lane as u64;
        let last = place & segments | clamp & !segments;
        let source = match direction {
            Direction::Up => place.checked_sub(by).filter(|source| *source >= last),
            Direction::Down => Some(place + by).filter(|source| *source <= last),
            Direction::Butterfly => Some(place ^ by).filter(|source| *source <= last),
            Direction::Index => Some(place & segments | by & !segments).filter(|source| *source <= last),
        };
        there[lane] = source.is_some().into();
        let source = source.unwrap_or(place) as usize;
        if mask >> source & 1 == 0 {
            let what = format!("it takes the number of thread {source} of the warp, which is not here");
            return Err(Fault::new(lane as u32, what));
        }
        values[lane] = from[source];
    }
    registers.set_bits(to, mask, &values);
    if let Some(is_there) = is_there {
        registers.set_bits(is_there, mask, &there);
    }
    Ok(())
}

fn vote(registers: &mut Registers, vote: Vote, to: Slot, from: Slot, negated: bool, mask: Mask) -> Outcome {
    let set = registers.predicate(from.index, mask)?;
    let set = if negated { mask & !set } else { set };
    let result = match vote {
        Vote::All => u64::from(set == mask),
        Vote::Any => u64::from(set != 0),
        Vote::Uniform => u64::from(set == mask || set == 0),
        Vote::Ballot => u64::from(set),
    };
    registers.set_bits(to, mask, &[result; LANES]);
    Ok(())
}
