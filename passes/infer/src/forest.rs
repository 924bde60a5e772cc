//! Trees of dense ids that grow at the leaves and answer questions about ancestors in logarithmic time.
//!
//! Beside its parent, each node knows one far ancestor (Myers' jump pointers): the jumps of a node and of its parent
//! are merged as the digits of a skew-binary number are, so a climb takes at most a logarithmic number of them.

/// A forest. Nodes are numbered in the order they were added.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// A root is its own parent.
    parent: u32,
    jump: u32,
    depth: u32,
}

impl Forest {
    /// Adds a root.
    pub fn add_root(&mut self) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { parent: id, jump: id, depth: 0 });
        id
    }

    /// Adds a leaf below `parent`.
    pub fn add(&mut self, parent: u32) -> u32 {
        let above = self.nodes[parent as usize];
        let far = self.nodes[above.jump as usize];
        let even = above.depth - far.depth == far.depth - self.nodes[far.jump as usize].depth;
        let jump = if even && above.jump != parent { far.jump } else { parent };
        self.nodes.push(Node { parent, jump, depth: above.depth + 1 });
        self.nodes.len() as u32 - 1
    }

    /// The furthest ancestor of `node` up to which `holds` holds, which it does for `node` and no longer from some
    /// ancestor on.
    pub fn highest(&self, mut node: u32, holds: impl Fn(u32) -> bool) -> u32 {
        loop {
            let Node { parent, jump, .. } = self.nodes[node as usize];
            if jump != node && holds(jump) {
                node = jump;
            } else if parent != node && holds(parent) {
                node = parent;
            } else {
                return node;
            }
        }
    }

    /// The ancestor of `node` at a depth that is not greater than its own.
    fn at_depth(&self, node: u32, depth: u32) -> u32 {
        self.highest(node, |ancestor| self.nodes[ancestor as usize].depth >= depth)
    }

    /// Whether `ancestor` is `node` or above it.
    pub fn is_above(&self, ancestor: u32, node: u32) -> bool {
        let depth = self.nodes[ancestor as usize].depth;
        depth <= self.nodes[node as usize].depth && self.at_depth(node, depth) == ancestor
    }

    /// The child of `ancestor` that is `node` or above it, if `ancestor` is above `node`.
    pub fn child_towards(&self, ancestor: u32, node: u32) -> u32 {
        self.at_depth(node, self.nodes[ancestor as usize].depth + 1)
    }

    /// The nearest common ancestor of two nodes of one tree.
    pub fn common(&self, a: u32, b: u32) -> u32 {
        let depth = |node: u32| self.nodes[node as usize].depth;
        let least = depth(a).min(depth(b));
        let (mut a, mut b) = (self.at_depth(a, least), self.at_depth(b, least));
        while a != b {
            // At equal depths the jumps span the same.
            let (x, y) = (self.nodes[a as usize], self.nodes[b as usize]);
            (a, b) = if x.jump == y.jump { (x.parent, y.parent) } else { (x.jump, y.jump) };
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::Forest;

    /// A tree of 1000 nodes whose shape varies, and each node's parent.
    fn tree() -> (Forest, Vec<u32>) {
        let mut forest = Forest::default();
        let mut parents = vec![forest.add_root()];
        for node in 1..1000_u32 {
            let parent = if node % 7 == 0 { node / 2 } else { node - 1 };
            assert_eq!(forest.add(parent), node);
            parents.push(parent);
        }
        (forest, parents)
    }

    fn path(parents: &[u32], mut node: u32) -> Vec<u32> {
        let mut path = vec![node];
        while parents[node as usize] != node {
            node = parents[node as usize];
            path.push(node);
        }
        path
    }

    #[test]
    fn common_ancestors_are_those_of_the_paths_to_the_root() {
        let (forest, parents) = tree();
        for a in (0..1000).step_by(13) {
            let above = path(&parents, a);
            for b in (0..1000).step_by(7) {
                let common = path(&parents, b).into_iter().find(|node| above.contains(node));
                assert_eq!(Some(forest.common(a, b)), common, "{a} {b}");
                assert_eq!(forest.is_above(b, a), above.contains(&b), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_child_leads_towards_its_descendants() {
        let (forest, parents) = tree();
        for node in (1..1000).step_by(11) {
            for pair in path(&parents, node).windows(2) {
                assert_eq!(forest.child_towards(pair[1], node), pair[0]);
            }
        }
    }

    #[test]
    fn a_climb_ends_where_the_condition_does() {
        let (forest, parents) = tree();
        for node in (0..1000).step_by(17) {
            for limit in path(&parents, node) {
                assert_eq!(forest.highest(node, |ancestor| ancestor >= limit), limit);
            }
        }
    }
}
