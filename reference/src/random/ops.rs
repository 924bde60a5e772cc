//! Statements: ops of every sort on what is in scope.

use super::body::{OPEN, Sort, Tensor, Writer, broadcast, sort_of};

const UNARY: &[&str] = &["negative", "abs", "square", "positive", "sign", "relax"];
const FLOAT_UNARY: &[&str] =
    &["sqrt", "exp", "sin", "tanh", "log1p", "sigmoid", "reciprocal", "asinh", "erf"];
const ROUNDING: &[&str] = &["floor", "ceil", "round", "trunc"];
const BINARY: &[&str] = &["add", "subtract", "multiply", "add", "multiply", "divide"];
const REAL_BINARY: &[&str] =
    &["maximum", "minimum", "floor_divide", "remainder", "atan2", "hypot", "fmod", "copysign"];
const INT_BINARY: &[&str] = &["bitwise_and", "bitwise_or", "bitwise_xor", "add", "multiply", "maximum"];
const COMPARISONS: &[&str] = &["equal", "not_equal"];
const ORDERINGS: &[&str] = &["less", "less_equal", "greater", "greater_equal", "equal"];
const LOGICAL: &[&str] = &["logical_and", "logical_or", "logical_xor"];

impl Writer<'_> {
    /// Writes one statement, or a few that belong together.
    pub(super) fn statement(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        if !self.profile.any_of.is_empty() {
            return self.any_op();
        }
        match self.rng.below(26) {
            0..=2 => drop(self.literal()),
            3..=6 => self.unary(),
            7..=13 => self.binary(),
            14 => self.comparison(),
            15 => self.logical(),
            16 => self.choice(),
            17 => self.power(),
            18..=19 => self.reduction(),
            20..=21 => self.arrangement(),
            22..=23 => self.conversion(),
            24 => self.bits(),
            _ => self.assertion(),
        }
    }

    fn unary(&mut self) {
        let x = self.number();
        let ops = match self.rng.below(4) {
            0 if !self.profile.complex => ROUNDING,
            1 => FLOAT_UNARY,
            _ => UNARY,
        };
        let op = self.choose(ops);
        if op == "erf" && self.profile.complex {
            return;
        }
        let sort = if ops == FLOAT_UNARY { Sort::Number } else { x.sort };
        self.elementwise(op, &[&x], sort);
    }

    fn binary(&mut self) {
        let (x, y) = (self.number(), self.number());
        let real = !self.profile.complex && self.one_in(3);
        let op = self.choose(if real { REAL_BINARY } else { BINARY });
        let keeps = matches!(op, "add" | "subtract" | "multiply" | "maximum" | "minimum");
        let ints = x.sort == Sort::Int && x.text == y.text && x.text != OPEN;
        self.elementwise(op, &[&x, &y], if keeps && ints { Sort::Int } else { Sort::Number });
    }

    fn comparison(&mut self) {
        let (x, y) = (self.number(), self.number());
        let op = self.choose(if self.profile.complex { COMPARISONS } else { ORDERINGS });
        self.elementwise(op, &[&x, &y], Sort::Bool);
    }

    fn logical(&mut self) {
        let is_bool = |tensor: &Tensor| tensor.sort == Sort::Bool;
        let (Some(x), Some(y)) = (self.pick(is_bool), self.pick(is_bool)) else { return self.comparison() };
        match self.rng.below(4) {
            0 => self.elementwise("logical_not", &[&x], Sort::Bool),
            _ => {
                let op = self.choose(LOGICAL);
                self.elementwise(op, &[&x, &y], Sort::Bool)
            }
        };
    }

    fn choice(&mut self) {
        let (x, y) = (self.number(), self.number());
        match self.pick(|tensor| tensor.sort == Sort::Bool) {
            Some(condition) => drop(self.elementwise("where", &[&condition, &x, &y], Sort::Number)),
            None if !self.profile.complex => {
                let (low, high) = (self.literal(), self.literal());
                self.elementwise("clip", &[&x, &low, &high], Sort::Number);
            }
            None => {}
        }
    }

    fn power(&mut self) {
        let x = self.number();
        let exponent = self.rng.below(5).to_string();
        let exponent = self.constant(&exponent, "i64", "!promote.weak_int", Sort::Int);
        self.elementwise("pow", &[&x, &exponent], Sort::Number);
    }

    fn reduction(&mut self) {
        let x = self.number();
        let mut ops = vec!["sum", "prod", "count_nonzero"];
        if !self.profile.complex {
            ops.extend(["max", "min", "argmax"]);
        }
        if !self.profile.complex {
            ops.extend(["mean", "var"]);
        }
        let op = self.choose(&ops);
        let sort = if matches!(op, "count_nonzero" | "argmax") { Sort::Int } else { Sort::Number };
        match &x.shape {
            Some(shape) if !shape.is_empty() && !self.profile.aligned && self.one_in(2) => {
                let mut kept = shape.clone();
                kept[shape.len() - 1] = 1;
                let attributes = " {axis = array<i64: -1>, keepdims = true}";
                self.op(op, &[&x], attributes, (OPEN, sort, Some(kept)));
            }
            _ => drop(self.op(op, &[&x], "", (OPEN, sort, Some(Vec::new())))),
        }
    }

    /// Ops that move elements; what comes out broadcasts with all other shapes.
    fn arrangement(&mut self) {
        let Some(x) = self.pick(|tensor| tensor.shape.as_ref().is_some_and(|shape| !shape.is_empty())) else {
            return;
        };
        let shape = x.shape.clone().unwrap_or_default();
        let rank = shape.len();
        let real = x.sort != Sort::Bool && !self.profile.complex;
        match self.rng.below(7) {
            0 => drop(self.op("flip", &[&x], " {axis = array<i64: -1>}", (OPEN, x.sort, Some(shape)))),
            1 if real => {
                let op = self.choose(&["sort", "cumulative_sum"]);
                self.op(op, &[&x], " {axis = array<i64: -1>}", (OPEN, Sort::Number, Some(shape)));
            }
            2 => {
                let list = |number: &str| vec![number; rank].join(", ");
                let (start, stop, step) = (list("-1"), list("-100"), list("-1"));
                let attributes = format!(
                    " {{start = array<i64: {start}>, stop = array<i64: {stop}>, step = array<i64: {step}>}}"
                );
                self.op("slice", &[&x], &attributes, (OPEN, x.sort, Some(shape)));
            }
            3 if shape == [4] => self.joined(&x),
            4 if shape == [4] && real => {
                drop(self.op("matmul", &[&x, &x], "", (OPEN, Sort::Number, Some(vec![]))))
            }
            5 if shape == [4] && !self.profile.aligned => {
                drop(self.op(
                    "expand_dims",
                    &[&x],
                    " {axis = array<i64: 0>}",
                    (OPEN, x.sort, Some(vec![1, 4])),
                ));
            }
            6 if real => self.taken(&x, shape),
            _ => {}
        }
    }

    /// Two vectors in a row, of which some elements are kept.
    fn joined(&mut self, x: &Tensor) {
        let fits =
            |other: &Tensor| other.shape == x.shape && (other.sort == Sort::Bool) == (x.sort == Sort::Bool);
        let y = self.pick(fits).unwrap_or_else(|| x.clone());
        let sizes = "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>";
        let attributes = format!(" {{axis = 0 : i64, {sizes}}}");
        let both = self.op("concat", &[x, &y], &attributes, (OPEN, x.sort, None));
        if both.name == x.name {
            return;
        }
        self.scope.pop();
        let kept = " {start = array<i64: 1>, stop = array<i64: 8>, step = array<i64: 2>}";
        self.op("slice", &[&both], kept, (OPEN, x.sort, Some(vec![4])));
    }

    fn taken(&mut self, x: &Tensor, mut shape: Vec<usize>) {
        let last = shape.pop().unwrap_or(1);
        let place = if self.one_in(8) { last } else { self.rng.below(last) };
        let place = self.constant(&place.to_string(), "i32", "i32", Sort::Int);
        let taken = self.op("take", &[x, &place], " {axis = -1 : i64}", (OPEN, x.sort, Some(shape.clone())));
        if !shape.is_empty() && taken.name != x.name {
            self.scope.pop();
            shape.push(1);
            self.op("expand_dims", &[&taken], " {axis = array<i64: -1>}", (OPEN, x.sort, Some(shape)));
        }
    }

    fn conversion(&mut self) {
        let x = self.number();
        let dtypes = self.profile.dtypes.clone();
        let dtype = self.choose(&dtypes);
        let sort = sort_of(dtype);
        if sort == Sort::Bool && self.one_in(2) {
            return;
        }
        let text = format!("tensor<*x{}>", dtype.mlir());
        let mut converted = self.op("convert", &[&x], "", (&text, sort, x.shape.clone()));
        converted.dtype = Some(dtype);
        self.scope.pop();
        self.scope.push(converted);
    }

    fn bits(&mut self) {
        let is_int = |tensor: &Tensor| tensor.sort == Sort::Int && tensor.dtype.is_some();
        let Some(x) = self.pick(is_int) else { return };
        match self.rng.below(3) {
            0 => self.elementwise("bitwise_invert", &[&x], Sort::Int),
            _ => {
                let op = self.choose(INT_BINARY);
                self.elementwise(op, &[&x, &x], Sort::Int)
            }
        };
    }

    fn assertion(&mut self) {
        if self.one_in(3) {
            let flags = self.flags.clone();
            let flag = self.choose(&flags);
            let message = self.fresh("check ");
            self.line(format!("cf.assert {flag}, \"{message}\""));
        }
    }

    fn number(&mut self) -> Tensor {
        let found = if self.one_in(5) { None } else { self.pick(|tensor| tensor.sort != Sort::Bool) };
        found.unwrap_or_else(|| self.literal())
    }

    /// An elementwise op.
    fn elementwise(&mut self, name: &str, operands: &[&Tensor], sort: Sort) -> Tensor {
        let shapes = operands.iter().map(|operand| operand.shape.clone());
        let shape = shapes.reduce(|a, b| Some(broadcast(&a?, &b?))).flatten();
        self.op(name, operands, "", (OPEN, sort, shape))
    }
}
