//! Kernels by what they compute: buffers and symbols numbered in the order in which a kernel names them.
//!
//! Two kernels whose [`Canonical::kernel`]s are equal do the same to other buffers, with other extents, so one piece of code
//! serves both. [`Names`] says what the numbers stand for in each.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::graph::NodeId;
use super::kernel::{Access, Code, Kernel};
use promote_dialect::extent::{Extent, Product, Sum, Symbol};

/// A kernel in canonical form.
#[derive(Debug)]
pub struct Canonical {
    /// The kernel, with numbers for its nodes and symbols.
    pub kernel: Kernel,
    /// What they stand for.
    pub names: Names,
}

/// The nodes and symbols of a kernel, in the order in which it names them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    nodes: Numbered<NodeId>,
    symbols: Numbered<Symbol>,
}

/// Items, and the number of each.
#[derive(Clone, Debug)]
struct Numbered<T> {
    items: Vec<T>,
    numbers: FxHashMap<T, u32>,
}

impl Canonical {
    /// Of a kernel.
    pub fn new(kernel: &Kernel) -> Self {
        let (mut kernel, mut names) = (kernel.clone(), Names::default());
        kernel.dims.iter_mut().for_each(|extent| names.number_product(extent));
        if let Some(chunk) = &mut kernel.chunk {
            names.number_extent(&mut chunk.length);
        }
        for expr in &mut kernel.exprs {
            names.number_node(&mut expr.node);
            match &mut expr.code {
                Code::Splat(_) | Code::Map(..) | Code::Convert(_) | Code::Reduced(_) => {}
                Code::Size(product) => names.number_product(product),
                Code::Index { strides, offset } => {
                    strides.iter_mut().for_each(|stride| names.number_product(stride));
                    names.number_sum(offset);
                }
                Code::Load(access) => names.number_access(access),
                Code::Take { access, index: _, stride, extent } => {
                    names.number_access(access);
                    names.number_product(stride);
                    names.number_extent(extent);
                }
            }
        }
        for root in &mut kernel.roots {
            names.number_node(&mut root.node);
            root.sinks.iter_mut().for_each(|sink| names.number_access(sink));
        }
        Self { kernel, names }
    }
}

impl Names {
    /// The nodes of all numbers.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes.items
    }

    /// The symbols of all numbers.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols.items
    }

    fn number_node(&mut self, node: &mut NodeId) {
        *node = NodeId(self.nodes.number(*node));
    }

    fn number_symbol(&mut self, symbol: &mut Symbol) {
        *symbol = Symbol(self.symbols.number(*symbol));
    }

    fn number_extent(&mut self, extent: &mut Extent) {
        match extent {
            Extent::Fixed(_) => {}
            Extent::Of(symbol) => self.number_symbol(symbol),
        }
    }

    fn number_product(&mut self, product: &mut Product) {
        product.symbols.iter_mut().for_each(|symbol| self.number_symbol(symbol));
        product.symbols.sort_unstable();
    }

    fn number_sum(&mut self, sum: &mut Sum) {
        sum.0.iter_mut().for_each(|product| self.number_product(product));
    }

    fn number_access(&mut self, access: &mut Access) {
        self.number_node(&mut access.buffer);
        access.strides.iter_mut().for_each(|stride| self.number_product(stride));
        self.number_sum(&mut access.offset);
    }
}

impl<T: Copy + Eq + Hash> Numbered<T> {
    /// The number of an item, a new one if it has none.
    fn number(&mut self, item: T) -> u32 {
        *self.numbers.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as u32 - 1
        })
    }
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: FxHashMap::default() }
    }
}
