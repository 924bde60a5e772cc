//! Dominance: which blocks every way to a block leads through, and which loops a block stands in.
//!
//! [`Dominance::new`] looks at the blocks of a [`Graph`] once. A region's first block is dominated by the block that
//! contains the region, so one tree holds all blocks of nested regions and of branches alike.
//!
//! ## Algorithms
//! - Dominators: semidominators with path compression, then nearest common ancestors (Georgiadis' SEMI-NCA).
//! - Loops: Havlak's nesting forest with union-find, which has irreducible loops too; and the regions of loop ops.
//!
//! ## Laws
//! - Every block has a place in the tree, dead ones too: below the first block of their region.
//! - What stands outside of a loop, at [`Dominance::outside_loops`], dominates the loop.

use super::forest::Forest;
use super::graph::{BlockId, Graph};

const NONE: u32 = u32::MAX;

/// The dominator tree of a graph's blocks and the loops that contain them.
#[derive(Debug)]
pub struct Dominance {
    tree: Forest,
    /// The tree's node of each block.
    nodes: Vec<u32>,
    /// The block of each node but the root.
    blocks: Vec<BlockId>,
    /// The innermost loop that contains each block.
    loops: Vec<u32>,
    /// The loops, each below the one that contains what is outside of it.
    exits: Forest,
    /// For each loop, the last block that dominates it and is not in it. The first is no loop: what is in none.
    outside: Vec<BlockId>,
}

impl Dominance {
    /// The dominance of a graph's blocks.
    pub fn new(graph: &Graph) -> Self {
        let search = Search::new(graph);
        let idoms = dominators(&search);
        let mut tree = Forest::default();
        tree.add_root();
        for idom in &idoms[1..] {
            tree.add(*idom);
        }
        let mut nodes = vec![0; graph.blocks().len()];
        let blocks: Vec<BlockId> = search.order[1..].iter().map(|vertex| BlockId(vertex - 1)).collect();
        for (index, block) in blocks.iter().enumerate() {
            nodes[block.0 as usize] = index as u32 + 1;
        }
        let mut dominance =
            Self { tree, nodes, blocks, loops: Vec::new(), exits: Forest::default(), outside: Vec::new() };
        dominance.find_loops(graph, &search);
        dominance
    }

    fn node(&self, block: BlockId) -> u32 {
        self.nodes[block.0 as usize]
    }

    fn block(&self, node: u32) -> Option<BlockId> {
        node.checked_sub(1).map(|index| self.blocks[index as usize])
    }

    /// Whether every way to `block` leads through `dominator`, which may be the same.
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        dominator == block || self.tree.is_above(self.node(dominator), self.node(block))
    }

    /// The nearest block that dominates both, if they stand in one function.
    pub fn common(&self, a: BlockId, b: BlockId) -> Option<BlockId> {
        self.block(self.tree.common(self.node(a), self.node(b)))
    }

    /// The block right below `dominator` that dominates `block`, which `dominator` does.
    pub fn next_towards(&self, dominator: BlockId, block: BlockId) -> BlockId {
        self.block(self.tree.child_towards(self.node(dominator), self.node(block))).unwrap_or(block)
    }

    /// The nearest block that dominates `block` and is in no loop that `definition`, which dominates `block`, is not in.
    pub fn outside_loops(&self, block: BlockId, definition: BlockId) -> BlockId {
        let innermost = self.loops[block.0 as usize];
        let leaves = |of: u32| of != 0 && self.dominates(definition, self.outside[of as usize]);
        if !leaves(innermost) {
            return block;
        }
        self.outside[self.exits.highest(innermost, leaves) as usize]
    }

    /// Finds the loops of branches, and lays them and the regions of loop ops into one forest, region by region.
    fn find_loops(&mut self, graph: &Graph, search: &Search) {
        let nests = Nests::new(&self.tree, search);
        self.exits.add_root();
        self.outside.push(BlockId(0));
        self.loops = vec![0; graph.blocks().len()];
        // The loop of each header, once it is added: inner ones are found first, and added last.
        let mut ids = vec![0; search.order.len()];
        for index in 1..search.order.len() {
            let block = BlockId(search.order[index] - 1);
            let info = graph.block(block);
            let parent = match nests.header[index] {
                NONE if info.entry == block => match info.parent {
                    Some(parent) if info.repeats => self.add_loop(parent),
                    Some(parent) => self.loops[parent.0 as usize],
                    None => 0,
                },
                NONE => self.loops[info.entry.0 as usize],
                header => ids[header as usize],
            };
            ids[index] = match nests.outside[index] {
                NONE => parent,
                outside => self.add_loop(BlockId(search.order[outside as usize] - 1)),
            };
            self.loops[block.0 as usize] = ids[index];
        }
    }

    fn add_loop(&mut self, outside: BlockId) -> u32 {
        self.outside.push(outside);
        self.exits.add(self.loops[outside.0 as usize])
    }
}

/// A depth-first search of all blocks, from a root in front of them. Vertex 0 is the root, vertex n + 1 block n.
struct Search {
    /// The vertices in the order they were met.
    order: Vec<u32>,
    /// For each, in that order, what it was met from.
    from: Vec<u32>,
    /// For each, in that order, the last that was met below it.
    last: Vec<u32>,
    /// For each, in that order, what leads to it.
    before: Vec<Vec<u32>>,
    /// For each, in that order, the branches among what leads to it.
    branches: Vec<Vec<u32>>,
}

impl Search {
    fn new(graph: &Graph) -> Self {
        let blocks = graph.blocks();
        let count = blocks.len() + 1;
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (index, block) in blocks.iter().enumerate() {
            if block.entry.0 as usize == index {
                next[block.parent.map_or(0, |parent| parent.0 as usize + 1)].push(index as u32 + 1);
            }
        }
        for (from, to) in graph.branches() {
            next[from.0 as usize + 1].push(to.0 + 1);
        }
        let mut search = Self {
            order: Vec::with_capacity(count),
            from: Vec::with_capacity(count),
            last: vec![0; count],
            before: vec![Vec::new(); count],
            branches: vec![Vec::new(); count],
        };
        let mut numbers = vec![NONE; count];
        search.walk(0, 0, &next, &mut numbers);
        let live = search.order.len() as u32;
        for vertex in 1..count {
            if numbers[vertex] == NONE {
                // A dead block: as if its region's first block led to it.
                let entry = blocks[vertex - 1].entry.0 as usize + 1;
                next[entry].push(vertex as u32);
                let from = numbers[entry];
                search.walk(vertex as u32, from, &next, &mut numbers);
            }
        }
        // A dead block does not lead to a live one.
        let counts = |from: u32, to: u32| from < live || to >= live;
        for (vertex, next) in next.iter().enumerate() {
            for (from, to) in next.iter().map(|to| (numbers[vertex], numbers[*to as usize])) {
                if counts(from, to) {
                    search.before[to as usize].push(from);
                }
            }
        }
        for (from, to) in graph.branches() {
            let number = |block: BlockId| numbers[block.0 as usize + 1];
            if counts(number(*from), number(*to)) {
                search.branches[number(*to) as usize].push(number(*from));
            }
        }
        search
    }

    fn walk(&mut self, start: u32, from: u32, next: &[Vec<u32>], numbers: &mut [u32]) {
        let mut stack: Vec<(u32, usize)> = Vec::new();
        self.meet(start, from, numbers);
        stack.push((start, 0));
        while let Some((vertex, at)) = stack.last_mut() {
            let (here, number) = (*vertex, numbers[*vertex as usize]);
            match next[here as usize].get(*at) {
                Some(to) => {
                    *at += 1;
                    if numbers[*to as usize] == NONE {
                        self.meet(*to, number, numbers);
                        stack.push((*to, 0));
                    }
                }
                None => {
                    self.last[number as usize] = self.order.len() as u32 - 1;
                    stack.pop();
                }
            }
        }
    }

    fn meet(&mut self, vertex: u32, from: u32, numbers: &mut [u32]) {
        numbers[vertex as usize] = self.order.len() as u32;
        self.order.push(vertex);
        self.from.push(from);
    }

    /// Whether `below` was met from `above`, by some steps or none.
    fn is_below(&self, below: u32, above: u32) -> bool {
        above <= below && below <= self.last[above as usize]
    }
}

/// The immediate dominator of each vertex, all by their numbers in the search.
fn dominators(search: &Search) -> Vec<u32> {
    let count = search.order.len();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut label = semi.clone();
    let mut above = search.from.clone();
    let mut path = Vec::new();
    for vertex in (1..count as u32).rev() {
        let mut least = search.from[vertex as usize];
        for before in &search.before[vertex as usize] {
            // Those met later have their semidominators: the least on the way up to what is not done yet.
            let mut at = *before;
            if at > vertex {
                while above[at as usize] > vertex {
                    path.push(at);
                    at = above[at as usize];
                }
                let mut best = label[at as usize];
                let top = above[at as usize];
                while let Some(below) = path.pop() {
                    best = best.min(label[below as usize]);
                    label[below as usize] = best;
                    above[below as usize] = top;
                }
                least = least.min(best);
            } else {
                least = least.min(at);
            }
        }
        semi[vertex as usize] = least;
        label[vertex as usize] = least;
    }
    let mut idom = search.from.clone();
    for vertex in 1..count {
        while idom[vertex] > semi[vertex] {
            idom[vertex] = idom[idom[vertex] as usize];
        }
    }
    idom
}

/// The loops that branches make, by the numbers of the search.
struct Nests {
    /// For each vertex, the header of the innermost loop that contains it, itself apart.
    header: Vec<u32>,
    /// For each header, the last vertex that dominates its loop and is not in it.
    outside: Vec<u32>,
}

impl Nests {
    fn new(tree: &Forest, search: &Search) -> Self {
        let count = search.order.len();
        let mut nests = Self { header: vec![NONE; count], outside: vec![NONE; count] };
        let mut collapsed: Vec<u32> = (0..count as u32).collect();
        // What leads into a header's loop otherwise than through the header.
        let mut entering: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut body = Vec::new();
        for header in (1..count as u32).rev() {
            let (back, into): (Vec<u32>, Vec<u32>) =
                search.branches[header as usize].iter().partition(|from| search.is_below(**from, header));
            if back.is_empty() {
                continue;
            }
            body.clear();
            let add = |member: u32, body: &mut Vec<u32>, nests: &mut Self| {
                if member != header && nests.header[member as usize] == NONE {
                    nests.header[member as usize] = header;
                    body.push(member);
                }
            };
            for from in back {
                add(find(&mut collapsed, from), &mut body, &mut nests);
            }
            let mut done = 0;
            while let Some(member) = body.get(done).copied() {
                done += 1;
                let others = std::mem::take(&mut entering[member as usize]);
                let branches = search.branches[member as usize].iter().copied();
                for from in branches.chain(others).filter(|from| !search.is_below(*from, member)) {
                    let whole = find(&mut collapsed, from);
                    match search.is_below(whole, header) {
                        true => add(whole, &mut body, &mut nests),
                        false => entering[header as usize].push(from),
                    }
                }
            }
            body.iter().for_each(|member| collapsed[*member as usize] = header);
            let into = into.iter().chain(&entering[header as usize]);
            let outside = into.fold(search.from[header as usize], |a, b| tree.common(a, *b));
            nests.outside[header as usize] = outside;
        }
        nests
    }
}

/// The header that a vertex was collapsed into, or itself.
fn find(collapsed: &mut [u32], vertex: u32) -> u32 {
    let mut top = vertex;
    while collapsed[top as usize] != top {
        top = collapsed[top as usize];
    }
    let mut at = vertex;
    while collapsed[at as usize] != top {
        at = std::mem::replace(&mut collapsed[at as usize], top);
    }
    top
}

#[cfg(test)]
mod tests {
    use super::super::graph::{BlockId, Graph, Region};
    use super::Dominance;

    /// Numbers that look random, from a seed.
    fn random(seed: &mut u64, below: usize) -> usize {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % below
    }

    /// A region of up to 10 blocks that branch anywhere but to the first.
    fn region(seed: u64) -> (Graph, Vec<Vec<usize>>) {
        let mut seed = seed;
        let count = 2 + random(&mut seed, 9);
        let mut graph = Graph::default();
        let entry = graph.add_block(Region::Outer);
        (1..count).for_each(|_| _ = graph.add_block(Region::Of(entry)));
        let mut next = vec![Vec::new(); count];
        for (from, next) in next.iter_mut().enumerate() {
            for _ in 0..random(&mut seed, 3) + usize::from(from == 0) {
                let to = 1 + random(&mut seed, count - 1);
                graph.add_branch(BlockId(from as u32), BlockId(to as u32));
                next.push(to);
            }
        }
        (graph, next)
    }

    /// What `from` leads to in a step or more, not through `without`.
    fn reached(next: &[Vec<usize>], from: usize, without: Option<usize>) -> Vec<bool> {
        let mut reached = vec![false; next.len()];
        let mut rest: Vec<usize> = next[from].clone();
        while let Some(block) = rest.pop() {
            if Some(block) != without && !std::mem::replace(&mut reached[block], true) {
                rest.extend(&next[block]);
            }
        }
        reached
    }

    #[test]
    fn dominators_are_those_without_which_a_block_is_not_reached() {
        for seed in 0..5000 {
            let (graph, next) = region(seed);
            let dominance = Dominance::new(&graph);
            let live = reached(&next, 0, None);
            for a in 1..next.len() {
                let without = reached(&next, 0, Some(a));
                for b in (1..next.len()).filter(|b| live[*b]) {
                    let found = dominance.dominates(BlockId(a as u32), BlockId(b as u32));
                    assert_eq!(found, a == b || live[a] && !without[b], "seed {seed}, {a} and {b}: {next:?}");
                }
            }
        }
    }

    #[test]
    fn outside_of_loops_is_the_nearest_dominator_that_runs_once_a_run_of_the_definition() {
        for seed in 0..5000 {
            let (graph, next) = region(seed);
            let dominance = Dominance::new(&graph);
            let live = reached(&next, 0, None);
            let live = |block: &usize| *block == 0 || live[*block];
            let dominates = |a: usize, b: usize| dominance.dominates(BlockId(a as u32), BlockId(b as u32));
            for definition in (0..next.len()).filter(live) {
                let once =
                    |block: usize| block == definition || !reached(&next, block, Some(definition))[block];
                for block in (0..next.len()).filter(live).filter(|block| dominates(definition, *block)) {
                    let found =
                        dominance.outside_loops(BlockId(block as u32), BlockId(definition as u32)).0 as usize;
                    assert!(once(found), "seed {seed}, {definition} to {block}: {found} of {next:?}");
                    assert!(dominates(definition, found) && dominates(found, block));
                    let between =
                        (0..next.len()).filter(live).filter(|b| dominates(found, *b) && dominates(*b, block));
                    let mut nearer = between.filter(|between| *between != found && once(*between));
                    assert_eq!(
                        nearer.next(),
                        None,
                        "seed {seed}, {definition} to {block}: {found} of {next:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn regions_of_loops_are_left_and_those_of_conditions_are_not() {
        let mut graph = Graph::default();
        let outer = graph.add_block(Region::Outer);
        let condition = graph.add_block(Region::In { parent: outer, repeats: false });
        let body = graph.add_block(Region::In { parent: condition, repeats: true });
        let inner = graph.add_block(Region::In { parent: body, repeats: false });
        let dominance = Dominance::new(&graph);
        assert_eq!(dominance.outside_loops(inner, outer), condition);
        assert_eq!(dominance.outside_loops(inner, body), inner);
        assert_eq!(dominance.common(inner, body), Some(body));
        assert_eq!(dominance.next_towards(condition, inner), body);
    }
}
