//! Op rules: which ops of other dialects follow the rules of ours, and what is written for them.
//!
//! A front end's own `mydialect.add` follows the rule of `promote.add` if a rule file says so ([`OpRules::from_toml`]; some
//! come with Promote: [`OpRules::shipped`]). Here stands what such files say, without any IR. A host reads its program by
//! them (see [`Ir::rules`](crate::ir::Ir::rules)), and [`adapt`](crate::adapt) writes what the dialect has for our converts
//! and broadcasts.
//!
//! `docs/op_rules.md` describes the format.
//!
//! ## Laws
//! - An op that no rule names is left alone, and so is one that has no tensor among the operands that take part.
//! - What is written means what ours means: a pair of dtypes that the file has no conversion for is refused.

mod convert;
mod fitted;
mod forms;
mod lists;
mod pattern;
mod read;
mod recipe;
mod shipped;

use promote_infer::foreign::Broadcasts;
use promote_lattice::{DType, Op};

pub use convert::{Conversion, Group, Pair};
pub use fitted::{Fit, Fitted};
pub use forms::Read;
pub use forms::{Form, Forms, TensorForm};
pub use lists::Lists;
pub use pattern::Pattern;
pub use recipe::{Filled, OPERAND, Of, Placeholder, RESULT, Recipe};
pub use shipped::Unknown;

/// What one file says. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpRules {
    /// Its name: that of the file without its ending.
    pub name: String,
    /// What it is for, in a line.
    pub description: Option<String>,
    /// The ops that follow rules of ours.
    pub ops: Vec<OpRule>,
    /// Ops of the dialect that are one op of ours, each for other kinds of dtypes.
    pub families: Vec<Family>,
    /// What is written for a conversion: the first that fits. Ours stays if there are none.
    pub conversions: Vec<Conversion>,
    /// What is written for a broadcast. Ours stays if there is none.
    pub broadcast: Option<Recipe>,
    /// What is written for a constant. Ours stays if there is none.
    pub constant: Option<Recipe>,
    /// How types are written that MLIR has no tensors for.
    pub forms: Forms,
    /// The numbers by which the dialect knows dtypes.
    pub codes: Vec<(DType, i64)>,
    /// How the dialect writes constants that are operands.
    pub constants: Constants,
    /// How the dialect writes lists of tensors that are operands.
    pub lists: Option<Lists>,
    /// Attributes that say of which dtype the operands are.
    pub fitted: Vec<Fitted>,
}

/// How a dialect writes constants that are operands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constants {
    /// The op that makes an integer, which is its attribute `value`.
    pub integer: Option<String>,
    /// The type of what stands for an operand that is left out.
    pub none: Option<String>,
}

/// What the passes make for ops of other dialects, and a file may write otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A conversion.
    Convert,
    /// A broadcast.
    Broadcast,
    /// A constant.
    Constant,
}

impl Made {
    /// The op that is made.
    pub const fn op(self) -> Op {
        match self {
            Self::Convert => Op::Convert,
            Self::Broadcast => Op::BroadcastTo,
            Self::Constant => Op::Constant,
        }
    }

    /// What an op of ours is, if the passes make it.
    pub fn of(op: Op) -> Option<Self> {
        [Self::Convert, Self::Broadcast, Self::Constant].into_iter().find(|made| made.op() == op)
    }
}

/// An op of another dialect that follows the rule of one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpRule {
    /// Which op.
    pub pattern: Pattern,
    /// Whose rule it follows.
    pub op: Op,
    /// Which of its operands take part, in the order of ours; all, if it is not said.
    pub operands: Option<Vec<usize>>,
    /// The operands that are joined with those, and are none of ours: where this is said, the dtypes are not those that
    /// ours asks for, but all are joined.
    pub joins: Option<Vec<usize>>,
    /// Our attributes, and where the dialect has them.
    pub attributes: Vec<(String, Held)>,
    /// Who broadcasts.
    pub broadcasts: Broadcasts,
    /// Whether the shape of its result is what the program states.
    pub states_shape: bool,
    /// Whether operands that must be broadcast are refused.
    pub refuses_broadcasts: bool,
    /// Whether its result may be stated to be of a wider dtype than its operands.
    pub accumulates: bool,
    /// The dtypes that it computes in; all, if it is not said.
    pub dtypes: Vec<Group>,
    /// How many dimensions the operands that take part must have; any, if it is not said.
    pub ranks: Option<Vec<usize>>,
    /// The operand that says the dtype of the result, by its number in [`OpRules::codes`].
    pub dtype: Option<usize>,
    /// The [family](OpRules::families) that it is of.
    pub family: Option<usize>,
}

impl OpRule {
    /// The rule of an op that takes part with all operands and writes its attributes as we do.
    pub const fn plain(pattern: Pattern, op: Op) -> Self {
        Self {
            pattern,
            op,
            operands: None,
            joins: None,
            attributes: Vec::new(),
            broadcasts: Broadcasts::Explicit,
            states_shape: false,
            refuses_broadcasts: false,
            accumulates: false,
            dtypes: Vec::new(),
            ranks: None,
            dtype: None,
            family: None,
        }
    }
}

/// Where an op of another dialect has what is an attribute of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// In an attribute of this name.
    Attribute(String),
    /// In an operand, which is a constant.
    Operand(usize),
}

/// Ops of a dialect that are one op of ours, each for other kinds of dtypes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// What the file calls it.
    pub name: String,
    /// The op for each group of dtypes, in the order of the file.
    pub members: Vec<(Group, Pattern)>,
}

impl Family {
    /// The op for a dtype.
    pub fn member(&self, dtype: DType) -> Option<&Pattern> {
        self.members.iter().find(|(group, _)| group.has(dtype)).map(|(_, pattern)| pattern)
    }
}

impl OpRules {
    /// Whether the file has something to write for what is made.
    pub const fn writes(&self, made: Made) -> bool {
        match made {
            Made::Convert => !self.conversions.is_empty(),
            Made::Broadcast => self.broadcast.is_some(),
            Made::Constant => self.constant.is_some(),
        }
    }

    /// The dtype that the dialect knows by a number. Where an op is told a dtype by one, no two dtypes have the same.
    pub fn coded(&self, code: i64) -> Option<DType> {
        self.codes.iter().find(|(_, known)| *known == code).map(|(dtype, _)| *dtype)
    }

    /// The dialects of the ops and attributes that the file may write, with words that only look like it.
    pub fn dialects(&self) -> impl Iterator<Item = &str> {
        let conversions = self.conversions.iter().filter_map(|conversion| conversion.recipe.as_ref());
        let recipes = conversions.chain(&self.broadcast).chain(&self.constant);
        let values = self.fitted.iter().flat_map(Fitted::texts);
        let words = recipes
            .flat_map(Recipe::texts)
            .chain(values)
            .flat_map(|text| text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))));
        let names = self.families.iter().flat_map(|family| &family.members);
        let names = names.map(|(_, pattern)| pattern.name.as_str());
        words.chain(names).filter_map(|word| Some(word.split_once('.')?.0)).filter(|word| !word.is_empty())
    }

    /// What is written for a conversion, if it is.
    pub fn conversion(&self, from: DType, to: DType) -> Option<&Conversion> {
        self.conversions.iter().find(|conversion| conversion.pair.has(from, to))
    }
}

/// Which rule of which file an op follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleId {
    /// The file, by its place in [`Rules`].
    pub file: u32,
    /// The rule, by its place in [`OpRules::ops`].
    pub rule: u32,
}

/// The files that a program is read by, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<OpRules>);

impl Rules {
    /// The rules of some files.
    pub const fn new(files: Vec<OpRules>) -> Self {
        Self(files)
    }

    /// The files.
    pub fn files(&self) -> &[OpRules] {
        &self.0
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The file of a rule.
    pub fn file(&self, id: RuleId) -> &OpRules {
        &self.0[id.file as usize]
    }

    /// One rule.
    pub fn rule(&self, id: RuleId) -> &OpRule {
        &self.file(id).ops[id.rule as usize]
    }

    /// All rules. Of two for one op the first counts, so one file may differ from another that is given after it.
    pub fn all(&self) -> impl Iterator<Item = (RuleId, &OpRule)> {
        let files = self.0.iter().zip(0..);
        files.flat_map(|(file, index)| {
            file.ops.iter().zip(0..).map(move |(rule, number)| (RuleId { file: index, rule: number }, rule))
        })
    }

    /// What a type that is no tensor of MLIR says, if a file maps it.
    pub fn read_type(&self, text: &str) -> Option<(Form, forms::Read)> {
        self.0.iter().zip(0..).find_map(|(file, index)| {
            let (form, read) = file.forms.read(text).or_else(|| {
                let lists = file.lists.as_ref()?;
                lists.is(text, &file.forms).then_some((0, forms::Read::List))
            })?;
            Some((Form::of(index, form), read))
        })
    }

    /// The type of a list, as text, whose elements are of another dtype than it says that they are.
    pub fn retype_list(&self, text: &str, dtype: DType) -> Option<String> {
        let lists = self.0.iter().filter_map(|file| Some((file.lists.as_ref()?, &file.forms)));
        lists.into_iter().find_map(|(lists, forms)| lists.retype(text, dtype, forms))
    }

    /// A tensor type in a form, as text; `None` for MLIR's own.
    pub fn write_type(
        &self,
        form: Form,
        dtype: DType,
        shape: &promote_infer::shape::Shape,
    ) -> Option<String> {
        let (file, form) = form.parts()?;
        Some(self.0.get(file)?.forms.tensors.get(form)?.write(dtype, shape))
    }
}
