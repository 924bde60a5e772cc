//! What kernels read in the order of row-major memory, a run of it for each unit of work.
//!
//! Of an argument that lies in another order the run time makes such runs as they are read: they stay in the caches.

use promote_dialect::extent::Product;
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Access, Chunk, Code, Kernel, Taken};

/// How the units of work of a kernel go through what it reads in order.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What is read so.
    pub nodes: Vec<NodeId>,
    /// How many units read a row, one after the other: an extent, cut into pieces of so many indices.
    pub parts: (Product, i64),
    /// How many elements each of them reads. The last one may read fewer.
    pub part: Product,
    /// How many elements a row has. The next units read the next row.
    pub row: Product,
}

impl Reading {
    /// What a kernel reads so, given the dimensions that units and then tiles are numbered by, the last one fastest, and how many
    /// indices a tile has.
    pub(super) fn new(kernel: &Kernel, units: &[usize], tiles: &[(usize, i64)]) -> Option<Self> {
        let is_one =
            |(dim, size): &(usize, i64)| kernel.dims[*dim].fixed().is_some_and(|extent| extent <= *size);
        let tile = match tiles {
            [] => None,
            [tile] => Some(tile).filter(|tile| !is_one(tile)),
            _ => return None,
        };
        // The dimensions in the order in which they are read, and how many of them units are numbered by.
        let mut order = units.to_vec();
        let cut = match (kernel.chunk, tile) {
            (None, tile) => tile.copied(),
            (Some(Chunk { dim, by, length, taken: Taken::Own }), None) if units.last() == Some(&by) => {
                order.pop();
                Some((dim, length.fixed()?))
            }
            (Some(_), _) => return None,
        };
        order.extend(cut.map(|(dim, _)| dim));
        let outside = order.len();
        let by = kernel.chunk.map(|chunk| chunk.by);
        let inside = (0..kernel.dims.len()).filter(|dim| !order.contains(dim) && by != Some(*dim));
        let inside: Vec<usize> = inside.collect();
        order.extend(&inside);
        let count =
            |dims: &[usize]| dims.iter().fold(Product::number(1), |all, dim| &all * &kernel.dims[*dim]);
        let within = count(&order[outside..]);
        let nodes = in_order(kernel, &order);
        let (parts, part, row) = match (cut, kernel.chunk) {
            (None, _) => ((Product::number(1), 1), within.clone(), within),
            (Some((dim, size)), None) => (
                (kernel.dims[dim].clone(), size),
                &within * &Product::number(size),
                &within * &kernel.dims[dim],
            ),
            (Some((dim, length)), Some(chunk)) => (
                (kernel.dims[chunk.by].clone(), 1),
                &within * &Product::number(length),
                &within * &kernel.dims[dim],
            ),
        };
        (!nodes.is_empty()).then_some(Self { nodes, parts, part, row })
    }
}

/// The nodes that are read in the order of dimensions, each of their elements once, and not otherwise.
fn in_order(kernel: &Kernel, order: &[usize]) -> Vec<NodeId> {
    let is_in_order = |access: &Access| {
        let mut next = Product::number(1);
        access.offset.fixed() == Some(0)
            && order.iter().rev().all(|dim| {
                let lies = kernel.dims[*dim].fixed() == Some(1) || access.strides[*dim] == next;
                next = &next * &kernel.dims[*dim];
                lies
            })
    };
    let loads = kernel.exprs.iter().filter_map(|expr| match &expr.code {
        Code::Load(access) if is_in_order(access) => Some(access.buffer),
        _ => None,
    });
    let is_read_otherwise = |node: NodeId| {
        kernel.exprs.iter().any(|expr| match &expr.code {
            Code::Load(access) => access.buffer == node && !is_in_order(access),
            Code::Take { access, .. } => access.buffer == node,
            Code::Splat(_)
            | Code::Size(_)
            | Code::Index { .. }
            | Code::Map(..)
            | Code::Convert(_)
            | Code::Reduced(_) => false,
        })
    };
    let mut nodes: Vec<NodeId> = loads.filter(|node| !is_read_otherwise(*node)).collect();
    nodes.sort();
    nodes.dedup();
    nodes
}
