//! Promotion semantics: whose rules decide the dtypes.
//!
//! Get one by name with [`Semantics::by_name`]; [`Semantics::infer`] then says, for an op and the dtypes of its
//! operands, in which dtype each operand is computed with and what the result is, or why the library refuses it.
//! [`Semantics::promote`] is the promotion alone, what the libraries call `result_type`.
//!
//! ## How it works
//! Each library has a file of its own, with its data and its rules behind one interface (the trait `Rules`). Those on a lattice
//! are edges and a table of rows, one an op (`rows`); NumPy's are the loops of its ufuncs, PyTorch's the categories of
//! its priority levels. To add one: a file, and a row in `REGISTRY`.

mod array_api;
mod jax;
mod jep9407;
mod node;
mod numpy;
mod operand;
mod python;
mod refusal;
mod rows;
mod tensorflow;
mod torch;
mod user;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};

use crate::convert::Numerics;
use crate::dtype::DType;
use crate::lattice::{Lattice, NoJoin};
use crate::op::{Class, Op};

pub use crate::document::{FileError, FileErrors, FileNote, Place};
pub use node::Node;
pub use operand::{MAX_OPERANDS, Operand, Origin, Rank, Typing};
pub use refusal::{Accepts, Refusal};

/// What the documents' tables of JAX and NumPy are over, in their order.
const DOCUMENTED: &[DType] = {
    use DType::*;
    &[
        B1,
        U8,
        U16,
        U32,
        U64,
        I8,
        I16,
        I32,
        I64,
        BF16,
        F16,
        F32,
        F64,
        C64,
        C128,
        WeakInt,
        WeakFloat,
        WeakComplex,
    ]
};

/// The rules of one library.
trait Rules: fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// The dtype that operands are promoted to, without an op: `result_type`.
    fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin>;

    /// Whether the dtype of a result depends on the ranks of operands.
    fn looks_at_rank(&self) -> bool {
        false
    }

    /// Whether there are ops that the library has a dtype rule for, and no code: see [`Typing::has_kernel`].
    fn lacks_kernels(&self) -> bool {
        false
    }

    /// What `op` does to operands of these dtypes. See [`Semantics::infer`]. The rank of every operand is known to rules
    /// that look at it.
    fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal>;

    /// The lattice that the rules are joins on, if they are.
    fn as_lattice(&self) -> Option<&rows::OnLattice> {
        None
    }
}

/// What dtypes become where nothing else decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// What `i*` becomes, and what an index is.
    pub integer: DType,
    /// What `f*` becomes.
    pub float: DType,
    /// What `c*` becomes.
    pub complex: DType,
    /// What sums of unsigned integers are.
    pub unsigned: DType,
    /// The integer that stands for bool in arithmetic that has no bool.
    pub bool_integer: DType,
    /// The float that stands for integers of up to 32 bits where an op needs floats; wider ones become [`float`](Self::float).
    pub small_float: DType,
}

impl Defaults {
    /// The defaults of a library whose one integer and one float stand for all.
    pub const fn new(integer: DType, float: DType, complex: DType) -> Self {
        Self { integer, float, complex, unsigned: integer, bool_integer: integer, small_float: float }
    }

    /// The dtype a value of `dtype` has once nothing can change it any more.
    pub const fn strengthen(&self, dtype: DType) -> DType {
        match dtype {
            DType::WeakInt => self.integer,
            DType::WeakFloat => self.float,
            DType::WeakComplex => self.complex,
            DType::WeakI64 => DType::I64,
            DType::WeakF64 => DType::F64,
            strong => strong,
        }
    }
}

/// The rules of one library. See the [module](self).
#[derive(Debug)]
pub struct Semantics {
    name: Arc<str>,
    /// What a file says it is; the others' summaries are in the [`REGISTRY`].
    description: Option<Arc<str>>,
    x64: bool,
    nodes: Vec<Node>,
    /// The op whose results its table shows; none if it is the promotion alone.
    tabulated: Option<Op>,
    defaults: Defaults,
    numerics: Numerics,
    /// Whether a loop makes a weak initial value strong where its iterations yield another dtype.
    raises_carries: bool,
    /// Whether operators between Python scalars are Python's: the library's own ops take an array.
    has_pythons_operators: bool,
    order: OnceLock<Lattice>,
    rules: Box<dyn Rules>,
}

/// A name that is no semantics'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no semantics `{name}`; there are: {}", Semantics::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownSemantics {
    /// The name asked for.
    pub name: String,
}

/// A semantics that comes with Promote.
struct Registered {
    name: &'static str,
    /// What it is, in a line.
    summary: &'static str,
    /// Makes it, with or without 64-bit dtypes, which JAX's alone looks at.
    make: fn(x64: bool) -> Semantics,
}

const fn registered(name: &'static str, summary: &'static str, make: fn(bool) -> Semantics) -> Registered {
    Registered { name, summary, make }
}

/// Every semantics that comes with Promote.
const REGISTRY: &[Registered] = &[
    registered("jax", "JAX: the lattice of JEP 9407", jax::standard),
    registered("jax-strict", "JAX in its strict mode: only weak values are promoted", jax::strict),
    registered("jax-lax", "jax.lax: nothing is promoted but Python scalars", jax::lax),
    registered("numpy2", "NumPy 2 (NEP 50): Python scalars are weak", numpy::two),
    registered("numpy1", "NumPy 1: the value of a scalar decides its width", numpy::one),
    registered("torch", "PyTorch: categories of dtypes, and arrays over scalars", torch::standard),
    registered("tensorflow", "TensorFlow: no tensor is promoted", tensorflow::plain),
    registered("tensorflow-legacy", "TensorFlow in mode legacy: the same", tensorflow::legacy),
    registered("tensorflow-safe", "TensorFlow in mode safe: nothing may be lost", tensorflow::safe),
    registered("tensorflow-all", "TensorFlow in mode all: a lattice", tensorflow::all),
    registered(
        "array-api",
        "the Array API standard; what it leaves undefined is refused",
        array_api::standard,
    ),
    registered("dask", "Dask: NumPy 2 with what its ufuncs make of bfloat16", numpy::dask),
    registered("cupy", "CuPy 14: NumPy 2, and arrays without dimensions are arrays", numpy::cupy),
    registered("python", "Python's int, float and complex", python::python),
    registered("jep9407-option0", "JEP 9407: integers and floats apart", jep9407::option::<0>),
    registered("jep9407-option1", "JEP 9407: without loss of precision", jep9407::option::<1>),
    registered("jep9407-option2", "JEP 9407: integers to floats of their width", jep9407::option::<2>),
    registered("jep9407-option3", "JEP 9407: any integer to any float", jep9407::option::<3>),
];

impl Semantics {
    /// The names that [`by_name`](Self::by_name) knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        REGISTRY.iter().map(|row| row.name)
    }

    /// What the semantics called `name` is, in a line.
    pub fn summary(name: &str) -> Option<&'static str> {
        REGISTRY.iter().find(|row| row.name == name).map(|row| row.summary)
    }

    /// The semantics called `name`; `x64` lets JAX have 64-bit dtypes.
    ///
    /// # Errors
    /// [`UnknownSemantics`] lists the names there are.
    pub fn by_name(name: &str, x64: bool) -> Result<Self, UnknownSemantics> {
        let row = REGISTRY.iter().find(|row| row.name == name);
        row.map(|row| (row.make)(x64)).ok_or_else(|| UnknownSemantics { name: name.to_owned() })
    }

    /// Rules on a lattice.
    fn on_lattice(rules: rows::OnLattice, nodes: Vec<Node>, numerics: Numerics) -> Self {
        Self { defaults: rules.defaults, ..Self::by_rules(rules.name.clone(), rules, nodes, numerics) }
    }

    /// Rules that are no lattice.
    fn by_rules(name: Arc<str>, rules: impl Rules + 'static, nodes: Vec<Node>, numerics: Numerics) -> Self {
        let defaults = Defaults::new(DType::I64, DType::F64, DType::C128);
        let (order, rules) = (OnceLock::new(), Box::new(rules));
        let (description, tabulated, x64) = (None, None, true);
        let (raises_carries, has_pythons_operators) = (false, false);
        Self {
            name,
            description,
            x64,
            nodes,
            tabulated,
            defaults,
            numerics,
            raises_carries,
            has_pythons_operators,
            order,
            rules,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a line, if it is known by name or its file says so.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref().or_else(|| Self::summary(&self.name))
    }

    /// Whether 64-bit dtypes are on.
    pub const fn x64(&self) -> bool {
        self.x64
    }

    /// What its promotion table is over, in the library's order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How the library's tables write `dtype`.
    pub fn show(&self, dtype: DType) -> &'static str {
        let node = self.nodes.iter().find(|node| node.operand.dtype == dtype);
        node.map_or(dtype.name(), |node| node.name)
    }

    /// What dtypes become where nothing else decides.
    pub const fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// Whether its promotions are the joins of [`order`](Self::order). If not, the order only describes them.
    pub fn is_on_lattice(&self) -> bool {
        self.rules.as_lattice().is_some()
    }

    /// The order of its dtypes: the lattice that joins are taken in or, for rules that are no lattice, which dtype is
    /// promoted to which when the two meet.
    pub fn order(&self) -> &Lattice {
        match self.rules.as_lattice() {
            Some(rules) => &rules.lattice,
            None => self.order.get_or_init(|| self.order_of_promotions()),
        }
    }

    fn order_of_promotions(&self) -> Lattice {
        let mut nodes: Vec<DType> = Vec::new();
        for node in &self.nodes {
            if !nodes.contains(&node.operand.dtype) {
                nodes.push(node.operand.dtype);
            }
        }
        let above = |a: DType| {
            let is_above = |b: &DType| *b != a && self.join(a, *b) == Some(*b);
            (a, nodes.iter().copied().filter(is_above).collect::<Vec<_>>())
        };
        let above: Vec<_> = nodes.iter().map(|a| above(*a)).collect();
        let edges: Vec<_> = above.iter().map(|(a, above)| (*a, above.as_slice())).collect();
        let order = Lattice::new(&nodes, &edges);
        order.unwrap_or_else(|cycle| unreachable!("a test shows that no rules go round: {cycle}")).reduced()
    }

    /// Whose conversions of numbers hold.
    pub const fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// The dtype that operands are promoted to, without an op: what the libraries call `result_type`. Operands of unknown
    /// rank are taken to have dimensions.
    ///
    /// # Errors
    /// [`NoJoin`] if they are not promoted.
    pub fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        self.rules.promote(operands)
    }

    /// The dtype of a place that all of `operands` flow to, such as a function's result: what they are promoted to.
    ///
    /// # Errors
    /// [`Refusal::NoJoin`] if they are not promoted; [`Refusal::UnknownKind`] for Python scalars of which Python computes.
    pub fn join_slot(&self, operands: &[Operand]) -> Result<DType, Refusal> {
        let are_scalars = operands.iter().all(|operand| operand.dtype.is_weak());
        if self.has_pythons_operators
            && are_scalars
            && operands.iter().any(|operand| operand.dtype != operands[0].dtype)
        {
            let dtypes = operands.iter().map(|operand| operand.dtype).collect();
            return Err(Refusal::UnknownKind { semantics: self.name.clone(), dtypes });
        }
        // What flows to one place has one rank, so none is of a lower level than another.
        let alike = |operand: &Operand| match operand.is_python() {
            true => *operand,
            false => Operand { rank: Rank::One, ..*operand },
        };
        let operands: Vec<_> = operands.iter().map(alike).collect();
        self.promote(&operands).map_err(|reason| Refusal::NoJoin {
            semantics: self.name.clone(),
            dtypes: operands.iter().map(|operand| operand.dtype).collect(),
            reason,
        })
    }

    /// The dtype of what a loop carries, where its initial value has the dtype `init`, and that and what each iteration returns
    /// are promoted to `joined`: the same, but that JAX makes a weak initial value strong if the iterations yield another dtype
    /// (`lax.scan`, `fori_loop`, `while_loop`).
    pub fn join_carry(&self, init: DType, joined: DType) -> DType {
        let raised = self.raises_carries && init.is_weak() && init != joined;
        if raised { self.strengthen(joined) } else { joined }
    }

    /// Whether Python computes what an operator returns of Python scalars alone, before the library sees it:
    /// [`scalar::compute`](crate::scalar::compute). To the other libraries such numbers are arrays of their default dtypes.
    pub const fn has_pythons_operators(&self) -> bool {
        self.has_pythons_operators
    }

    /// The dtype that arrays of two dtypes are promoted to, if they are. Weak dtypes are Python scalars.
    pub fn join(&self, a: DType, b: DType) -> Option<DType> {
        self.promote(&[Node::of(a).operand, Node::of(b).operand]).ok()
    }

    /// The cell of the library's promotion table for two operands, if it has one. For the libraries that name no promotion
    /// apart from their ops, it is the result of `add`.
    pub fn tabulate(&self, a: Operand, b: Operand) -> Option<DType> {
        match self.tabulated {
            None => self.promote(&[a, b]).ok(),
            Some(op) => self.infer(op, &[a, b]).ok().flatten().map(|typing| typing.result),
        }
    }

    /// The dtype a value of `dtype` has once nothing can change it any more: a weak one gets the default dtype of its
    /// kind (JAX: 32 bits, with x64 64 bits), others are themselves.
    pub const fn strengthen(&self, dtype: DType) -> DType {
        self.defaults.strengthen(dtype)
    }

    /// What `op` does to operands of these dtypes.
    ///
    /// Returns `None` where the op's own type says its dtype (`constant`, `iota`, `convert`).
    ///
    /// # Errors
    /// [`Refusal`], where the library raises an exception.
    ///
    /// # Panics
    /// Never for as many operands as the op's [`Arity`](crate::op::Arity) allows; with none, an op that needs some
    /// refuses.
    pub fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        if operands.len() < op.info().arity.required {
            let (dtypes, semantics) = (operand::dtypes(operands), self.name.clone());
            let reason = NoJoin::NoUpperBound { dtypes: dtypes.clone() };
            return Err(Refusal::NoJoin { semantics, dtypes, reason });
        }
        let ask = |operands: &[Operand]| self.rules.infer(op, operands);
        match operands.iter().position(|operand| operand.rank == Rank::Unknown) {
            Some(index) if self.rules.looks_at_rank() => {
                // PyTorch's products distinguish vectors from matrices; else only arrays without dimensions differ.
                let ranks: &[Rank] = match op {
                    Op::Matmul => &[Rank::Two, Rank::More, Rank::One, Rank::Zero],
                    _ => &[Rank::One, Rank::Zero],
                };
                let mut found = None;
                for operands in of_known_rank(operands, ranks) {
                    match (&mut found, ask(&operands)) {
                        (found @ None, answer) => *found = Some(answer),
                        (Some(Ok(Some(one))), Ok(Some(other)))
                            if (one.compute, one.result) == (other.compute, other.result) =>
                        {
                            one.has_kernel &= other.has_kernel;
                        }
                        (Some(Ok(None)), Ok(None)) | (Some(Err(_)), Err(_)) => {}
                        _ => return Err(Refusal::Rank { semantics: self.name.clone(), op, index }),
                    }
                }
                found.unwrap_or_else(|| ask(operands))
            }
            _ => ask(operands),
        }
    }

    /// Whether some ops have a dtype, and no code in the library: see [`Typing::has_kernel`].
    pub fn lacks_kernels(&self) -> bool {
        self.rules.lacks_kernels()
    }

    /// What an op does that is told the dtype of its result, as in `sum(x, dtype=f32)`: it converts its operands to that
    /// itself, so they stay what they are.
    ///
    /// ```
    /// use promote_lattice::semantics::{Operand, Semantics};
    /// use promote_lattice::{DType, Op};
    ///
    /// let torch = Semantics::by_name("torch", false).unwrap();
    /// let typing = torch.infer_as(Op::Sum, &[Operand::value(DType::BF16)], DType::I32).unwrap().unwrap();
    /// assert_eq!((typing.compute(0), typing.result), (DType::BF16, DType::I32));
    /// assert!(torch.infer_as(Op::Mean, &[Operand::value(DType::BF16)], DType::I32).is_err());
    /// ```
    ///
    /// # Errors
    /// [`Refusal`], where the library has no such op of that dtype.
    pub fn infer_as(&self, op: Op, operands: &[Operand], dtype: DType) -> Result<Option<Typing>, Refusal> {
        // Any op that takes all dtypes says whether it knows those of the operands.
        self.infer(Op::Reshape, operands)?;
        let told = |operand: &Operand| Operand { rank: operand.rank, ..Operand::value(dtype) };
        let told: Vec<_> = operands.iter().map(told).collect();
        let refused = || Refusal::Told { semantics: self.name.clone(), op, dtype };
        let Some(typing) = self.infer(op, &told).map_err(|_| refused())? else { return Ok(None) };
        // Sums of small integers are of wider ones unless they are told otherwise.
        if typing.result != dtype && op.class() != Class::Accumulation {
            return Err(refused());
        }
        Ok(Some(Typing { has_kernel: typing.has_kernel, ..Typing::own(operands, dtype) }))
    }

    /// Whether an op may state a result of `dtype`: a lattice of the user's own has no others than its nodes.
    ///
    /// # Errors
    /// [`Refusal::NoNode`] if it may not.
    pub fn check_stated(&self, dtype: DType) -> Result<(), Refusal> {
        match self.rules.as_lattice() {
            Some(rules) if rules.closed && !rules.lattice.contains(dtype) => {
                Err(Refusal::NoNode { semantics: self.name.clone(), dtype })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// `operands` with each of `ranks` for those of unknown rank. Operands that are alike get the same rank: among equal dtypes
/// it makes no difference which of them have dimensions.
fn of_known_rank(operands: &[Operand], ranks: &[Rank]) -> Vec<Vec<Operand>> {
    let mut unknown: Vec<Operand> = Vec::new();
    for operand in operands.iter().filter(|operand| operand.rank == Rank::Unknown) {
        if !unknown.contains(operand) {
            unknown.push(*operand);
        }
    }
    let mut all = vec![operands.to_vec()];
    for sort in unknown {
        let of_rank = |operands: &Vec<Operand>, rank: Rank| {
            let ranked = |operand: &Operand| {
                if *operand == sort { Operand { rank, ..*operand } } else { *operand }
            };
            operands.iter().map(ranked).collect()
        };
        all =
            all.iter().flat_map(|operands| ranks.iter().map(move |rank| of_rank(operands, *rank))).collect();
    }
    all
}
