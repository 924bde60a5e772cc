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
        if tiles.len() > 1 {
            return None;
        }
        let is_cut =
            |(dim, size): &&(usize, i64)| kernel.dims[*dim].fixed().is_none_or(|extent| extent > *size);
        let tile = tiles.first().filter(is_cut).copied();
        // The dimensions in the order in which they are read; which of them units go through in pieces of so many indices, and how many
        // pieces there are.
        let mut order = units.to_vec();
        let cut = match kernel.chunk {
            None => tile.map(|(dim, size)| (dim, size, (kernel.dims[dim].clone(), size))),
            Some(Chunk { dim, by, length, taken: Taken::Own })
                if tile.is_none() && order.last() == Some(&by) =>
            {
                order.pop();
                Some((dim, length.fixed()?, (kernel.dims[by].clone(), 1)))
            }
            Some(_) => return None,
        };
        order.extend(cut.as_ref().map(|(dim, ..)| *dim));
        let outside = order.len();
        let by = kernel.chunk.map(|chunk| chunk.by);
        let inside = (0..kernel.dims.len()).filter(|dim| !order.contains(dim) && by != Some(*dim));
        let inside: Vec<usize> = inside.collect();
        order.extend(inside);
        let nodes = in_order(kernel, &order);
        if nodes.is_empty() {
            return None;
        }
        let within = order[outside..].iter().fold(Product::number(1), |all, dim| &all * &kernel.dims[*dim]);
        Some(match cut {
            None => Self { nodes, parts: (Product::number(1), 1), part: within.clone(), row: within },
            Some((dim, size, parts)) => {
                let (part, row) = (&within * &Product::number(size), &within * &kernel.dims[dim]);
                Self { nodes, parts, part, row }
            }
        })
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
    let reads: Vec<(NodeId, bool)> = (kernel.exprs.iter())
        .filter_map(|expr| match &expr.code {
            Code::Load(access) => Some((access.buffer, is_in_order(access))),
            Code::Take { access, .. } => Some((access.buffer, false)),
            Code::Splat(_)
            | Code::Size(_)
            | Code::Index { .. }
            | Code::Map(..)
            | Code::Convert(_)
            | Code::Reduced(_) => None,
        })
        .collect();
    let is_in_order = |node: NodeId| reads.iter().all(|(read, in_order)| *read != node || *in_order);
    let mut nodes: Vec<NodeId> =
        reads.iter().map(|(node, _)| *node).filter(|node| is_in_order(*node)).collect();
    nodes.sort();
    nodes.dedup();
    nodes
}

#[cfg(test)]
mod tests {
    use promote_lower::program::Program;

    use super::*;

    /// How units read buffers of a kernel, in words: which buffers, and how many parts, of how many elements, a row of how many has.
    fn reading(kernel: &str, units: &[usize], tiles: &[(usize, i64)]) -> Option<(Vec<u32>, String)> {
        let text = format!("numerics jax\n\nkernel @k0 {{\n{kernel}}}\n");
        let program = Program::parse(&text).expect("it is a program");
        let Reading { nodes, parts: (extent, size), part, row } =
            Reading::new(&program.kernels[0], units, tiles)?;
        let nodes = nodes.into_iter().map(|node| node.0).collect();
        Some((nodes, format!("{extent:?} by {size}, {part:?} of {row:?}")))
    }

    fn numbers(extent: i64, size: i64, part: i64, row: i64) -> String {
        let [extent, part, row] = [extent, part, row].map(Product::number);
        format!("{extent:?} by {size}, {part:?} of {row:?}")
    }

    const ROWS: &str = "  dims [30, 40, 50]
  form rows reduced 1
  e0 = load b0[2000*d0 + 50*d1 + d2] : f32 over [d0, d1, d2] stage 0 node 0
  e1 = load b1[d2] : f32 over [d2] stage 0 node 1
  e2 = promote.multiply e0, e1 : f32 over [d0, d1, d2] stage 0 node 2
  r0 = reduce sum e2 to b2[40*d0 + d1] node 3
";

    #[test]
    fn a_unit_reads_a_row_or_a_tile_of_rows() {
        // What is read again for each row is not read in order.
        assert_eq!(reading(ROWS, &[0, 1], &[]), Some((vec![0], numbers(1, 1, 50, 50))));
        assert_eq!(reading(ROWS, &[0], &[(1, 16)]), Some((vec![0], numbers(40, 16, 800, 2000))));
        assert_eq!(reading(ROWS, &[0], &[(1, 64)]), Some((vec![0], numbers(1, 1, 2000, 2000))));
        // Units in another order than memory.
        assert_eq!(reading(ROWS, &[1, 0], &[]), None);
        assert_eq!(reading(ROWS, &[1], &[(0, 16)]), None);
        assert_eq!(reading(ROWS, &[], &[(1, 16), (0, 16)]), None);
        let again = ROWS.replace("b1[d2] : f32 over [d2]", "b0[40*d0 + d1] : f32 over [d0, d1]");
        assert_eq!(reading(&again, &[0, 1], &[]), None);
        let shifted = ROWS.replace("b0[2000*d0", "b0[1 + 2000*d0");
        assert_eq!(reading(&shifted, &[0, 1], &[]), None);
    }

    #[test]
    fn a_unit_reads_a_part_of_a_row() {
        let rows = "  dims [30, 7, 50]
  form rows reduced 1
  chunk d2 by d1 length 8
  e0 = load b0[50*d0 + d2] : f32 over [d0, d2] stage 0 node 0
  r0 = reduce sum e0 to b1[30*d1 + d0] node 1
";
        assert_eq!(reading(rows, &[0, 1], &[]), Some((vec![0], numbers(7, 1, 8, 50))));
        assert_eq!(reading(rows, &[1, 0], &[]), None);
        let columns = "  dims [7, 50, 60]
  form columns outer 1 reduced 1
  chunk d1 by d0 length 8
  e0 = load b0[60*d1 + d2] : f32 over [d1, d2] stage 0 node 0
  r0 = reduce sum e0 to b1[60*d0 + d2] node 1
";
        assert_eq!(reading(columns, &[0], &[(2, 64)]), Some((vec![0], numbers(7, 1, 480, 3000))));
        assert_eq!(reading(columns, &[0], &[(2, 32)]), None);
    }
}
