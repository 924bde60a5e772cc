//! What stands in a block: ops on the values in scope.

use super::choices::Choices;
use promote_lattice::semantics::{Operand, Rank};
use promote_lattice::{DType, Op, Semantics};

/// The type of what inference shall find.
pub(super) const OPEN: &str = "!u";

/// What a function may use.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) semantics: Semantics,
    /// The dtypes of arguments and explicit conversions.
    pub(super) dtypes: Vec<DType>,
    /// Whether some are complex: ops that have no complex numbers are left out then.
    pub(super) complex: bool,
    /// Whether dynamic extents occur, and are equal where they meet. Tensors are scalars or vectors of 4 then, but in
    /// functions of any ops.
    pub(super) aligned: bool,
    /// The ops that statements are on any shapes; none in programs of other statements.
    pub(super) any_of: Vec<Op>,
}

/// What sort of numbers a value holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Bool,
    Int,
    Number,
}

/// How near a computed tensor is to the interpreter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Its elements are the same.
    Exact,
    /// One function of other formulas made it, of exact operands: floats are a few units in the last place off.
    Near,
    /// Its dtype and shape are the same.
    Loose,
}

/// A tensor in scope.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    /// Its type, as written.
    pub(super) text: String,
    pub(super) sort: Sort,
    /// Its dtype, if that is known.
    pub(super) dtype: Option<DType>,
    /// Its extents at run time, if they are known.
    pub(super) shape: Option<Vec<usize>>,
    /// How near its elements are to the interpreter's. Known for functions of any ops only; elsewhere it is `Exact`.
    pub(super) precision: Precision,
}

impl Tensor {
    /// A tensor of which inference shall find the type.
    pub(super) fn open(name: String, sort: Sort, shape: Option<Vec<usize>>) -> Self {
        Self { name, text: OPEN.to_owned(), sort, dtype: None, shape, precision: Precision::Exact }
    }

    /// What the dtype rules may see of it.
    fn operands(&self) -> Vec<Operand> {
        let of = |dtype: DType| match (dtype.is_weak(), self.shape.as_deref()) {
            (true, Some([])) => Operand::literal(dtype),
            (_, Some([])) => Operand::zero_dim(dtype),
            (_, Some([_])) => Operand::value(dtype),
            _ => Operand { rank: Rank::Two, ..Operand::value(dtype) },
        };
        match (self.dtype, self.sort) {
            (Some(dtype), _) => vec![of(dtype)],
            (None, Sort::Bool) => vec![of(DType::B1)],
            (None, Sort::Int) => vec![of(DType::I32)],
            (None, Sort::Number) => vec![of(DType::I32), of(DType::F32)],
        }
    }
}

/// A function that may be called. Its last argument counts how deep it may call itself.
#[derive(Clone, Debug)]
pub(super) struct Callable {
    pub(super) name: String,
    /// The types of its tensor arguments.
    pub(super) arguments: Vec<String>,
    pub(super) results: usize,
}

/// Writes the body of a function.
pub(super) struct Writer<'a> {
    pub(super) rng: &'a mut Choices,
    pub(super) profile: &'a Profile,
    pub(super) callables: &'a [Callable],
    pub(super) out: String,
    pub(super) indent: usize,
    pub(super) next: &'a mut usize,
    pub(super) scope: Vec<Tensor>,
    /// Indices in scope.
    pub(super) indices: Vec<String>,
    /// Truth values, of `i1`, in scope.
    pub(super) flags: Vec<String>,
    /// How many more ops it may write.
    pub(super) budget: usize,
    /// Whether it has written an op whose result is not exact.
    pub(super) is_inexact: bool,
}

impl Writer<'_> {
    /// Constants that all functions use, and `%t`, one truth value; `flag` is another one, an argument or `%z`.
    pub(super) fn prelude(&mut self, flag: &str) {
        self.flags = vec!["%t".to_owned(), flag.to_owned()];
        for index in 0..4 {
            self.line(format!("%c{index} = arith.constant {index} : index"));
            self.indices.push(format!("%c{index}"));
        }
        self.indices.push("%n".to_owned());
        self.line("%t = arith.cmpi ult, %c1, %n : index");
        if flag == "%z" {
            self.line("%z = arith.cmpi sle, %n, %c0 : index");
        }
    }

    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(&"  ".repeat(self.indent));
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        *self.next += 1;
        format!("{prefix}{}", self.next)
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.rng.below(n) == 0
    }

    pub(super) fn choose<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.rng.below(list.len())].clone()
    }

    /// A tensor in scope that `is` what is asked for; late ones are likelier.
    pub(super) fn pick(&mut self, is: impl Fn(&Tensor) -> bool) -> Option<Tensor> {
        let fitting: Vec<Tensor> = self.scope.iter().filter(|tensor| is(tensor)).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let (a, b) = (self.rng.below(fitting.len()), self.rng.below(fitting.len()));
        Some(fitting[a.max(b)].clone())
    }

    /// The dtype of an op's result, `Some(None)` if that is not known, or `None` if the semantics may refuse it.
    pub(super) fn result_dtype(&self, name: &str, operands: &[&Tensor]) -> Option<Option<DType>> {
        let op = Op::by_name(name)?;
        let mut all: Vec<Vec<Operand>> = vec![Vec::new()];
        for operand in operands {
            let each = operand.operands();
            let with = |before: Vec<Operand>| {
                each.iter()
                    .map(move |next| before.iter().copied().chain([*next]).collect())
                    .collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(with).collect();
        }
        let typings = all.iter().map(|operands| self.profile.semantics.infer(op, operands).ok());
        let results: Vec<_> = typings.collect::<Option<_>>()?;
        let [typing] = results[..] else { return Some(None) };
        Some(typing.map(|typing| typing.result))
    }

    /// Writes an op with one result, which comes into scope. What the semantics may refuse is mostly left out: the first
    /// operand stands for it.
    pub(super) fn op(
        &mut self,
        name: &str,
        operands: &[&Tensor],
        attributes: &str,
        (text, sort, shape): (&str, Sort, Option<Vec<usize>>),
    ) -> Tensor {
        let dtype = match (self.result_dtype(name, operands), operands.first()) {
            (None, Some(first)) if !self.one_in(40) => return (*first).clone(),
            (found, _) => found.flatten().filter(|_| sort != Sort::Bool),
        };
        let sort = dtype.map_or(sort, sort_of);
        let result = self.fresh("%v");
        let names: Vec<_> = operands.iter().map(|operand| operand.name.as_str()).collect();
        let types: Vec<_> = operands.iter().map(|operand| operand.text.as_str()).collect();
        let (names, types) = (names.join(", "), types.join(", "));
        self.line(format!("{result} = \"promote.{name}\"({names}){attributes} : ({types}) -> {text}"));
        let precision = Precision::Exact;
        let tensor = Tensor { name: result, text: text.to_owned(), sort, dtype, shape, precision };
        self.scope.push(tensor.clone());
        tensor
    }

    /// The same value, of unknown type.
    pub(super) fn relaxed(&mut self, tensor: &Tensor) -> String {
        if tensor.text == OPEN {
            return tensor.name.clone();
        }
        let name = self.fresh("%u");
        self.line(format!("{name} = \"promote.relax\"({}) : ({}) -> {OPEN}", tensor.name, tensor.text));
        name
    }

    /// A Python scalar.
    pub(super) fn literal(&mut self) -> Tensor {
        if self.one_in(3) {
            let value = self.choose(&["0.5", "1.0", "2.5", "0.1", "3.0", "-1.5", "0.0"]);
            return self.constant(value, "f64", "!promote.weak_float", Sort::Number);
        }
        let value = self.rng.below(6).to_string();
        self.constant(&value, "i64", "!promote.weak_int", Sort::Int)
    }

    /// A constant without dimensions.
    pub(super) fn constant(&mut self, value: &str, written: &str, element: &str, sort: Sort) -> Tensor {
        let attribute = format!(" {{value = dense<{value}> : tensor<{written}>}}");
        let r#type = format!("tensor<{element}>");
        let mut tensor = self.op("constant", &[], &attribute, (&r#type, sort, Some(Vec::new())));
        tensor.dtype = DType::ALL.iter().copied().find(|dtype| dtype.mlir() == element);
        self.scope.pop();
        self.scope.push(tensor.clone());
        tensor
    }
}

/// The sort of a dtype.
pub(super) fn sort_of(dtype: DType) -> Sort {
    match dtype {
        DType::B1 => Sort::Bool,
        _ if dtype.is_integer() => Sort::Int,
        _ => Sort::Number,
    }
}

/// The shape that two shapes broadcast to, which they do.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Vec<usize> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let missing = long.len() - short.len();
    let extent = |(i, extent): (usize, &usize)| match i.checked_sub(missing) {
        Some(i) if *extent == 1 => short[i],
        _ => *extent,
    };
    long.iter().enumerate().map(extent).collect()
}
