//! The IR of a host, as the passes see it: ops with operands, results, regions and successors, in blocks.
//!
//! A host implements [`Ir`] once; everything in this crate is written over it. Handles are small and stay what they are while
//! what they stand for exists. What the passes hand to a method is of the program that they run on, and exists: a handle of
//! what was [erased](Ir::erase) is never used again.

mod kinds;

use std::fmt::Debug;
use std::hash::Hash;

use promote_diagnostics::Location;
use promote_dialect::attrs::Value as Attribute;
use promote_infer::graph::ValueId;
use promote_infer::shape::Shape;
use promote_lattice::DType;
use promote_lattice::convert::Bits;

pub use self::kinds::{Flow, KINDS, Kind};
use crate::rules::{Form, Pattern, Rules};

/// What stands for something of the IR: equal handles are the same thing.
pub trait Handle: Copy + Eq + Hash + Debug + Send + Sync {}

impl<T: Copy + Eq + Hash + Debug + Send + Sync> Handle for T {}

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A dtype.
    DType(DType),
    /// `!promote.unknown`.
    Unknown,
    /// Another type.
    Other,
}

/// What a tensor type says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Of which elements.
    pub element: Element,
    /// In which shape; extents that are known at run time only are [`DYNAMIC`](promote_infer::shape::DYNAMIC).
    pub shape: Shape,
}

/// Who sees a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody.
    Public,
    /// What stands in the same symbol table, or in it.
    Private,
    /// What the IR says otherwise, as `nested`.
    Other,
}

/// The types of what a function takes and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<T> {
    /// Of its arguments.
    pub inputs: Vec<T>,
    /// Of its results.
    pub results: Vec<T>,
}

/// A unit attribute by which passes tell each other something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// `promote.implicit`: the program did not write the op.
    Implicit,
    /// `promote.checked`: before the op a run checks what it asks of its extents.
    Checked,
}

impl Mark {
    /// The name of the attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Implicit => "promote.implicit",
            Self::Checked => "promote.checked",
        }
    }
}

/// An op that the passes make; constants of the dialect have a [method](Ir::create_constant) of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum New<'a> {
    /// `promote.convert`, marked as implicit.
    Convert,
    /// `promote.broadcast_to`.
    Broadcast {
        /// The attribute `shape`.
        shape: &'a [i64],
        /// Whether it is marked as implicit.
        is_implicit: bool,
        /// Whether it is marked as checked.
        is_checked: bool,
    },
    /// `tensor.cast`: the same tensor, of which the type says more or less.
    Cast,
    /// `ub.poison`.
    Poison,
    /// `tensor.dim`: the extent of a tensor along a dimension, which is an index.
    Dim,
    /// `tensor.rank`, an index.
    Rank,
    /// `arith.constant`, an index.
    Index(i64),
    /// `arith.cmpi eq` of indices.
    Equal,
    /// `arith.cmpi ne` of indices.
    NotEqual,
    /// `arith.ori` of truth values.
    Or,
    /// `arith.muli` of indices.
    Multiply,
    /// `arith.remsi` of indices.
    Remainder,
    /// `cf.assert`: ends a run with this message unless its operand, a truth value, holds.
    Assert(&'a str),
}

/// Dense ids of values.
pub trait ValueIds<V>: Default {
    /// The id of a value, if it has one.
    fn get(&mut self, value: V) -> Option<ValueId>;

    /// Gives a value its id.
    fn insert(&mut self, value: V, id: ValueId);
}

/// A host's IR. See the [module](self).
pub trait Ir {
    /// An op.
    type Op: Handle;
    /// A result of an op or an argument of a block.
    type Value: Handle;
    /// A block.
    type Block: Handle;
    /// A region.
    type Region: Handle;
    /// A type.
    type Type: Handle;
    /// The name of an op.
    type Name: Handle;
    /// A map from values.
    type Ids: ValueIds<Self::Value>;

    /// Does `work` on every item, perhaps on several threads, and returns what comes of it in the items' order. The items
    /// are of different functions, or `work` changes nothing.
    fn map<T: Send, R: Send>(
        &mut self,
        items: Vec<T>,
        work: impl Fn(&mut Self, T) -> R + Sync + Send,
    ) -> Vec<R>;

    // What an op is.

    /// What an op is to the passes.
    fn kind(&self, op: Self::Op) -> Kind;

    /// The name of an op.
    fn name(&self, op: Self::Op) -> Self::Name;

    /// A name as text, as in `func.func`.
    fn name_text(&self, name: Self::Name) -> String;

    /// The place that an op itself says it comes from.
    fn location(&self, op: Self::Op) -> Option<Location>;

    // How ops, regions and blocks stand to each other.

    /// The op that has the region that an op stands in.
    fn parent(&self, op: Self::Op) -> Option<Self::Op>;

    /// The block that an op stands in; it stands in one.
    fn block(&self, op: Self::Op) -> Self::Block;

    /// The op after an op in its block.
    fn next(&self, op: Self::Op) -> Option<Self::Op>;

    /// The regions of an op.
    fn regions(&self, op: Self::Op) -> impl Iterator<Item = Self::Region>;

    /// Whether an op has regions.
    fn has_regions(&self, op: Self::Op) -> bool;

    /// The blocks that an op may go on to.
    fn successors(&self, op: Self::Op) -> impl ExactSizeIterator<Item = Self::Block>;

    /// The blocks of a region.
    fn blocks(&self, region: Self::Region) -> impl Iterator<Item = Self::Block>;

    /// The ops of a block.
    fn operations(&self, block: Self::Block) -> impl Iterator<Item = Self::Op>;

    /// The last op of a block.
    fn last(&self, block: Self::Block) -> Option<Self::Op>;

    /// The arguments of a block.
    fn arguments(&self, block: Self::Block) -> impl ExactSizeIterator<Item = Self::Value>;

    /// The region that a block stands in.
    fn region(&self, block: Self::Block) -> Self::Region;

    /// The op that has the region that a block stands in.
    fn parent_of_block(&self, block: Self::Block) -> Self::Op;

    /// Whether a block is the only one of its region.
    fn is_alone(&self, block: Self::Block) -> bool;

    /// The op that others may stand before: `op`, or its parent if that holds ops which combine results and no others.
    fn outside_of_combining(&self, op: Self::Op) -> Self::Op;

    /// Whether an op is the same as another one, or stands after it in its block.
    fn is_same_or_after(&self, op: Self::Op, other: Self::Op) -> bool {
        std::iter::successors(Some(other), |other| self.next(*other)).any(|other| other == op)
    }

    // Values.

    /// The operands of an op.
    fn operands(&self, op: Self::Op) -> impl ExactSizeIterator<Item = Self::Value>;

    /// One operand of an op, which has it.
    fn operand(&self, op: Self::Op, index: usize) -> Self::Value;

    /// The results of an op.
    fn results(&self, op: Self::Op) -> impl ExactSizeIterator<Item = Self::Value>;

    /// The first result of an op, which has one.
    fn result(&self, op: Self::Op) -> Self::Value;

    /// The type of a value.
    fn value_type(&self, value: Self::Value) -> Self::Type;

    /// The op that defines a value, unless that is an argument of a block.
    fn defining_op(&self, value: Self::Value) -> Option<Self::Op>;

    /// The block of which a value is an argument.
    fn argument_block(&self, value: Self::Value) -> Self::Block;

    /// Which argument of its block a value is.
    fn argument_number(&self, value: Self::Value) -> usize;

    /// The place of an argument of a block.
    fn location_of_argument(&self, value: Self::Value) -> Option<Location>;

    /// The ops that use a value, once a use.
    fn users(&self, value: Self::Value) -> impl Iterator<Item = Self::Op>;

    /// How many uses a value has.
    fn use_count(&self, value: Self::Value) -> usize {
        self.users(value).count()
    }

    /// Whether a value is used.
    fn is_used(&self, value: Self::Value) -> bool;

    // Types.

    /// What a type says, if it is a tensor's. One with an encoding is of another element type.
    fn tensor(&self, r#type: Self::Type) -> Option<Tensor>;

    /// The tensor type of a dtype and a shape.
    fn tensor_type(&self, dtype: DType, shape: &Shape) -> Self::Type;

    /// Whether a type has a type of the dialect anywhere in it, as a function type or tuple may.
    fn mentions_promote(&self, r#type: Self::Type) -> bool;

    /// Whether a type has the unknown type anywhere in it.
    fn mentions_unknown(&self, r#type: Self::Type) -> bool;

    /// A type as messages write it, as MLIR does.
    fn type_text(&self, r#type: Self::Type) -> String;

    // Other dialects.

    /// The rules by which ops of other dialects follow those of ours, if there are any: a [foreign](Kind::Foreign) op names one.
    /// An op that a rule names is foreign if it has no regions, and a tensor among the operands that take part.
    fn rules(&self) -> Option<&Rules> {
        None
    }

    /// In which form a type is written.
    fn form(&self, _type: Self::Type) -> Form {
        Form::BUILTIN
    }

    /// In which form the type of a value is written.
    fn form_of(&self, value: Self::Value) -> Form {
        match self.rules() {
            Some(_) => self.form(self.value_type(value)),
            None => Form::BUILTIN,
        }
    }

    /// The tensor type of a dtype and a shape in a form that [another type](Ir::form) is written in.
    fn tensor_type_in(&self, _form: Form, dtype: DType, shape: &Shape) -> Self::Type {
        self.tensor_type(dtype, shape)
    }

    /// The dtype that a scalar of another dialect's language counts as, if a type is one's.
    fn scalar(&self, _type: Self::Type) -> Option<DType> {
        None
    }

    /// Whether a type is that of a list of tensors.
    fn is_list(&self, _type: Self::Type) -> bool {
        false
    }

    /// The type of a list with elements of another dtype, if it says of which dtype they are.
    fn retyped_list(&self, _list: Self::Type, _dtype: DType) -> Option<Self::Type> {
        None
    }

    /// The value of a constant of the dialect as the text of an attribute.
    fn value_text(&self, _constant: Self::Op) -> Option<String> {
        None
    }

    /// Writes ops given as text before an op, at the place of that one. They may take the operand, which the text calls
    /// [`%x`](crate::rules::OPERAND), and make a value of that type, which it calls [`%result`](crate::rules::RESULT).
    ///
    /// # Errors
    /// Why the text is none of ops that do so.
    fn write(
        &mut self,
        _text: &str,
        _operand: Option<Self::Value>,
        _result: Self::Type,
        _before: Self::Op,
    ) -> Result<Self::Value, String> {
        Err("this host reads no ops from rule files".to_owned())
    }

    /// Puts the op of a pattern in the place of an op of another one, with the same operands and results, and the same
    /// discardable attributes but those that the patterns state.
    ///
    /// # Errors
    /// Why there is no such op.
    fn respell(&mut self, _op: Self::Op, _from: &Pattern, _to: &Pattern) -> Result<(), String> {
        Err("this host makes no ops of other dialects".to_owned())
    }

    /// Gives an attribute of an op of another dialect a value, as MLIR writes it.
    ///
    /// # Errors
    /// Why it is none.
    fn set_attribute(&mut self, _op: Self::Op, _name: &str, _value: &str) -> Result<(), String> {
        Err("this host changes no ops of other dialects".to_owned())
    }

    /// Whether an op is the one that a pattern describes.
    fn is(&self, _op: Self::Op, _pattern: &Pattern) -> bool {
        false
    }

    // Attributes.

    /// Whether an op has attributes.
    fn has_attributes(&self, op: Self::Op) -> bool;

    /// The attributes of an op of the dialect.
    fn attributes(&self, op: Self::Op) -> Vec<(String, Attribute)>;

    /// An attribute of an op of any dialect.
    fn attribute(&self, op: Self::Op, name: &str) -> Option<Attribute> {
        self.attributes(op).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Whether an op has a mark.
    fn is_marked(&self, op: Self::Op, mark: Mark) -> bool;

    /// Marks an op.
    fn mark(&mut self, op: Self::Op, mark: Mark);

    /// The type that the value of a constant of the dialect is written in, if it has one with elements.
    fn written_type(&self, op: Self::Op) -> Option<Self::Type>;

    /// The elements of a constant of the dialect, of the dtype that its value is written in, in row-major order; one, if all
    /// are the same. `None` if they cannot be read.
    fn elements(&self, op: Self::Op, dtype: DType) -> Option<Vec<Bits>>;

    // Functions and symbols.

    /// The name that an op gives itself in its symbol table.
    fn symbol(&self, op: Self::Op) -> Option<String>;

    /// Gives an op another name in its symbol table, and nothing that names it.
    fn set_symbol(&mut self, op: Self::Op, name: &str);

    /// A name like this one that the IR can write.
    fn symbol_like(&self, name: String) -> String;

    /// Who sees a function.
    fn visibility(&self, function: Self::Op) -> Visibility;

    /// What a function takes and returns.
    fn signature(&self, function: Self::Op) -> Option<Signature<Self::Type>>;

    /// The type of a function, as the program writes it; empty for another op.
    fn signature_text(&self, function: Self::Op) -> String;

    /// Gives a function another type.
    fn set_signature(&mut self, function: Self::Op, signature: &Signature<Self::Type>);

    /// The function that a call names.
    fn callee(&self, call: Self::Op) -> Option<String>;

    /// Lets a call name another function.
    fn set_callee(&mut self, call: Self::Op, name: &str);

    /// The symbols that an op names, but for the callee of a call.
    fn symbols_named(&self, op: Self::Op) -> Vec<String>;

    // Changes.

    /// Gives a value another type.
    fn set_type(&mut self, value: Self::Value, r#type: Self::Type);

    /// Lets one operand of an op be another value.
    fn set_operand(&mut self, op: Self::Op, index: usize, value: Self::Value);

    /// Lets all uses of one value use another.
    fn replace_all_uses(&mut self, of: Self::Value, with: Self::Value);

    /// Makes an op, in no block yet, at the place of the op that it is `made_for`. The type of its result is given where the
    /// kind of op does not say it.
    fn create(
        &mut self,
        new: New<'_>,
        operands: &[Self::Value],
        result: Option<Self::Type>,
        made_for: Self::Op,
    ) -> Self::Op;

    /// Makes a constant of the dialect, in no block yet, with the place of another op and its attributes but `value`. The
    /// value is of the type `written`, whose dtype the elements have; a single one stands for all.
    fn create_constant(
        &mut self,
        elements: (&[Bits], DType),
        written: Self::Type,
        result: Self::Type,
        like: Self::Op,
    ) -> Self::Op;

    /// Lets a constant of the dialect be of other elements and another type, as [`create_constant`](Self::create_constant)
    /// takes them. What uses it uses the new one.
    fn rewrite_constant(
        &mut self,
        elements: (&[Bits], DType),
        written: Self::Type,
        result: Self::Type,
        constant: Self::Op,
    ) {
        let new = self.create_constant(elements, written, result, constant);
        self.insert_after(new, constant);
        self.replace_all_uses(self.result(constant), self.result(new));
        // Nothing uses the constant that the new one is made like.
        self.erase(constant);
    }

    /// A copy of an op with all that is in it, in no block yet.
    fn copy(&mut self, op: Self::Op) -> Self::Op;

    /// Puts a new op before another in its block.
    fn insert_before(&mut self, new: Self::Op, other: Self::Op);

    /// Puts a new op after another in its block.
    fn insert_after(&mut self, new: Self::Op, other: Self::Op);

    /// Puts an op before another, which may be of another block.
    fn move_before(&mut self, op: Self::Op, other: Self::Op);

    /// Erases an op, with all that is in it. Nothing uses its results, and no handle to it is used again.
    fn erase(&mut self, op: Self::Op);
}
