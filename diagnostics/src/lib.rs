//! Diagnostics: what the passes report about a program.
//!
//! A [`Diagnostic`] carries its [`Code`], its place, notes at other places and a remedy; how it looks on a terminal
//! or in JSON is the tool's business. [`Code::explanation`] is the text of `--explain`.

use std::fmt;
use std::str::FromStr;

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Reports what was done and why.
    Remark,
    /// The program is accepted, and probably not what was meant.
    Warning,
    /// The program is refused.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Remark => "remark",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($variant:ident $code:literal $title:literal $explanation:literal;)*) => {
        /// What a diagnostic is about; stable from version to version.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $title] $variant,)* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// Its short form, as in `P0007`.
            pub const fn as_str(self) -> &'static str { match self { $(Code::$variant => $code,)* } }

            /// One line on what it is about.
            pub const fn title(self) -> &'static str { match self { $(Code::$variant => $title,)* } }

            /// What it means, an example and what to do.
            pub const fn explanation(self) -> &'static str { match self { $(Code::$variant => $explanation,)* } }
        }
    };
}

codes! {
    Mlir "P0001" "MLIR refuses the input"
"The input is not valid MLIR: the parser or the verifier of an op refused it. The message is MLIR's own.

    %0 = \"promote.add\"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // op expects exactly 2 operands, but got 1

A value must have exactly the type of the slot that it is passed to, before inference too. Where the type of the slot is unknown
(a loop carry, an argument of a block or of a private function, a result), pass the value through promote.relax. Inference
removes the relax again.

    %zero = \"promote.constant\"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %sum = scf.for … iter_args(%acc = %zero) -> (!u) {                            // P0001: !u is expected
    %init = \"promote.relax\"(%zero) : (tensor<!promote.weak_int>) -> !u
    %sum = scf.for … iter_args(%acc = %init) -> (!u) {                            // accepted

The ops and their operands are listed in dialect/promote.irdl.mlir. Ops of the promote dialect are written in MLIR's
generic form, with quotes: \"promote.add\"(%x, %y) : (type, type) -> type.";
    Unreadable "P0002" "the input cannot be read"
"The input file is missing, is a directory, is not UTF-8 text, contains a NUL byte, or is damaged bytecode.

Text must be UTF-8 without NUL bytes; MLIR bytecode is recognised by its first four bytes. Use - to read standard input.";
    TooDeep "P0003" "the input is nested too deeply"
"Regions, lists or types are nested more deeply than Promote accepts. MLIR's parser, verifier and printer are recursive, so
such an input could overflow the stack; it is refused before it is parsed.";
    UnknownAttribute "P0004" "an op has an unknown attribute"
"An attribute without a dialect prefix belongs to the op, and this op has no such attribute. Usually the name is misspelt.

    \"promote.sum\"(%x) {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>   // axis, not axes

Discardable attributes need a dialect prefix (my.note); every pass keeps them.";
    BadAttribute "P0005" "an attribute is missing or of the wrong kind"
"A required attribute is missing, or an attribute has the wrong type: lists are array<i64: 0, 1>, single axes 0 : i64,
flags true or false.

    \"promote.sum\"(%x) {axis = 0 : i64} : …       // a reduction expects a list: axis = array<i64: 0>";
    NotATensor "P0006" "an operand cannot be promoted"
"Operands of promote ops are tensors of a dtype in the promotion lattice. This operand has another type: an index, a scalar,
a memref, a tensor of index, or a tensor with an encoding.

Convert it to a tensor first, for example with tensor.from_elements.";
    NoCommonDtype "P0007" "the operands have no common dtype"
"The promotion semantics defines no common dtype for these operands. In JAX's lattice, 8-bit floats and 4-bit integers have
none with other dtypes, because any implicit choice would lose too much; under jax-strict, different strong dtypes have none.

    %0 = \"promote.add\"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> !u     // P0007
    %c = \"promote.convert\"(%x) : (tensor<4xf8E4M3FN>) -> tensor<4xbf16>          // convert explicitly
    %0 = \"promote.add\"(%c, %y) : (tensor<4xbf16>, tensor<4xbf16>) -> !u";
    RefusedDtype "P0008" "the op is not defined for this dtype"
"The library whose semantics is in use rejects the op for the dtype that its operands are promoted to: JAX, for example,
rejects the difference of two bools and the floor of a complex number.

Convert an operand with promote.convert, or use another op (logical_xor instead of a difference of bools).";
    NegativePower "P0009" "an integer is raised to a negative literal"
"An integer raised to a negative integer literal has no integer value, and JAX rejects it.

    %m = \"promote.constant\"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %0 = \"promote.pow\"(%x, %m) : (tensor<4xi32>, tensor<!promote.weak_int>) -> !u     // P0009

Convert the base to a float dtype, or use promote.reciprocal.";
    Shape "P0010" "the shapes do not fit the op"
"The shapes of the operands are not valid for the op: dimensions that must be equal differ, an axis is out of range, or a
reshape changes the number of elements. Broadcasting follows NumPy: shapes are aligned from the right, and two dimensions
are compatible if they are equal or one of them is 1.";
    StatedType "P0012" "the stated type is not the inferred type"
"The result type of the op states a dtype or shape that differs from the one that the promotion rules determine.

    %0 = \"promote.add\"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xbf16>   // inferred: f32

Write tensor<*x!promote.unknown> to have the type inferred, and add a promote.convert if the result should have another dtype.
A convert cannot make a value weak: only literals and arguments are weak to begin with.";
    UnknownDtype "P0013" "a dtype cannot be inferred"
"A value of type !promote.unknown is defined by something that inference cannot analyse: an op of another dialect, an
argument of a function, or an op that must state its dtype (constant, iota, convert). State the dtype there.";
    Unsupported "P0014" "no single type can be inferred"
"There are two causes. Only private functions may have arguments of unknown type, because they are specialised for each call
signature; public functions and declarations must state their argument types. And the type of a loop carry or of a recursive
call must reach a fixpoint: it must not change in every iteration.

State the type at that place: promote.convert returns a value of a stated dtype, promote.broadcast_to one of a stated shape.";
    RankNeeded "P0015" "an operand must be ranked"
"Whether an op broadcasts, and which axes it has, depends on the ranks of its operands; in PyTorch and NumPy 1 the dtype depends
on them too, because arrays with dimensions take precedence over those without. The operand's type is unranked.

State the rank in the operand's type: tensor<?x?xf32>, or tensor<f32> for an array without dimensions.";
    NotStrong "P0016" "a type is still weak or unknown"
"promote-verify-strong found a value whose type is still weak or unknown. Run promote-infer-types and
promote-insert-converts before it.";
    ImplicitPromotion "P0017" "an op would still promote an operand"
"promote-verify-strong found an op whose operand does not have the dtype that the op computes in. Run
promote-insert-converts before it.";
    ImplicitBroadcast "P0018" "an op would still broadcast an operand"
"promote-verify-strong found an op whose operand does not have the shape that the op computes in, or may not have it:
an operand of unknown rank. Run promote-insert-converts before it, and state the rank of unranked values.";
    LiteralRange "P0019" "a weak literal is outside the range of the dtype that uses it"
"A weak literal takes the dtype of the array that it is combined with, whatever its value. JAX wraps an integer and turns a
float into infinity or zero, which is rarely intended. NumPy 2 rejects an integer out of range, and there this is an error.

    %k = \"promote.constant\"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %0 = \"promote.add\"(%x, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u      // 300 becomes 44

Convert the array to a dtype that can represent the value, or write the intended value.";
    Unwritable "P0021" "the output cannot be written"
"The output file could not be written. Promote writes a temporary file in the same directory and renames it when it is
complete, so the directory must be writable. An existing file is unchanged.";
    Pipeline "P0022" "the pass pipeline is wrong or a pass failed"
"The pipeline is malformed, names an unknown pass, or an upstream pass failed on this input. --list-passes lists the passes
of Promote; every upstream pass is available by its usual name.";
    Expectation "P0023" "the diagnostics do not match those that the input expects"
"With --verify-diagnostics, comments in the input state the expected diagnostics:

    // expected-error@+1 {{jax has no floor of c64}}

A diagnostic was reported that no comment expects, or an expected diagnostic was not reported.";
    Roundtrip "P0024" "the module changes when it is written and read back"
"With --verify-roundtrip, the result was written as text and as bytecode and read back, and it differed. This is a bug in
Promote or in MLIR, not an error in the input: please report it.";
    SemanticsFile "P0025" "unknown semantics, or an invalid semantics file"
"--semantics takes a name (--help lists them) or a TOML file. The file cannot be read, is malformed, names an unknown dtype or
op, or its edges do not form a lattice: there is a cycle, or two dtypes have several least upper bounds.

    [edges]
    u8 = [\"i16\", \"f16\"]
    i8 = [\"i16\", \"f16\"]     # P0025: u8 and i8 have two least upper bounds: i16 and f16

Add an edge from i16 to f16, remove an edge, or add a dtype between them. Two dtypes may have no upper bound at all: programs
that mix them are refused. The comments of the files in examples/lattices explain the format.";
    Name "P0026" "an invalid symbol name"
"The name of a function, module or other symbol is empty or not valid UTF-8. MLIR cannot parse a module with an empty name,
even one that it has printed itself.

    func.func @\"\"(%x: tensor<4xf32>) { … }      // P0026

Any other name is valid. \"Names of symbols and files\" in docs/libraries.md describes how names are spelt in objects, headers
and files.";
    Converted "P0030" "an operand was converted"
"A remark, not a problem: the operands of an op have different dtypes, and this one is converted to the dtype that the op
computes in. The remark states the promotion path in the lattice and what the conversion can lose.";
    PrecisionLoss "P0031" "an implicit promotion can lose precision"
"With --warn or --deny precision-loss: the dtype that an operand is promoted to has fewer significant bits than the
operand needs, for example when an i32 is added to a bf16. Convert it to a dtype that keeps them, or make the loss explicit with
promote.convert.";
    MagnitudeLoss "P0032" "an implicit promotion can lose magnitude"
"With --warn or --deny magnitude-loss: the dtype that an operand is promoted to cannot represent its largest values,
for example when an i32 is added to an f16. Convert it to a dtype that can, or make the loss explicit with promote.convert.";
    Widening "P0033" "an implicit promotion widens to 64 bits"
"With --warn or --deny widening: an operand of at most 32 bits is promoted to 64 bits, which costs memory and time
and is often caused by a single f64 or i64. Convert that operand with promote.convert.";
    MixedSignedness "P0034" "signed and unsigned integers are mixed"
"With --warn or --deny mixed-signedness: a signed and an unsigned integer are promoted to a wider signed integer or to a
float. Convert one of them with promote.convert.";
    NoKernel "P0035" "the library has no kernel for the op"
"The dtype rules of the library determine the result type of the op, but its CPU code rejects the op, as PyTorch rejects the
product of an i32 and an f64 matrix. Compiled code could run it, but would need a conversion that the library never performs:
make it explicit with promote.convert.

With --warn or --deny no-kernel, ops that need no conversion are reported too, such as the sum of two u16 tensors in PyTorch.";
    Raised "P0036" "the type of a loop carry differs from the type of its initial value"
"A remark, with --remarks: the type of a carry is the join of the types of its initial value and of the value that each
iteration yields. The notes state in which iteration of inference the type changed, and through which ops.";
    StrictCarry "P0037" "a carry or a branch has a type that JAX refuses"
"With --strict-carries, loops and conditionals must satisfy the rules of JAX. The body of a loop must yield each carry with the
dtype and shape that it enters with; only a weak initial value may be made strong, once, in the dtype that it and the yielded
value promote to. The branches of a conditional must yield the same dtypes and shapes. Weakness is not compared: the result of
a loop is as weak as the value that the last iteration yields, that of an scf.if as the else branch, that of a switch as the
first case.

    %r = scf.for … iter_args(%c = %i32) -> (!u) {
      %d = \"promote.add\"(%c, %f32) : (!u, tensor<f32>) -> !u          // enters as i32, is yielded as f32
      scf.yield %d : !u
    }

Convert the initial value with promote.convert, or omit the flag: then the carry has the type that both promote to.";
    NotLowered "P0038" "the program cannot be lowered to the target"
"A lowering accepts strong programs of the promote dialect, with control flow and functions of upstream dialects. The message
states what it cannot lower: an op of another dialect on tensors, an op on a dtype that it is not defined for, structured
control flow where blocks are expected, or an argument type that the target does not support.";
    Entry "P0050" "the function to run was not found"
"promote-run runs a public function of the module: the only one, the one named main, or the one that --entry names. Private
functions cannot be run.";
    Argument "P0051" "an input does not match the function"
"The inputs are passed in the order of the function's arguments, one for each: .npy files, or Python literals.

    promote-run f.mlir --input x.npy --input 1.5 --input '[1, 2, 3]' --input true --input 1+2j

A file must have the dtype and shape of the argument. A literal takes the dtype of the argument, as a weakly typed value would:
an integer is accepted for a float or complex argument, a float for a complex one, but not the other way round, and its value
must be in range.";
    Array "P0052" "a .npy file cannot be used"
"The file is not an array in NumPy's format, is damaged, or holds elements that tensors cannot have: pickled objects, records,
strings.

NumPy saves bfloat16 and the other dtypes of ml_dtypes as bytes without a dtype name (<V2, <V1, <W4). They are read as the dtype
of the argument; numpy.load(path).view(ml_dtypes.bfloat16) reads such a result.";
    Run "P0053" "the program failed at run time"
"The program was compiled, and failed while it ran: dynamic extents are incompatible, an integer was divided by zero, an index
was out of range, or there is not enough memory.

Calls use the stack of the thread that they run on. A call for which there is not enough stack fails, and the message states its
place: reduce the depth of the recursion, or run with a larger stack (ulimit -s).";
    Native "P0054" "code generation failed"
"LLVM does not know the processor or rejects the module, or the system's linker failed. Linking a shared library needs cc, or
the compiler that the environment variable CC names.";
    Device "P0055" "a device cannot be used"
"There is no driver or no device of the kind that --target names, the device lacks something that the program needs, or its driver
refuses the code. PROMOTE_DEVICE names one of several devices, by its index or a part of its name.

Nothing was run. The processor runs every program: --target=cpu.";
    NotStableHlo "P0040" "StableHLO cannot express the program"
"promote-to-stablehlo found something that StableHLO cannot express: an op of another dialect, a branch between blocks, a dynamic
extent, a recursive function, a dtype that StableHLO does not have, or an op that raises an exception in the library whose
semantics is in use, such as an integer division by zero in PyTorch or an index out of range in NumPy.

    %0 = \"promote.floor_divide\"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>   // P0040 under torch

The diagnostic states what to write instead. Upstream's lift-cf-to-scf turns branches between blocks into loops and conditionals;
--emit=stablehlo runs it automatically.";
    OpRules "P0041" "op rules that cannot be read or applied"
"With --op-rules: the file is not found or not valid, or has nothing to write for what a program needs: no conversion between two
dtypes, no op of a family for a dtype, no broadcast for extents that are known at run time only. All errors of a file are
reported at once, each with its place.

    [ops]
    \"mydialect.add\" = \"ad\"       # P0041: there is no op `ad`; write add

    [convert]
    \"float -> wider float\" = \"mydialect.extend\"
    # P0041 for a program that adds an i32 and an f32: the op rules have no conversion from i32 to f32

Nothing is written that could mean another number. Add the row, or convert the operand in the program. docs/op_rules.md
describes the format; promote-opt --op-rules=help lists the files that come with Promote.";
    Internal "P0099" "an internal error"
"A pass or MLIR violated an invariant, and Promote stopped. Nothing was written. Please report it together with the input.
Damaged bytecode can crash MLIR: if the input is bytecode, generate it again from text.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A code that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no diagnostic `{0}`: codes run from {first} to {last}", first = Code::ALL[0], last = Code::ALL[Code::ALL.len() - 1])]
pub struct UnknownCode(pub String);

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(code: &str) -> Result<Self, UnknownCode> {
        let found = Self::ALL.iter().copied().find(|known| known.as_str().eq_ignore_ascii_case(code));
        found.ok_or_else(|| UnknownCode(code.to_owned()))
    }
}

/// A place in a file; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The file, as it was named.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Additional information, perhaps at another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub location: Option<Location>,
    /// What.
    pub message: String,
}

/// A message about a program. As text it is one line, without its notes and remedy:
///
/// ```
/// use promote_diagnostics::{Code, Diagnostic, Location};
///
/// let place = Location { file: "a.mlir".to_owned(), line: 3, column: 7 };
/// let found = Diagnostic::error(Code::Internal, Some(place), "this cannot be");
/// assert_eq!(found.to_string(), "a.mlir:3:7: error[P0099]: this cannot be");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub code: Code,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
    /// More, at other places.
    pub notes: Vec<Note>,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, code, message, location, notes: _, remedy: _ } = self;
        if let Some(place) = location {
            write!(f, "{place}: ")?;
        }
        write!(f, "{severity}[{code}]: {message}")
    }
}

impl Diagnostic {
    /// A diagnostic without notes and remedy.
    pub fn new(
        severity: Severity,
        code: Code,
        location: Option<Location>,
        message: impl Into<String>,
    ) -> Self {
        Self { severity, code, message: message.into(), location, notes: Vec::new(), remedy: None }
    }

    /// An error without notes and remedy.
    pub fn error(code: Code, location: Option<Location>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, location, message)
    }

    /// The same with a remedy.
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// The same with one note more.
    pub fn with_note(mut self, location: Option<Location>, message: impl Into<String>) -> Self {
        self.notes.push(Note { location, message: message.into() });
        self
    }
}
