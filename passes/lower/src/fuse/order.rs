//! Units in an order in which each comes after those it needs, kept while units and needs are added.
//!
//! [`Order::reaches`] answers whether one unit needs another, directly or through others, and [`Order::add_needs`] keeps
//! the positions right, as in Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic graphs* (2006):
//! only units between the two ends of a new edge are looked at, and most edges lead to a unit that stands before.

use rustc_hash::FxHashSet;

/// A unit: how many were added before it.
pub type UnitId = usize;

/// A dynamic topological order.
#[derive(Debug, Default)]
pub struct Order {
    /// The units that each needs.
    needs: Vec<FxHashSet<UnitId>>,
    /// The units that need each.
    users: Vec<FxHashSet<UnitId>>,
    /// Where each unit stands.
    position: Vec<usize>,
}

impl Order {
    /// Adds a unit after all others.
    pub fn push(&mut self, needs: &[UnitId]) -> UnitId {
        let unit = self.position.len();
        self.position.push(unit);
        self.needs.push(FxHashSet::default());
        self.users.push(FxHashSet::default());
        self.add_needs(unit, needs.iter().copied());
        unit
    }

    /// Whether one of `units` is `other`, or needs it, directly or through other units.
    pub fn reaches(&self, units: impl Iterator<Item = UnitId>, other: UnitId) -> bool {
        let from = self.position[other];
        self.closure(units, &self.needs, |next| self.position[next] >= from).contains(&other)
    }

    /// Takes note that `unit` needs others, none of which may need it.
    pub fn add_needs(&mut self, unit: UnitId, needs: impl Iterator<Item = UnitId>) {
        for need in needs {
            if self.position[need] > self.position[unit] {
                self.move_before(need, unit);
            }
            self.needs[unit].insert(need);
            self.users[need].insert(unit);
        }
    }

    /// All units, each after those it needs.
    pub fn into_order(self) -> Vec<UnitId> {
        let mut order = vec![0; self.position.len()];
        self.position.iter().enumerate().for_each(|(unit, position)| order[*position] = unit);
        order
    }

    /// Moves `need`, and what it needs, in front of `unit`, and of what needs that, within the positions that they have.
    fn move_before(&mut self, need: UnitId, unit: UnitId) {
        let (first, last) = (self.position[unit], self.position[need]);
        let before = self.closure([need].into_iter(), &self.needs, |next| self.position[next] >= first);
        let after = self.closure([unit].into_iter(), &self.users, |next| self.position[next] <= last);
        debug_assert!(!before.contains(&unit), "units that need each other have no order");
        let in_order = |units: FxHashSet<UnitId>| {
            let mut units: Vec<_> = units.into_iter().collect();
            units.sort_unstable_by_key(|unit| self.position[*unit]);
            units
        };
        let moved = [in_order(before), in_order(after)].concat();
        let mut positions: Vec<usize> = moved.iter().map(|unit| self.position[*unit]).collect();
        positions.sort_unstable();
        moved.into_iter().zip(positions).for_each(|(unit, position)| self.position[unit] = position);
    }

    /// Those of `units` that `is_between` accepts, and what is reached from them through others that it accepts.
    fn closure(
        &self,
        units: impl Iterator<Item = UnitId>,
        edges: &[FxHashSet<UnitId>],
        is_between: impl Fn(UnitId) -> bool,
    ) -> FxHashSet<UnitId> {
        let mut rest: Vec<UnitId> = units.filter(|unit| is_between(*unit)).collect();
        let mut seen = FxHashSet::from_iter(rest.iter().copied());
        while let Some(unit) = rest.pop() {
            rest.extend(edges[unit].iter().copied().filter(|next| is_between(*next) && seen.insert(*next)));
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of numbers, the same in each run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % bound
        }
    }

    /// Whether `unit` reaches `other`, by going through all edges.
    fn reaches(needs: &[Vec<UnitId>], unit: UnitId, other: UnitId) -> bool {
        unit == other || needs[unit].iter().any(|next| reaches(needs, *next, other))
    }

    #[test]
    fn random_needs_are_answered_as_by_going_through_all_edges() {
        for seed in 0..300 {
            let mut random = Random(seed);
            let (mut order, mut needs) = (Order::default(), Vec::<Vec<UnitId>>::new());
            for _ in 0..40 {
                let count = needs.len();
                if count < 2 || random.below(3) == 0 {
                    let own: Vec<_> = (0..random.below(3).min(count)).map(|_| random.below(count)).collect();
                    order.push(&own);
                    needs.push(own);
                    continue;
                }
                let (unit, need) = (random.below(count), random.below(count));
                let makes_circle = reaches(&needs, need, unit);
                assert_eq!(order.reaches([need].into_iter(), unit), makes_circle, "seed {seed}");
                if !makes_circle {
                    order.add_needs(unit, [need].into_iter());
                    needs[unit].push(need);
                }
            }
            let position = order.position.clone();
            for (unit, own) in needs.iter().enumerate() {
                assert!(own.iter().all(|need| position[*need] < position[unit]), "seed {seed}");
            }
            let mut all = order.into_order();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..needs.len()));
        }
    }
}
