//! Steps.

use super::{Fault, Parser, Result, Token};
use crate::program::{Arg, Arith, ConstantId, KernelId, Launch, Literal, Matmul, Panels, Step, ValueId};
use promote_lattice::Op;

impl Parser<'_> {
    /// A step that defines these values, which stand at the offset.
    pub(super) fn operation(&mut self, results: Vec<ValueId>, start: usize) -> Result<Step> {
        let (word, offset) = match self.token {
            Token::Word(word) => (word, self.start),
            _ => return self.expected("a step, or what ends a block"),
        };
        self.take()?;
        if word == "call" {
            let callee = self.symbol()?;
            let args = self.enclosed(['(', ')'], Self::arg)?;
            return Ok(Step::Call { callee, args, results });
        }
        let step = self.named(word, offset, || one(&results, word, start))?;
        if step.defines().len() == results.len() {
            return Ok(step);
        }
        self.fault(start, format!("`{word}` defines no value"))
    }

    /// The step of a name, which is taken already. `value` is what it defines.
    fn named(&mut self, word: &str, offset: usize, value: impl Fn() -> Result<ValueId>) -> Result<Step> {
        Ok(match word {
            "allocate" => Step::Allocate { buffer: value()?, dims: self.args()? },
            "output" => Step::Output { buffer: value()?, index: self.result()?, dims: self.args()? },
            "shape" => Step::Shape { index: self.result()?, dims: self.args()? },
            "constant" => {
                let constant = self.id('@', "c", "a constant, such as `@c0`").map(ConstantId)?;
                Step::Constant { buffer: value()?, constant }
            }
            "spill" => Step::Spill { buffer: value()?, value: self.value()? },
            "cell" => Step::Cell { buffer: value()?, count: self.elements()? },
            "copy" => {
                let from = self.value()?;
                self.expect_word("to")?;
                Step::Copy { from, to: self.value()?, count: self.elements()? }
            }
            "choose" => {
                let condition = self.arg()?;
                self.expect(',')?;
                let then = self.value()?;
                self.expect(',')?;
                Step::Choose { buffer: value()?, condition, then, otherwise: self.value()? }
            }
            "retain" => Step::Retain(self.value()?),
            "release" => Step::Release(self.value()?),
            "launch" => Step::Launch(self.launch()?),
            "matmul" => Step::Matmul(self.matmul()?),
            "sort" => {
                let buffer = self.value()?;
                let [outer, extent, inner] = self.labelled(["outer", "extent", "inner"])?;
                Step::Sort { buffer, outer, extent, inner }
            }
            "check_exceptions" => Step::CheckExceptions,
            "read" => {
                let (buffer, index) = self.element()?;
                Step::Read { value: value()?, buffer, index }
            }
            "write" => {
                let value = self.value()?;
                self.expect(',')?;
                let (buffer, index) = self.element()?;
                Step::Write { buffer, index, value }
            }
            "number" => Step::Number { value: value()?, number: self.literal()? },
            "fail_if" => {
                let condition = self.arg()?;
                self.expect(',')?;
                Step::FailIf { condition, message: self.string("a message, as a string")? }
            }
            _ => {
                Step::Arith { op: self.arith(word, offset)?, value: value()?, args: self.series(Self::arg)? }
            }
        })
    }

    /// The arithmetic of a name.
    fn arith(&self, word: &str, offset: usize) -> Result<Arith> {
        let function = || word.strip_prefix("math.").and_then(Op::by_name).and_then(Arith::function);
        let name = word.strip_prefix("arith.");
        match Arith::ALL.iter().copied().find(|op| Some(op.name()) == name).or_else(function) {
            Some(op) => Ok(op),
            None => self.fault(offset, format!("expected a step, or what ends a block, found `{word}`")),
        }
    }

    /// The number of a result.
    fn result(&mut self) -> Result<usize> {
        self.unsigned("the number of a result")
    }

    fn args(&mut self) -> Result<Vec<Arg>> {
        self.enclosed(['[', ']'], Self::arg)
    }

    /// How many elements a buffer has.
    fn elements(&mut self) -> Result<i64> {
        self.expect('[')?;
        let count = self.integer()?;
        self.expect(']')?;
        Ok(count)
    }

    /// An element of a buffer.
    fn element(&mut self) -> Result<(ValueId, Arg)> {
        let buffer = self.value()?;
        self.expect('[')?;
        let index = self.arg()?;
        self.expect(']')?;
        Ok((buffer, index))
    }

    /// Numbers in brackets, each with its name.
    fn labelled<const N: usize>(&mut self, names: [&str; N]) -> Result<[Arg; N]> {
        let mut args = [Arg::Known(0); N];
        self.expect('[')?;
        for (index, (name, arg)) in names.into_iter().zip(&mut args).enumerate() {
            if index > 0 {
                self.expect(',')?;
            }
            self.expect_word(name)?;
            *arg = self.arg()?;
        }
        self.expect(']')?;
        Ok(args)
    }

    fn launch(&mut self) -> Result<Launch> {
        let kernel = self.id('@', "k", "a kernel, such as `@k0`").map(KernelId)?;
        let buffers = self.enclosed(['(', ')'], |parser| {
            if parser.accept_word("_")? { Ok(None) } else { parser.value().map(Some) }
        })?;
        let extents = self.args()?;
        self.expect_word("at")?;
        let places = self.enclosed(['(', ')'], Self::place_id)?;
        Ok(Launch { kernel, buffers, places, extents })
    }

    fn matmul(&mut self) -> Result<Matmul> {
        let left = self.value()?;
        self.expect(',')?;
        let right = self.value()?;
        self.expect_word("to")?;
        let product = self.value()?;
        let workspace = if self.accept_word("using")? { Some(self.panels()?) } else { None };
        let [batch, rows, inner, columns] = self.labelled(["batch", "rows", "inner", "columns"])?;
        Ok(Matmul { left, right, product, workspace, batch, rows, inner, columns })
    }

    fn panels(&mut self) -> Result<Panels> {
        let buffer = self.value()?;
        self.expect_word("by")?;
        let columns = self.unsigned("the columns of a panel")?;
        Ok(Panels { buffer, columns })
    }

    /// A number, or the bits of a float.
    fn literal(&mut self) -> Result<Literal> {
        match self.token {
            Token::Number(digits) if digits.starts_with("0x") => self.bits().map(Literal::Float),
            _ => self.integer().map(Literal::Int),
        }
    }
}

/// The only value that a step defines.
fn one(results: &[ValueId], word: &str, offset: usize) -> Result<ValueId> {
    match results {
        [value] => Ok(*value),
        _ => {
            let message = format!("`{word}` defines one value, and {} stand before it", results.len());
            Err(Fault { offset, message })
        }
    }
}
