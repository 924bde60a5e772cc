//! Kernels.

use promote_lattice::Op;

use super::{Fault, Parser, Result, Token};
use crate::graph::NodeId;
use crate::kernel::{Access, Chunk, Code, Expr, ExprId, Form, Kernel, Role, Root, Taken};
use promote_dialect::extent::{Extent, Product, Sum, Symbol};

/// Which dimensions an expression depends on is a mask of 64 bits.
const MAX_DIMS: usize = u64::BITS as usize;

const EXPR: &str = "an expression, such as `e0`";
const ROOT: &str = "a fusion root, such as `r0`";

impl Parser<'_> {
    pub(super) fn kernel(&mut self) -> Result<Kernel> {
        self.expect('{')?;
        self.expect_word("dims")?;
        let start = self.start;
        let dims = self.enclosed(['[', ']'], Self::product)?;
        if dims.len() > MAX_DIMS {
            return self.fault(start, format!("a kernel has at most {MAX_DIMS} dimensions"));
        }
        self.expect_word("form")?;
        let form = self.form()?;
        let as_one = self.accept_word("as")?;
        if as_one {
            self.expect_word("one")?;
        }
        let chunk = if self.accept_word("chunk")? { Some(self.chunk()?) } else { None };
        let mut kernel = Kernel { dims, form, as_one, chunk, exprs: Vec::new(), roots: Vec::new() };
        while !self.accept('}')? {
            self.line(&mut kernel)?;
        }
        Ok(kernel)
    }

    fn form(&mut self) -> Result<Form> {
        if self.accept_word("map")? {
            return Ok(Form::Map);
        }
        if self.accept_word("rows")? {
            return Ok(Form::Rows { reduced: self.count("reduced")? });
        }
        if self.accept_word("columns")? {
            return Ok(Form::Columns { outer: self.count("outer")?, reduced: self.count("reduced")? });
        }
        self.expected("`map`, `rows` or `columns`")
    }

    /// A number with its name.
    fn count(&mut self, name: &str) -> Result<usize> {
        self.expect_word(name)?;
        self.unsigned("a number")
    }

    fn chunk(&mut self) -> Result<Chunk> {
        let dim = self.lettered('d', "a dimension, such as `d0`")?;
        let taken = if self.accept_word("before")? {
            Taken::Before
        } else if self.accept_word("by")? {
            Taken::Own
        } else {
            return self.expected("`by` or `before`");
        };
        let by = self.lettered('d', "a dimension, such as `d0`")?;
        self.expect_word("length")?;
        Ok(Chunk { dim, by, length: self.extent()?, taken })
    }

    /// An expression, or a fusion root.
    fn line(&mut self, kernel: &mut Kernel) -> Result<()> {
        let (rank, start) = (kernel.dims.len(), self.start);
        match self.token {
            Token::Word(word) if word.starts_with('e') => {
                let number = self.lettered('e', EXPR)?;
                self.next_number((number, start), kernel.exprs.len(), "e")?;
                self.expect('=')?;
                let expr = self.expr(rank)?;
                kernel.exprs.push(expr);
            }
            Token::Word(word) if word.starts_with('r') => {
                let number = self.lettered('r', ROOT)?;
                self.next_number((number, start), kernel.roots.len(), "r")?;
                self.expect('=')?;
                let root = self.root(rank)?;
                kernel.roots.push(root);
            }
            _ => return self.expected("an expression, such as `e0`, a fusion root, such as `r0`, or `}`"),
        }
        Ok(())
    }

    fn expr(&mut self, rank: usize) -> Result<Expr> {
        let code = self.code(rank)?;
        self.expect(':')?;
        let dtype = self.dtype()?;
        self.expect_word("over")?;
        let mut dims = 0;
        self.enclosed(['[', ']'], |parser| {
            dims |= 1 << parser.dim(MAX_DIMS)?;
            Ok(())
        })?;
        let stage = self.count("stage")?;
        Ok(Expr { node: self.node()?, code, dtype, dims, stage })
    }

    fn node(&mut self) -> Result<NodeId> {
        self.expect_word("node")?;
        self.unsigned("the number of a node").map(NodeId)
    }

    /// A dimension of so many.
    fn dim(&mut self, rank: usize) -> Result<usize> {
        let start = self.start;
        let dim = self.lettered('d', "a dimension, such as `d0`")?;
        if dim < rank { Ok(dim) } else { self.fault(start, format!("there are {rank} dimensions")) }
    }

    fn expr_id(&mut self) -> Result<ExprId> {
        self.lettered('e', EXPR).map(ExprId)
    }

    fn code(&mut self, rank: usize) -> Result<Code> {
        let (Token::Word(word), start) = (self.token.clone(), self.start) else {
            return self.expected("what an expression computes");
        };
        self.take()?;
        Ok(match word {
            "splat" => Code::Splat(self.bits()?),
            "size" => Code::Size(self.product()?),
            "index" => {
                let (strides, offset) = self.affine(rank)?;
                Code::Index { strides, offset }
            }
            "load" => Code::Load(self.access(rank)?),
            "take" => {
                let access = self.access(rank)?;
                self.expect_word("at")?;
                let index = self.expr_id()?;
                self.expect_word("stride")?;
                let stride = self.product()?;
                self.expect_word("extent")?;
                Code::Take { access, index, stride, extent: self.extent()? }
            }
            "convert" => Code::Convert(self.expr_id()?),
            "reduced" => Code::Reduced(self.lettered('r', ROOT)?),
            _ => {
                let Some(op) = word.strip_prefix("promote.").and_then(Op::by_name) else {
                    return self
                        .fault(start, format!("expected what an expression computes, found `{word}`"));
                };
                Code::Map(op, self.series(Self::expr_id)?)
            }
        })
    }

    fn root(&mut self, rank: usize) -> Result<Root> {
        let role = if self.accept_word("store")? {
            Role::Store
        } else if self.accept_word("reduce")? {
            Role::Reduce(self.op()?)
        } else if self.accept_word("arg")? {
            Role::Arg(self.op()?)
        } else if self.accept_word("scan")? {
            Role::Scan(self.op()?)
        } else {
            return self.expected("`store`, `reduce`, `arg` or `scan`");
        };
        let expr = self.expr_id()?;
        let start = if self.accept_word("from")? { Some(self.expr_id()?) } else { None };
        let sinks = if self.accept_word("to")? { self.series(|p| p.access(rank))? } else { Vec::new() };
        Ok(Root { node: self.node()?, expr, role, start, sinks })
    }

    fn op(&mut self) -> Result<Op> {
        let op = match self.token {
            Token::Word(name) => Op::by_name(name),
            _ => None,
        };
        match op {
            Some(op) => self.take().map(|_| op),
            None => self.expected("the name of an op, such as `sum`"),
        }
    }

    // Extents.

    fn access(&mut self, rank: usize) -> Result<Access> {
        let buffer = self.lettered('b', "a buffer, such as `b0`").map(NodeId)?;
        let (strides, offset) = self.affine(rank)?;
        Ok(Access { buffer, strides, offset })
    }

    fn extent(&mut self) -> Result<Extent> {
        match self.token {
            Token::Word(_) => self.extent_symbol().map(Extent::Of),
            _ => self.integer().map(Extent::Fixed),
        }
    }

    fn extent_symbol(&mut self) -> Result<Symbol> {
        self.lettered('s', "an extent, such as `s0`").map(Symbol)
    }

    fn product(&mut self) -> Result<Product> {
        let is_negative = self.accept('-')?;
        self.term(is_negative, 0).map(|(product, _)| product)
    }

    /// Strides times the indices of so many dimensions, and an offset, in brackets. A zero on its own is no offset.
    fn affine(&mut self, rank: usize) -> Result<(Vec<Product>, Sum)> {
        self.expect('[')?;
        let (mut strides, mut offset) = (vec![None; rank], Sum::default());
        let mut is_negative = self.accept('-')?;
        loop {
            let start = self.start;
            match self.term(is_negative, rank)? {
                (product, None) => offset.0.push(product),
                (product, Some(dim)) => {
                    if strides[dim].replace(product).is_some() {
                        return self.fault(start, format!("there is a stride of d{dim} already"));
                    }
                }
            }
            is_negative = self.is('-');
            if !self.accept('-')? && !self.accept('+')? {
                break;
            }
        }
        self.expect(']')?;
        let zero = Product::number(0);
        if offset.0 == [zero.clone()] && strides.iter().all(Option::is_none) {
            offset = Sum::default();
        }
        Ok((strides.into_iter().map(|stride| stride.unwrap_or(zero.clone())).collect(), offset))
    }

    /// A product of a number, symbols, and the index of one of so many dimensions.
    fn term(&mut self, is_negative: bool, rank: usize) -> Result<(Product, Option<usize>)> {
        let start = self.start;
        let (mut number, mut symbols, mut dim) = (None, Vec::new(), None);
        loop {
            match self.token {
                Token::Number(_) if number.is_none() => {
                    number = Some(self.unsigned::<u64>("a number of 64 bits")?);
                }
                Token::Word(word) if rank > 0 && dim.is_none() && word.starts_with('d') => {
                    dim = Some(self.dim(rank)?);
                }
                Token::Word(word) if word.starts_with('s') => symbols.push(self.extent_symbol()?),
                _ => return self.expected("a number or an extent, such as `s0`"),
            }
            if !self.accept('*')? {
                break;
            }
        }
        let magnitude = i128::from(number.unwrap_or(1));
        let number = i64::try_from(if is_negative { -magnitude } else { magnitude });
        match number {
            Ok(number) => Ok((Product { number, symbols }, dim)),
            Err(_) => Err(Fault { offset: start, message: "the number does not fit 64 bits".to_owned() }),
        }
    }
}
