//! What a launch needs to know of a kernel that was compiled.

use promote_dialect::extent::{Product, Sum};
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Code as What, Kernel};

use crate::code::Parameter;

/// What a kernel takes, in the order of its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// 32 bits for the [number](crate::Code::note_at) of the first exception.
    Exceptions,
    /// What is added to the numbers of the launch's exceptions.
    Base,
    /// The buffer of a node.
    Buffer(NodeId),
    /// A number of elements or indices.
    Number(Sum),
}

impl Slot {
    /// What kind of parameter it is.
    pub const fn parameter(&self) -> Parameter {
        match self {
            Self::Exceptions | Self::Buffer(_) => Parameter::Memory,
            Self::Base | Self::Number(_) => Parameter::Word,
        }
    }

    /// What a kernel takes: exceptions, if it may raise any, what it accesses, and each number of its symbols.
    pub(crate) fn of(kernel: &Kernel, units: &Product, raises: bool) -> Vec<Self> {
        let mut slots = if raises { vec![Self::Exceptions, Self::Base] } else { Vec::new() };
        let mut buffers: Vec<NodeId> = kernel.accessed().collect();
        buffers.sort_unstable();
        buffers.dedup();
        slots.extend(buffers.into_iter().map(Self::Buffer));
        let mut add = |sum: Sum| {
            let slot = Self::Number(sum);
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        };
        let mut number = |product: &Product| {
            if product.fixed().is_none() {
                add(Sum(vec![product.clone()]));
            }
        };
        kernel.dims.iter().chain([units]).for_each(&mut number);
        for expr in &kernel.exprs {
            expr.code.strides().into_iter().flatten().for_each(&mut number);
            match &expr.code {
                What::Size(product) => number(product),
                What::Take { stride, extent, .. } => {
                    number(stride);
                    number(&(*extent).into());
                }
                What::Splat(_)
                | What::Index { .. }
                | What::Load(_)
                | What::Map(..)
                | What::Convert(_)
                | What::Reduced(_) => {}
            }
        }
        let sinks = || kernel.roots.iter().flat_map(|root| &root.sinks);
        sinks().flat_map(|sink| &sink.strides).for_each(&mut number);
        if let Some(chunk) = kernel.chunk {
            number(&chunk.length.into());
        }
        let offsets = kernel.exprs.iter().filter_map(|expr| match &expr.code {
            What::Load(access) | What::Take { access, .. } => Some(&access.offset),
            What::Index { offset, .. } => Some(offset),
            What::Splat(_) | What::Size(_) | What::Map(..) | What::Convert(_) | What::Reduced(_) => None,
        });
        for offset in offsets.chain(sinks().map(|sink| &sink.offset)) {
            if offset.fixed().is_none() {
                add(offset.clone());
            }
        }
        slots
    }
}

/// How many groups of threads a launch has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// The threads of a group.
    pub threads: u32,
    /// How many units of work there are.
    pub units: Product,
    /// How many of them a group does at once. Fewer groups than the units ask for do several times as many.
    pub per_group: i64,
    /// The loops of a unit.
    pub loops: Loops,
}

/// How often the loops of a unit run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loops {
    /// How often those around the innermost one.
    pub outer: Product,
    /// How many steps the innermost one has.
    pub inner: Product,
    /// How many of them the threads of a team take at once.
    pub at_once: i64,
    /// How many such steps are a block, at least: the loop around goes through those.
    pub block: i64,
}

impl Loops {
    /// Rows and columns are added up in longer blocks.
    pub(crate) const BLOCK: i64 = 16;

    /// None, but those of elements.
    pub(crate) const NONE: Self =
        Self { outer: Product::number(1), inner: Product::number(1), at_once: 1, block: Self::BLOCK };
}

impl Geometry {
    /// About how many times a thread goes through its loops, at most, in so many units, and such extents of its loops.
    pub fn iterations(&self, units: i64, (outer, inner): (i64, i64), groups: u32) -> i64 {
        /// Loops of elements.
        const OTHERS: i64 = 1024;
        let rounds = units / (self.per_group.max(1) * i64::from(groups.max(1))) + 1;
        let steps = inner / self.loops.at_once.max(1);
        // Blocks of steps are loops, too, and so is what fills no vector.
        let blocks = steps / self.loops.block.max(1);
        let inner = steps.saturating_add(blocks).saturating_add(self.loops.at_once.min(inner) + 3);
        rounds.saturating_mul(outer.saturating_mul(inner).saturating_add(OTHERS))
    }

    /// The number of groups for so many units, of the most that a device has.
    pub fn groups(&self, units: i64, most: u32) -> u32 {
        let groups = (units.max(0) as u64).div_ceil(self.per_group.max(1) as u64);
        u32::try_from(groups).unwrap_or(u32::MAX).min(most)
    }
}

/// A kernel in the code of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name there.
    pub name: String,
    /// What it takes.
    pub slots: Vec<Slot>,
    /// How it is launched.
    pub geometry: Geometry,
}
