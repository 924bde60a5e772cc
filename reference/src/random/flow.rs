//! Control flow: regions of `scf`, blocks of `cf`, calls.

use super::body::{OPEN, Sort, Tensor, Writer};

/// What may flow to a slot.
#[derive(Clone, Debug)]
struct Slot {
    is_bool: bool,
    /// The extents at run time, if they are to be the same for all.
    shape: Option<Vec<usize>>,
}

/// How deep regions nest.
const MAX_NESTING: usize = 3;

impl Writer<'_> {
    /// Writes statements, some of which have regions or, if `blocks` are allowed here, end the block and begin others.
    pub(super) fn statements(&mut self, count: usize, blocks: bool) {
        for _ in 0..count {
            if self.budget == 0 {
                return;
            }
            self.rng.next_frame();
            let nested = self.indent <= MAX_NESTING;
            match self.rng.below(24) {
                0 if nested => self.condition(),
                1 if nested => self.counted_loop(),
                2 if nested => self.while_loop(),
                3 if nested => self.index_switch(),
                4 if nested => self.execute_region(),
                5 if blocks => self.diamond(),
                6 if blocks => self.loop_of_blocks(),
                7 if blocks => self.two_ways_into_a_loop(),
                8 if blocks => self.switch(),
                9 | 10 => self.call(),
                _ => self.statement(),
            }
        }
    }

    fn inner_statements(&mut self, blocks: bool) {
        let count = 1 + self.rng.below(4);
        self.statements(count, blocks);
    }

    /// Slots, with something in scope that may flow to each.
    fn slots(&mut self) -> Vec<(Slot, Tensor)> {
        let count = 1 + self.rng.below(2);
        (0..count)
            .map(|_| {
                let aligned = self.profile.aligned;
                let found = self.pick(|tensor| tensor.shape.is_some() || !aligned);
                let first = found.unwrap_or_else(|| self.literal());
                let shape = if aligned { first.shape.clone() } else { None };
                (Slot { is_bool: first.sort == Sort::Bool, shape }, first)
            })
            .collect()
    }

    /// Something in scope that may flow to each slot, of unknown type. `otherwise` was in scope before.
    fn sources(&mut self, slots: &[(Slot, Tensor)]) -> Vec<String> {
        let mut names = Vec::new();
        for (slot, otherwise) in slots {
            let fits = |tensor: &Tensor| {
                (tensor.sort == Sort::Bool) == slot.is_bool
                    && (slot.shape.is_none() || tensor.shape == slot.shape)
            };
            let found = self.pick(fits).unwrap_or_else(|| otherwise.clone());
            names.push(self.relaxed(&found));
        }
        names
    }

    /// The same under names without `#`, which `cf.switch` does not parse.
    fn plain_sources(&mut self, slots: &[(Slot, Tensor)]) -> String {
        let mut names = self.sources(slots);
        for name in names.iter_mut().filter(|name| name.contains('#')) {
            let plain = self.fresh("%u");
            self.line(format!("{plain} = \"promote.relax\"({name}) : ({OPEN}) -> {OPEN}"));
            *name = plain;
        }
        names.join(", ")
    }

    fn first(&mut self, slots: &[(Slot, Tensor)]) -> Vec<String> {
        slots.iter().map(|(_, first)| self.relaxed(first)).collect()
    }

    /// Lets the values of slots into scope.
    fn enter(&mut self, slots: &[(Slot, Tensor)], names: &[String]) {
        for ((slot, _), name) in slots.iter().zip(names) {
            let sort = if slot.is_bool { Sort::Bool } else { Sort::Number };
            self.scope.push(Tensor::open(name.clone(), sort, slot.shape.clone()));
        }
    }

    /// Writes what stands in a region, and forgets what it defines.
    fn within(&mut self, write: impl FnOnce(&mut Self)) {
        let (scope, indices) = (self.scope.len(), self.indices.len());
        self.indent += 1;
        write(self);
        self.indent -= 1;
        self.scope.truncate(scope);
        self.indices.truncate(indices);
    }

    fn yielded(&mut self, slots: &[(Slot, Tensor)], blocks: bool) {
        self.within(|inner| {
            inner.inner_statements(blocks);
            let names = inner.sources(slots);
            inner.line(format!("scf.yield {} : {}", names.join(", "), open(slots.len())));
        });
    }

    /// The results of an op with regions, as it names them and as others do.
    fn results(&mut self, count: usize) -> (String, Vec<String>) {
        let name = self.fresh("%r");
        let each = (0..count).map(|i| format!("{name}#{i}")).collect();
        (format!("{name}:{count}"), each)
    }

    fn flag(&mut self) -> String {
        let flags = self.flags.clone();
        self.choose(&flags)
    }

    fn index(&mut self) -> String {
        let indices = self.indices.clone();
        self.choose(&indices)
    }

    fn trips(&mut self) -> String {
        if self.one_in(3) { "%n".to_owned() } else { format!("%c{}", self.rng.below(4)) }
    }

    fn condition(&mut self) {
        let slots = self.slots();
        let (header, names) = self.results(slots.len());
        let flag = self.flag();
        self.line(format!("{header} = scf.if {flag} -> ({}) {{", open(slots.len())));
        self.yielded(&slots, false);
        self.line("} else {");
        self.yielded(&slots, false);
        self.line("}");
        self.enter(&slots, &names);
    }

    fn counted_loop(&mut self) {
        let slots = self.slots();
        let inits = self.first(&slots);
        let (header, names) = self.results(slots.len());
        let (i, end) = (self.fresh("%i"), self.trips());
        let carries: Vec<String> = slots.iter().map(|_| self.fresh("%a")).collect();
        let pairs: Vec<_> =
            carries.iter().zip(&inits).map(|(carry, init)| format!("{carry} = {init}")).collect();
        let (pairs, types) = (pairs.join(", "), open(slots.len()));
        self.line(format!(
            "{header} = scf.for {i} = %c0 to {end} step %c1 iter_args({pairs}) -> ({types}) {{"
        ));
        self.within(|inner| {
            inner.enter(&slots, &carries);
            inner.indices.push(i);
            inner.inner_statements(false);
            let sources = inner.sources(&slots).join(", ");
            inner.line(format!("scf.yield {sources} : {types}"));
        });
        self.line("}");
        self.enter(&slots, &names);
    }

    fn while_loop(&mut self) {
        let slots = self.slots();
        let inits = self.first(&slots);
        let (header, mut names) = self.results(slots.len() + 1);
        let (i, j, more, next, end) =
            (self.fresh("%i"), self.fresh("%j"), self.fresh("%m"), self.fresh("%i"), self.trips());
        let carries: Vec<String> = slots.iter().map(|_| self.fresh("%a")).collect();
        let passed: Vec<String> = slots.iter().map(|_| self.fresh("%b")).collect();
        let types = format!("index, {}", open(slots.len()));
        let pairs: String =
            carries.iter().zip(&inits).map(|(carry, init)| format!(", {carry} = {init}")).collect();
        self.line(format!("{header} = scf.while ({i} = %c0{pairs}) : ({types}) -> ({types}) {{"));
        self.within(|inner| {
            inner.enter(&slots, &carries);
            inner.inner_statements(false);
            inner.line(format!("{more} = arith.cmpi slt, {i}, {end} : index"));
            let sources = inner.sources(&slots).join(", ");
            inner.line(format!("scf.condition({more}) {i}, {sources} : {types}"));
        });
        self.line("} do {");
        let arguments: String = passed.iter().map(|name| format!(", {name}: {OPEN}")).collect();
        self.line(format!("^bb0({j}: index{arguments}):"));
        self.within(|inner| {
            inner.enter(&slots, &passed);
            inner.inner_statements(false);
            inner.line(format!("{next} = arith.addi {j}, %c1 : index"));
            let sources = inner.sources(&slots).join(", ");
            inner.line(format!("scf.yield {next}, {sources} : {types}"));
        });
        self.line("}");
        names.remove(0);
        self.enter(&slots, &names);
    }

    fn index_switch(&mut self) {
        let slots = self.slots();
        let (header, names) = self.results(slots.len());
        let index = self.index();
        self.line(format!("{header} = scf.index_switch {index} -> {}", open(slots.len())));
        for case in ["case 0 {", "case 2 {", "default {"] {
            self.line(case);
            self.yielded(&slots, false);
            self.line("}");
        }
        self.enter(&slots, &names);
    }

    fn execute_region(&mut self) {
        let slots = self.slots();
        let (header, names) = self.results(slots.len());
        self.line(format!("{header} = scf.execute_region -> ({}) {{", open(slots.len())));
        self.yielded(&slots, true);
        self.line("}");
        self.enter(&slots, &names);
    }

    fn label(&mut self) -> String {
        self.fresh("^bb")
    }

    /// The statements of a block, after which it passes something on; what it defines is forgotten.
    fn block(&mut self, slots: &[(Slot, Tensor)], end: impl FnOnce(&mut Self, String)) {
        let (scope, indices) = (self.scope.len(), self.indices.len());
        let count = 1 + self.rng.below(3);
        // Blocks of a loop stay as they are: no other blocks begin in them.
        self.statements(count, false);
        let sources = self.sources(slots).join(", ");
        end(self, sources);
        self.scope.truncate(scope);
        self.indices.truncate(indices);
    }

    fn parameters(&mut self, slots: &[(Slot, Tensor)]) -> (Vec<String>, String) {
        let names: Vec<String> = slots.iter().map(|_| self.fresh("%p")).collect();
        let list: Vec<_> = names.iter().map(|name| format!("{name}: {OPEN}")).collect();
        (names, list.join(", "))
    }

    fn diamond(&mut self) {
        let slots = self.slots();
        let types = open(slots.len());
        let (left, right, end, flag) = (self.label(), self.label(), self.label(), self.flag());
        self.line(format!("cf.cond_br {flag}, {left}, {right}"));
        for label in [left, right] {
            self.line(format!("{label}:"));
            self.block(&slots, |inner, sources| inner.line(format!("cf.br {end}({sources} : {types})")));
        }
        let (names, parameters) = self.parameters(&slots);
        self.line(format!("{end}({parameters}):"));
        self.enter(&slots, &names);
    }

    fn loop_of_blocks(&mut self) {
        let slots = self.slots();
        let types = open(slots.len());
        let (head, body, exit, end) = (self.label(), self.label(), self.label(), self.trips());
        let (i, next, more) = (self.fresh("%i"), self.fresh("%i"), self.fresh("%m"));
        let inits = self.first(&slots).join(", ");
        self.line(format!("cf.br {head}(%c0, {inits} : index, {types})"));
        let (names, parameters) = self.parameters(&slots);
        self.line(format!("{head}({i}: index, {parameters}):"));
        self.enter(&slots, &names);
        self.line(format!("{more} = arith.cmpi slt, {i}, {end} : index"));
        self.line(format!("cf.cond_br {more}, {body}, {exit}"));
        self.line(format!("{body}:"));
        self.block(&slots, |inner, sources| {
            inner.line(format!("{next} = arith.addi {i}, %c1 : index"));
            inner.line(format!("cf.br {head}({next}, {sources} : index, {types})"));
        });
        self.line(format!("{exit}:"));
    }

    fn two_ways_into_a_loop(&mut self) {
        let slots = self.slots();
        let types = open(slots.len());
        let (left, right, exit, flag) = (self.label(), self.label(), self.label(), self.flag());
        let (a, b) = (self.first(&slots).join(", "), self.sources(&slots).join(", "));
        self.line(format!(
            "cf.cond_br {flag}, {left}(%c0, {a} : index, {types}), {right}(%c0, {b} : index, {types})"
        ));
        for (here, other) in [(&left, &right), (&right, &left)] {
            let (i, next, more, end) = (self.fresh("%i"), self.fresh("%i"), self.fresh("%m"), self.trips());
            let (names, parameters) = self.parameters(&slots);
            self.line(format!("{here}({i}: index, {parameters}):"));
            let scope = self.scope.len();
            self.enter(&slots, &names);
            self.block(&slots, |inner, sources| {
                inner.line(format!("{next} = arith.addi {i}, %c1 : index"));
                inner.line(format!("{more} = arith.cmpi slt, {next}, {end} : index"));
                let on = format!("{other}({next}, {sources} : index, {types})");
                inner.line(format!("cf.cond_br {more}, {on}, {exit}({sources} : {types})"));
            });
            self.scope.truncate(scope);
        }
        let (names, parameters) = self.parameters(&slots);
        self.line(format!("{exit}({parameters}):"));
        self.enter(&slots, &names);
    }

    fn switch(&mut self) {
        let slots = self.slots();
        let types = open(slots.len());
        let (end, index, number) = (self.label(), self.index(), self.fresh("%s"));
        let passed: Vec<String> = (0..3).map(|_| self.plain_sources(&slots)).collect();
        self.line(format!("{number} = arith.index_cast {index} : index to i32"));
        let to = |case: &str, passed: &str| format!("{case}: {end}({passed} : {types})");
        let cases = [to("default", &passed[0]), to("1", &passed[1]), to("3", &passed[2])].join(", ");
        self.line(format!("cf.switch {number} : i32, [{cases}]"));
        let (names, parameters) = self.parameters(&slots);
        self.line(format!("{end}({parameters}):"));
        self.enter(&slots, &names);
    }

    /// Calls a function that may be called here.
    pub(super) fn call(&mut self) {
        if self.callables.is_empty() {
            return self.statement();
        }
        let callables = self.callables.to_vec();
        let callee = self.choose(&callables);
        let mut arguments = Vec::new();
        for wanted in &callee.arguments {
            let aligned = self.profile.aligned;
            let fits = |tensor: &Tensor| match wanted.as_str() {
                OPEN => tensor.sort != Sort::Bool && (!aligned || tensor.shape.as_deref() == Some(&[4])),
                wanted => tensor.text == wanted,
            };
            match self.pick(fits) {
                Some(found) if wanted == OPEN => arguments.push(self.relaxed(&found)),
                Some(found) => arguments.push(found.name),
                None => return self.statement(),
            }
        }
        let depth = format!("%c{}", self.rng.below(4));
        self.call_of(&callee.name, arguments, &callee.arguments, depth, callee.results);
    }

    /// Calls a function; its results come into scope.
    pub(super) fn call_of(
        &mut self,
        callee: &str,
        mut arguments: Vec<String>,
        types: &[String],
        depth: String,
        results: usize,
    ) {
        let mut types = types.to_vec();
        types.push("index".to_owned());
        arguments.push(depth);
        let (header, names) = self.results(results);
        let (arguments, types) = (arguments.join(", "), types.join(", "));
        self.line(format!("{header} = func.call @{callee}({arguments}) : ({types}) -> ({})", open(results)));
        for name in names {
            let shape = self.profile.aligned.then(|| vec![4]);
            self.scope.push(Tensor::open(name, Sort::Number, shape));
        }
    }
}

/// So many unknown types.
pub(super) fn open(count: usize) -> String {
    vec![OPEN; count].join(", ")
}
