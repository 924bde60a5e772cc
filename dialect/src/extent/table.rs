//! Tables of extents: the rules of symbols, and what is known to be equal.

use rustc_hash::{FxHashMap, FxHashSet};

use super::compute::known;
use super::{Extent, Product, Symbol};

/// How many extents a rule names at most of those that broadcast: such a rule of such rules names them itself.
const MAX_PARTS: usize = 16;

/// How a symbol is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The extent of a value along an axis; the number is of who made the table.
    Axis(u32, usize),
    /// The index of the last of so many elements.
    Last(Extent),
    /// The first index of a Python slice.
    SliceStart {
        /// The extent sliced.
        extent: Extent,
        /// As written.
        start: i64,
        /// As written.
        step: i64,
    },
    /// How many elements a Python slice has.
    SliceCount {
        /// The extent sliced.
        extent: Extent,
        /// As written.
        start: i64,
        /// As written.
        stop: i64,
        /// As written.
        step: i64,
    },
    /// Extents added up.
    Total(Vec<Extent>),
    /// The product of extents divided by others': what -1 means in `reshape`.
    Quotient(Product, Product),
    /// Of several extents the first that is not 1, else 1.
    Broadcast(Vec<Extent>),
    /// 0 if the extent is 1, else 1: the step of a dimension that may be stretched.
    Stretch(Extent),
    /// Into how many parts of about `length` elements a reduction of `count` elements is cut: 1 to `most`.
    Parts {
        /// How many elements there are.
        count: Product,
        /// About how many a part has.
        length: i64,
        /// The most parts.
        most: i64,
    },
    /// How many indices each of some parts of an extent has.
    PartLength {
        /// The extent that is cut.
        extent: Extent,
        /// Into how many.
        parts: Extent,
    },
}

impl Rule {
    /// The extents that it computes its own of.
    fn parts(&self) -> Vec<Extent> {
        let of = |products: &[&Product]| {
            let symbols = products.iter().flat_map(|product| &product.symbols);
            symbols.map(|symbol| Extent::Of(*symbol)).collect()
        };
        match self {
            Self::Axis(..) => Vec::new(),
            Self::Last(extent)
            | Self::SliceStart { extent, .. }
            | Self::SliceCount { extent, .. }
            | Self::Stretch(extent) => vec![*extent],
            Self::Total(extents) | Self::Broadcast(extents) => extents.clone(),
            Self::Quotient(product, by) => of(&[product, by]),
            Self::Parts { count, .. } => of(&[count]),
            Self::PartLength { extent, parts } => vec![*extent, *parts],
        }
    }
}

/// The symbols of a program: how each is computed, and what it is known to be equal to.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    /// Each after those it needs.
    rules: Vec<Rule>,
    symbols: FxHashMap<Rule, Symbol>,
    /// How many rules are needed one after the other.
    depths: Vec<u32>,
    /// What symbols are known to be equal to, if to something else.
    equal: Vec<Option<Extent>>,
}

impl Extents {
    /// How many symbols there are.
    pub const fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// How a symbol is computed.
    pub fn rule(&self, symbol: Symbol) -> &Rule {
        &self.rules[symbol.0 as usize]
    }

    /// The extent that a rule gives.
    pub fn of(&mut self, rule: Rule) -> Extent {
        let rule = match self.simplified(rule) {
            Ok(rule) => rule,
            Err(extent) => return self.resolve(extent),
        };
        let symbol = match self.symbols.get(&rule) {
            Some(symbol) => *symbol,
            None => {
                let symbol = Symbol(self.rules.len() as u32);
                let depth = rule.parts().iter().map(|part| self.depth(*part)).max();
                self.depths.push(depth.unwrap_or(0) + 1);
                self.rules.push(rule.clone());
                self.equal.push(None);
                self.symbols.insert(rule, symbol);
                symbol
            }
        };
        self.resolve(Extent::Of(symbol))
    }

    /// How many rules are needed one after the other to compute an extent.
    pub fn depth(&self, extent: Extent) -> u32 {
        match extent {
            Extent::Fixed(_) => 0,
            Extent::Of(symbol) => self.depths[symbol.0 as usize],
        }
    }

    /// The axes of values that an extent is computed of, each once.
    pub fn axes(&self, extent: Extent) -> Vec<(u32, usize)> {
        let (mut axes, mut seen, mut open) = (Vec::new(), FxHashSet::default(), vec![extent]);
        while let Some(next) = open.pop() {
            let Extent::Of(symbol) = next else { continue };
            match self.rule(symbol) {
                _ if !seen.insert(symbol) => {}
                Rule::Axis(of, axis) => axes.push((*of, *axis)),
                rule => open.extend(rule.parts()),
            }
        }
        axes
    }

    /// A rule with what is known of its extents.
    fn resolved(&self, rule: Rule) -> Rule {
        let resolve = |extent: Extent| self.resolve(extent);
        let all = |extents: Vec<Extent>| extents.into_iter().map(resolve).collect();
        match rule {
            Rule::Axis(..) => rule,
            Rule::Last(extent) => Rule::Last(resolve(extent)),
            Rule::SliceStart { extent, start, step } => {
                Rule::SliceStart { extent: resolve(extent), start, step }
            }
            Rule::SliceCount { extent, start, stop, step } => {
                Rule::SliceCount { extent: resolve(extent), start, stop, step }
            }
            Rule::Total(extents) => Rule::Total(all(extents)),
            Rule::Quotient(product, by) => Rule::Quotient(self.simplify(&product), self.simplify(&by)),
            Rule::Broadcast(extents) => Rule::Broadcast(all(extents)),
            Rule::Stretch(extent) => Rule::Stretch(resolve(extent)),
            Rule::Parts { count, length, most } => Rule::Parts { count: self.simplify(&count), length, most },
            Rule::PartLength { extent, parts } => {
                Rule::PartLength { extent: resolve(extent), parts: resolve(parts) }
            }
        }
    }

    /// The rule in the form that all equal ones have, or the extent that it gives if that needs no rule.
    fn simplified(&self, rule: Rule) -> Result<Rule, Extent> {
        let rule = self.resolved(rule);
        if let Some(known) = known(&rule) {
            return Err(Extent::Fixed(known));
        }
        Ok(match rule {
            Rule::SliceCount { extent, start: 0 | i64::MIN, stop: i64::MAX, step: 1 }
            | Rule::SliceCount { extent, start: -1 | i64::MAX, stop: i64::MIN, step: -1 } => {
                return Err(extent);
            }
            Rule::Total(mut extents) => {
                let number = extents.iter().filter_map(|extent| extent.fixed()).fold(0, i64::wrapping_add);
                extents.retain(|extent| extent.fixed().is_none());
                extents.sort_unstable();
                match (&extents[..], number) {
                    ([extent], 0) => return Err(*extent),
                    (_, 0) => {}
                    _ => extents.push(Extent::Fixed(number)),
                }
                Rule::Total(extents)
            }
            Rule::Quotient(product, by) => self.quotient(&product, by)?,
            Rule::Broadcast(extents) => self.broadcasted(extents)?,
            Rule::Axis(..)
            | Rule::Last(_)
            | Rule::SliceStart { .. }
            | Rule::SliceCount { .. }
            | Rule::Stretch(_)
            | Rule::Parts { .. }
            | Rule::PartLength { .. } => rule,
        })
    }

    /// A quotient whose products are multiplied out.
    fn quotient(&self, product: &Product, mut by: Product) -> Result<Rule, Extent> {
        let mut product = self.multiplied_out(product);
        match by.fixed() {
            Some(number) if number != 0 && product.number % number == 0 => {
                (product.number, by.number) = (product.number / number, 1);
            }
            _ => {}
        }
        match (product.number, &product.symbols[..], by.fixed()) {
            (1, [symbol], Some(1)) => Err(Extent::Of(*symbol)),
            _ => Ok(Rule::Quotient(product, by)),
        }
    }

    /// A product whose symbols are products again, as those of all elements are, multiplied out.
    fn multiplied_out(&self, product: &Product) -> Product {
        let one = Product::number(1);
        let number = Product::number(product.number);
        product.symbols.iter().fold(number, |all, symbol| match self.rule(*symbol) {
            Rule::Quotient(whole, by)
                if *by == one && all.symbols.len() + whole.symbols.len() <= MAX_PARTS =>
            {
                &all * &self.simplify(whole)
            }
            _ => &all * &Extent::Of(*symbol).into(),
        })
    }

    /// What extents broadcast to: one that is not 1, since all that are not are equal.
    fn broadcasted(&self, mut extents: Vec<Extent>) -> Result<Rule, Extent> {
        extents.retain(|extent| *extent != Extent::Fixed(1));
        extents.sort_unstable();
        extents.dedup();
        match extents[..] {
            [] => return Err(Extent::Fixed(1)),
            [extent] | [extent @ Extent::Fixed(_), ..] => return Err(extent),
            _ => {}
        }
        let mut parts: Vec<Extent> = extents.iter().flat_map(|extent| self.parts(*extent)).collect();
        parts.sort_unstable();
        parts.dedup();
        if let Some(all) = extents.iter().find(|extent| self.parts(**extent).len() == parts.len()) {
            return Err(*all);
        }
        Ok(Rule::Broadcast(if parts.len() <= MAX_PARTS { parts } else { extents }))
    }

    /// The extents that one is what they broadcast to; itself, if it is of no such rule.
    fn parts(&self, extent: Extent) -> Vec<Extent> {
        match extent {
            Extent::Of(symbol) => match self.rule(symbol) {
                Rule::Broadcast(parts) => parts.iter().map(|part| self.resolve(*part)).collect(),
                _ => vec![extent],
            },
            Extent::Fixed(_) => vec![extent],
        }
    }

    /// Whether one of two extents is what the other broadcasts to with something: then both do.
    pub fn fits(&self, a: Extent, b: Extent) -> bool {
        self.is_part(a, b) || self.is_part(b, a)
    }

    /// Whether `whole` is what `part` broadcasts to with something: then it is 1 only where `part` is.
    pub fn is_part(&self, part: Extent, whole: Extent) -> bool {
        let whole = self.parts(whole);
        whole.contains(&part) || self.parts(part).iter().all(|part| whole.contains(part))
    }

    /// The simplest extent that is known to be equal.
    pub fn resolve(&self, mut extent: Extent) -> Extent {
        while let Extent::Of(Symbol(index)) = extent
            && let Some(other) = self.equal[index as usize]
        {
            extent = other;
        }
        extent
    }

    /// Takes note that two extents are equal at run time wherever the result is used.
    pub fn unify(&mut self, a: Extent, b: Extent) -> Extent {
        let (a, b) = (self.resolve(a), self.resolve(b));
        // A number stands for a symbol, and a symbol for those after it. Contradictory types are never run.
        let (known, other) = if a <= b { (a, b) } else { (b, a) };
        if let Extent::Of(Symbol(old)) = other
            && known != other
        {
            self.equal[old as usize] = Some(known);
        }
        known
    }

    /// A product with what is known of its symbols.
    pub fn simplify(&self, product: &Product) -> Product {
        let number = Product::number(product.number);
        product.symbols.iter().fold(number, |all, symbol| &all * &self.resolve(Extent::Of(*symbol)).into())
    }

    /// Steps one within the other. A dimension that is stretched is 1 long, and so is what was stretched to it: the
    /// innermost of such steps says it all, so chains of broadcasts have steps of one symbol.
    pub fn times_step(&self, outer: &Product, step: Extent) -> Product {
        let step = self.resolve(step);
        let mut outer = outer.clone();
        if let Extent::Of(symbol) = step
            && let Rule::Stretch(stretched) = self.rule(symbol)
        {
            let stretched = self.resolve(*stretched);
            outer.symbols.retain(|symbol| !self.stretches_at_most(*symbol, stretched));
        }
        &outer * &step.into()
    }

    /// Whether a symbol is 0 only where this extent is 1.
    fn stretches_at_most(&self, symbol: Symbol, extent: Extent) -> bool {
        match self.rule(symbol) {
            Rule::Stretch(stretched) => self.is_part(extent, self.resolve(*stretched)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Extents, Rule};
    use crate::extent::{Extent, Product};

    fn axes(extents: &mut Extents, count: u32) -> Vec<Extent> {
        (0..count).map(|of| extents.of(Rule::Axis(of, 0))).collect()
    }

    #[test]
    fn equal_rules_are_one_symbol() {
        let mut extents = Extents::default();
        let axes = axes(&mut extents, 3);
        let [a, b, c] = axes[..] else { unreachable!("three are asked for") };
        let mut both = |x: Extent, y: Extent| extents.of(Rule::Broadcast(vec![x, y]));
        assert_eq!(both(a, b), both(b, a));
        assert_eq!(both(a, Extent::Fixed(1)), a);
        assert_eq!(both(Extent::Fixed(7), a), Extent::Fixed(7));
        let (ab, bc) = (both(a, b), both(b, c));
        assert_eq!(both(ab, c), both(a, bc));
        assert_eq!(both(ab, a), ab);
        let sum = extents.of(Rule::Total(vec![Extent::Fixed(2), a, Extent::Fixed(3), b]));
        assert_eq!(sum, extents.of(Rule::Total(vec![b, Extent::Fixed(5), a])));
        assert_eq!(extents.of(Rule::Total(vec![a, Extent::Fixed(0)])), a);
        assert!(extents.fits(ab, b) && !extents.fits(ab, bc));
    }

    #[test]
    fn a_long_chain_of_broadcasts_fits_each_of_its_links() {
        let mut extents = Extents::default();
        let mut last = extents.of(Rule::Axis(0, 0));
        for axis in axes(&mut extents, 50) {
            let next = extents.of(Rule::Broadcast(vec![last, axis]));
            assert!(extents.fits(last, next) && extents.fits(axis, next));
            last = next;
        }
    }

    #[test]
    fn a_reshape_and_back_has_the_extents_it_began_with() {
        let mut extents = Extents::default();
        let a = axes(&mut extents, 1)[0];
        let whole = &Product::from(a) * &Product::number(12);
        let flat = extents.of(Rule::Quotient(whole, Product::number(1)));
        assert_eq!(extents.of(Rule::Quotient(flat.into(), Product::number(12))), a);
        let sixth = extents.of(Rule::Quotient(flat.into(), Product::number(6)));
        assert_eq!(
            sixth,
            extents.of(Rule::Quotient(&Product::from(a) * &Product::number(2), Product::number(1)))
        );
    }

    #[test]
    fn slices_of_all_elements_have_the_extent_itself() {
        let mut extents = Extents::default();
        let extent = axes(&mut extents, 1)[0];
        let mut slice = |start, stop, step| extents.of(Rule::SliceCount { extent, start, stop, step });
        assert_eq!(slice(0, i64::MAX, 1), extent);
        assert_eq!(slice(-1, i64::MIN, -1), extent);
        assert_ne!(slice(1, i64::MAX, 1), extent);
        assert_eq!(slice(1, i64::MAX, 1), slice(1, i64::MAX, 1));
    }

    #[test]
    fn what_is_known_to_be_equal_is_the_older_one() {
        let mut extents = Extents::default();
        let axes = axes(&mut extents, 3);
        assert_eq!(extents.unify(axes[2], axes[1]), axes[1]);
        assert_eq!(extents.unify(axes[2], axes[0]), axes[0]);
        assert_eq!(extents.resolve(axes[1]), axes[0]);
        assert_eq!(extents.unify(axes[1], Extent::Fixed(4)), Extent::Fixed(4));
        assert!(axes.iter().all(|axis| extents.resolve(*axis) == Extent::Fixed(4)));
    }

    #[test]
    fn the_axes_of_shared_sums_are_found_once() {
        let mut extents = Extents::default();
        let mut sum = axes(&mut extents, 1)[0];
        for _ in 0..100 {
            sum = extents.of(Rule::Total(vec![sum, sum]));
        }
        assert_eq!(extents.axes(sum), [(0, 0)]);
        assert_eq!(extents.depth(sum), 101);
    }
}
