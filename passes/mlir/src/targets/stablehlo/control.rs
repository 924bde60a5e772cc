//! Loops and conditions: `scf` as `stablehlo.while`, `stablehlo.if` and `stablehlo.case`.

use mlir_sys::*;
use promote_lattice::DType;
use promote_lattice::convert::Literal;

use super::builder::{Direction, Made, Parts, refuse};
use super::lower::Lowering;
use super::scalars::as_unsigned;
use crate::raw::{self, Address};

/// The one block of a region; none, if it is empty or has several.
fn only_block(region: MlirRegion) -> Option<MlirBlock> {
    let mut blocks = raw::blocks(region);
    blocks.next().filter(|_| blocks.next().is_none())
}

const SEVERAL_BLOCKS: &str = "run upstream's lift-cf-to-scf first";

impl Lowering<'_> {
    /// An op of `scf`.
    pub fn structured(
        &mut self,
        operation: MlirOperation,
        name: &str,
        operands: &[MlirValue],
    ) -> Made<Vec<MlirValue>> {
        match name {
            "scf.if" => self.condition(operation, operands[0]),
            "scf.index_switch" => self.switch(operation, operands[0]),
            "scf.for" => self.counted_loop(operation, operands),
            "scf.while" => self.while_loop(operation, operands),
            "scf.execute_region" => match raw::regions(operation).next().and_then(only_block) {
                Some(block) => {
                    let values = self.block(block);
                    // What is made of something refused is refused, too: the stand-ins of its values have other shapes.
                    Ok(if self.is_refused(block) { Vec::new() } else { values })
                }
                None => refuse("a region of several blocks is not StableHLO", SEVERAL_BLOCKS),
            },
            _ => refuse(format!("{name} is not StableHLO"), "write it as scf.for, scf.while or scf.if"),
        }
    }

    /// The region of a branch, which may be empty.
    fn branch(&mut self, region: MlirRegion) -> MlirRegion {
        self.region(&[], |lowering, _| {
            only_block(region).map(|block| lowering.block(block)).unwrap_or_default()
        })
    }

    fn condition(&mut self, operation: MlirOperation, condition: MlirValue) -> Made<Vec<MlirValue>> {
        let results = self.result_types(operation)?;
        let regions: Vec<_> = raw::regions(operation).map(|region| self.branch(region)).collect();
        let parts = Parts { operands: &[condition], results: &results, attributes: &[], regions: &regions };
        Ok(raw::results(self.b.append("stablehlo.if", &parts)).collect())
    }

    /// The branch of a case, or the last one, which is the default.
    fn switch(&mut self, operation: MlirOperation, flag: MlirValue) -> Made<Vec<MlirValue>> {
        let results = self.result_types(operation)?;
        let flag = self.b.tensor(flag);
        let cases = raw::attribute(operation, "cases").map(cases).unwrap_or_default();
        let mut chosen = self.b.splat(DType::I32, &[], Literal::Int(cases.len() as i64));
        for (place, case) in (0..).zip(&cases) {
            let case = self.b.whole(flag, *case);
            let is_case = self.b.compare(flag, Direction::Eq, case);
            let place = self.b.splat(DType::I32, &[], Literal::Int(place));
            chosen = self.b.select(is_case, place, chosen);
        }
        let old: Vec<_> = raw::regions(operation).collect();
        let order = old.iter().skip(1).chain(old.first());
        let regions: Vec<_> = order.map(|region| self.branch(*region)).collect();
        let operands = [chosen.value];
        let parts = Parts { operands: &operands, results: &results, attributes: &[], regions: &regions };
        Ok(raw::results(self.b.append("stablehlo.case", &parts)).collect())
    }

    /// Bounds and step, then what is carried: the counter is carried before it.
    fn counted_loop(&mut self, operation: MlirOperation, operands: &[MlirValue]) -> Made<Vec<MlirValue>> {
        let Some(block) = raw::regions(operation).next().and_then(only_block) else {
            return refuse("a loop of several blocks is not StableHLO", SEVERAL_BLOCKS);
        };
        self.result_types(operation)?;
        let (bound, step) = (self.b.tensor(operands[1]), self.b.tensor(operands[2]));
        let is_unsigned = raw::attribute(operation, "unsignedCmp").is_some();
        let init: Vec<_> = [&operands[..1], &operands[3..]].concat();
        let types: Vec<_> = init.iter().map(|value| raw::value_type(*value)).collect();
        let goes_on = self.region(&types, |lowering, arguments| {
            let b = &mut lowering.b;
            let counter = b.tensor(arguments[0]);
            let (counter, bound) = match is_unsigned {
                true => (as_unsigned(b, counter), as_unsigned(b, bound)),
                false => (counter, bound),
            };
            vec![b.compare(counter, Direction::Lt, bound).value]
        });
        let body = self.region(&types, |lowering, arguments| {
            lowering.bind(block, arguments);
            let carried = lowering.block(block);
            let counter = lowering.b.tensor(arguments[0]);
            let next = lowering.b.add(counter, step);
            [&[next.value], carried.as_slice()].concat()
        });
        let parts = Parts { operands: &init, results: &types, attributes: &[], regions: &[goes_on, body] };
        Ok(raw::results(self.b.append("stablehlo.while", &parts)).skip(1).collect())
    }

    /// A loop whose first region says whether it goes on, and what it passes on. Where that is what it was given, it is the
    /// condition. Where it is something else, the condition is evaluated before the loop and at the end of each iteration, and
    /// carried with what is passed on.
    fn while_loop(&mut self, operation: MlirOperation, init: &[MlirValue]) -> Made<Vec<MlirValue>> {
        let mut blocks = raw::regions(operation).map(only_block);
        let (Some(Some(before)), Some(Some(after))) = (blocks.next(), blocks.next()) else {
            return refuse("a loop of several blocks is not StableHLO", SEVERAL_BLOCKS);
        };
        let results = self.result_types(operation)?;
        if passes_on_its_arguments(before) {
            return Ok(self.plain_while(before, after, init, &results));
        }
        self.bind(before, init);
        let first = self.block(before);
        let types: Vec<_> = first.iter().map(|value| raw::value_type(*value)).collect();
        let goes_on = self.region(&types, |_, arguments| arguments[..1].to_vec());
        let body = self.region(&types, |lowering, arguments| {
            lowering.bind(after, &arguments[1..]);
            let carried = lowering.block(after);
            lowering.bind(before, &carried);
            lowering.block(before)
        });
        let parts = Parts { operands: &first, results: &types, attributes: &[], regions: &[goes_on, body] };
        Ok(raw::results(self.b.append("stablehlo.while", &parts)).skip(1).collect())
    }

    fn plain_while(
        &mut self,
        before: MlirBlock,
        after: MlirBlock,
        init: &[MlirValue],
        results: &[MlirType],
    ) -> Vec<MlirValue> {
        let goes_on = self.region(results, |lowering, arguments| {
            lowering.bind(before, arguments);
            lowering.block(before).into_iter().take(1).collect()
        });
        let body = self.region(results, |lowering, arguments| {
            lowering.bind(after, arguments);
            lowering.block(after)
        });
        let parts = Parts { operands: init, results, attributes: &[], regions: &[goes_on, body] };
        raw::results(self.b.append("stablehlo.while", &parts)).collect()
    }
}

/// Whether the first region of a loop passes on just what it is given.
fn passes_on_its_arguments(before: MlirBlock) -> bool {
    let Some(end) = raw::last_operation(before) else { return false };
    let passed = raw::operands(end).skip(1).map(Address);
    passed.eq(raw::arguments(before).map(Address))
}

fn cases(attribute: MlirAttribute) -> Vec<i64> {
    // SAFETY: the attribute is alive, and read as a list only if it is one, within its length.
    unsafe {
        if !mlirAttributeIsADenseI64Array(attribute) {
            return Vec::new();
        }
        let count = mlirDenseArrayGetNumElements(attribute);
        (0..count).map(|i| mlirDenseI64ArrayGetElement(attribute, i)).collect()
    }
}
