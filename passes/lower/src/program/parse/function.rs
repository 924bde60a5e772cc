//! Functions and their blocks.

use rustc_hash::FxHashMap;

use super::{Parser, Result, Token};
use crate::program::{
    Arg, Block, BlockId, Edge, End, EntryKind, Function, Placement, Step, Strides, ValueId, ValueKind,
};
use crate::types::Type;

/// What is known of the values of a function.
#[derive(Debug, Default)]
struct Values {
    /// What each is, and the offset where it is defined.
    known: FxHashMap<ValueId, (ValueKind, usize)>,
}

impl Parser<'_> {
    pub(super) fn function(&mut self) -> Result<Function> {
        let entry = self.entry()?;
        let name = self.symbol()?;
        let inputs = self.enclosed(['(', ')'], Self::r#type)?;
        if self.token != Token::Arrow {
            return self.expected("`->`");
        }
        self.take()?;
        let outputs = self.enclosed(['(', ')'], Self::r#type)?;
        let place = self.loc()?;
        self.expect('{')?;
        let (mut blocks, mut values) = (Vec::new(), Values::default());
        while matches!(self.token, Token::Id('^', _)) {
            self.numbered('^', "bb", "a block, such as `^bb0`", blocks.len())?;
            blocks.push(self.block(&mut values)?);
        }
        if self.accept_word("unused")? {
            self.series(|parser| parser.typed(&mut values))?;
        }
        if !self.accept('}')? {
            return self.expected("a block, such as `^bb0:`, or `}`");
        }
        Ok(Function { name, entry, place, inputs, outputs, values: self.values(values)?, blocks })
    }

    fn entry(&mut self) -> Result<EntryKind> {
        if self.accept_word("strided")? {
            let elements = if self.accept_word("apart")? {
                Placement::Apart
            } else if self.accept_word("reversed")? {
                Placement::Reversed
            } else if self.accept_word("anyhow")? {
                Placement::Anyhow
            } else {
                let what = "`apart`, `reversed`, `anyhow`, or how many dimensions come after the one along which elements lie, and `dense` or `pieces`";
                let before = self.unsigned::<u32>(what)? as usize;
                if self.accept_word("pieces")? {
                    Placement::InPieces { before }
                } else {
                    Placement::SideBySide { before, is_dense: self.accept_word("dense")? }
                }
            };
            let input = if self.accept_word("input")? {
                Some(self.unsigned::<u32>("the number of an input")? as usize)
            } else {
                None
            };
            return Ok(EntryKind::Strided(Strides { elements, input }));
        }
        let others = [EntryKind::Public, EntryKind::Shapes, EntryKind::Private];
        let Some(entry) = others.into_iter().find(|entry| self.is_word(&entry.to_string())) else {
            return self.expected("`public`, `strided`, `shapes` or `private`");
        };
        self.take()?;
        Ok(entry)
    }

    fn r#type(&mut self) -> Result<Type> {
        if !self.accept_word("tensor")? {
            return self.number_type().map(Type::Scalar);
        }
        if !self.is('<') {
            return self.expected("`<`");
        }
        // The token is `<`: the extents after it are no tokens.
        let mut dims = Vec::new();
        while let Some(extent) = self.lexer.extent()? {
            dims.push(extent);
        }
        self.take()?;
        let dtype = self.dtype()?;
        self.expect('>')?;
        Ok(Type::Tensor(dtype, dims))
    }

    fn kind(&mut self) -> Result<ValueKind> {
        if !self.accept_word("buffer")? {
            return self.number_type().map(ValueKind::Number);
        }
        self.expect('<')?;
        let dtype = self.dtype()?;
        self.expect('>')?;
        Ok(ValueKind::Buffer(dtype))
    }

    pub(super) fn value(&mut self) -> Result<ValueId> {
        self.id('%', "", "a value, such as `%0`").map(ValueId)
    }

    pub(super) fn arg(&mut self) -> Result<Arg> {
        match self.token {
            Token::Id('%', _) => self.value().map(Arg::Value),
            Token::Number(_) | Token::Punctuation('-') => self.integer().map(Arg::Known),
            _ => self.expected("a value, such as `%0`, or a number"),
        }
    }

    /// A value and its type.
    fn typed(&mut self, values: &mut Values) -> Result<ValueId> {
        let start = self.start;
        let value = self.value()?;
        self.expect(':')?;
        let kind = self.kind()?;
        self.define(values, value, (kind, start))?;
        Ok(value)
    }

    /// Takes note of what a value is. It may be defined again, which the verifier refuses, but not as something else.
    fn define(&self, values: &mut Values, value: ValueId, (kind, start): (ValueKind, usize)) -> Result<()> {
        let known = values.known.entry(value).or_insert((kind, start));
        if known.0 == kind {
            return Ok(());
        }
        self.fault(start, format!("{value} is {} elsewhere, and {kind} here", known.0))
    }

    /// What each value is, if they are numbered from 0 on.
    fn values(&self, values: Values) -> Result<Vec<ValueKind>> {
        let mut known: Vec<(ValueId, (ValueKind, usize))> = values.known.into_iter().collect();
        known.sort_unstable_by_key(|(value, _)| *value);
        for (index, (value, (_, start))) in known.iter().enumerate() {
            if value.0 as usize != index {
                return self.fault(*start, format!("{value} is defined, but not %{index}"));
            }
        }
        Ok(known.into_iter().map(|(_, (kind, _))| kind).collect())
    }

    fn block(&mut self, values: &mut Values) -> Result<Block> {
        let mut parameters = Vec::new();
        if self.accept('(')? {
            parameters = self.list(')', |parser| parser.typed(values))?;
        }
        self.expect(':')?;
        let mut steps = Vec::new();
        loop {
            if let Some(end) = self.end()? {
                return Ok(Block { parameters, steps, end });
            }
            let (step, starts) = self.step()?;
            let defined = step.defines();
            if !defined.is_empty() {
                self.expect(':')?;
                let kinds = self.kinds(defined.len())?;
                for ((value, start), kind) in defined.iter().zip(starts).zip(kinds) {
                    self.define(values, *value, (kind, start))?;
                }
            }
            let place = self.loc()?;
            steps.push((step, place));
        }
    }

    /// So many types.
    fn kinds(&mut self, count: usize) -> Result<Vec<ValueKind>> {
        let start = self.start;
        let kinds = self.series(Self::kind)?;
        if kinds.len() == count {
            return Ok(kinds);
        }
        self.fault(start, format!("expected {count} types, found {}", kinds.len()))
    }

    /// What a step defines, with the offset of each, and the step.
    fn step(&mut self) -> Result<(Step, Vec<usize>)> {
        let start = self.start;
        let mut results = Vec::new();
        if matches!(self.token, Token::Id('%', _)) {
            results = self.series(|parser| Ok((parser.start, parser.value()?)))?;
            self.expect('=')?;
        }
        let (starts, results): (Vec<usize>, Vec<ValueId>) = results.into_iter().unzip();
        Ok((self.operation(results, start)?, starts))
    }

    // How blocks end.

    fn end(&mut self) -> Result<Option<End>> {
        let Token::Word(word) = self.token else { return Ok(None) };
        let end = match word {
            "return" => {
                self.take()?;
                let has_args =
                    matches!(self.token, Token::Id('%', _) | Token::Number(_) | Token::Punctuation('-'));
                End::Return(if has_args { self.series(Self::arg)? } else { Vec::new() })
            }
            "jump" => {
                self.take()?;
                End::Jump(self.edge()?)
            }
            "branch" => {
                self.take()?;
                let condition = self.arg()?;
                self.expect(',')?;
                let then = self.edge()?;
                self.expect(',')?;
                End::Branch(condition, then, self.edge()?)
            }
            "switch" => {
                self.take()?;
                let value = self.value()?;
                let cases = self.enclosed(['[', ']'], |parser| {
                    let case = parser.integer()?;
                    parser.expect(':')?;
                    Ok((case, parser.edge()?))
                })?;
                self.expect_word("default")?;
                End::Switch(value, cases, self.edge()?)
            }
            _ => return Ok(None),
        };
        Ok(Some(end))
    }

    fn edge(&mut self) -> Result<Edge> {
        let block = self.id('^', "bb", "a block, such as `^bb1`").map(BlockId)?;
        let args = if self.accept('(')? { self.list(')', Self::arg)? } else { Vec::new() };
        Ok(Edge { block, args })
    }
}
