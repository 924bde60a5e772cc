//! Diagnostics: what the passes say about a program.
//!
//! A [`Diagnostic`] carries its [`Code`], its place, notes at other places and a remedy; how it looks on a terminal
//! or in JSON is the tool's business. [`Code::explanation`] is the text behind `--explain`.

use std::fmt;
use std::str::FromStr;

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Says what was done and why.
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
"The input is no valid MLIR: the parser or the verifier of an op refused it. The message is MLIR's own.

    %0 = \"promote.add\"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // op expects exactly 2 operands, but got 1

A value that is passed on must have the very type of the place that it is passed to, before inference too. Where that is unknown, as
a loop's carry, an argument of a block or of a private function, or a result often is, pass on what promote.relax makes of the
value. Inference takes it out again.

    %zero = \"promote.constant\"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %sum = scf.for … iter_args(%acc = %zero) -> (!u) {                            // P0001: !u is expected
    %init = \"promote.relax\"(%zero) : (tensor<!promote.weak_int>) -> !u
    %sum = scf.for … iter_args(%acc = %init) -> (!u) {                            // as it is meant

The ops and their operands are listed in dialect/promote.irdl.mlir. Ops of the promote dialect are written in MLIR's
generic form, with quotes: \"promote.add\"(%x, %y) : (type, type) -> type.";
    Unreadable "P0002" "the input cannot be read"
"The input file is missing, is a directory, is not UTF-8 text, contains a NUL byte, or is damaged bytecode.

Text must be UTF-8 without NUL bytes; MLIR bytecode is recognised by its first four bytes. Use - to read standard input.";
    TooDeep "P0003" "the input is nested too deeply"
"Regions, lists or types are nested more deeply than any real program needs. MLIR's parser, verifier and printer are
recursive, so such an input could exhaust the stack; it is refused before it is parsed.";
    UnknownAttribute "P0004" "an op has an attribute it does not know"
"An attribute without a dialect prefix belongs to the op, and the op does not know this one; mostly it is misspelt.

    \"promote.sum\"(%x) {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>   // axis, not axes

Attributes of your own need a dialect prefix (my.note), and then survive every pass untouched.";
    BadAttribute "P0005" "an attribute is missing or of the wrong kind"
"The op needs an attribute that is not there, or one is written in another form than the op reads: lists are
array<i64: 0, 1>, single axes 0 : i64, flags true or false.

    \"promote.sum\"(%x) {axis = 0 : i64} : …       // a reduction takes a list: axis = array<i64: 0>";
    NotATensor "P0006" "an operand takes no part in promotion"
"Operands of promote ops are tensors of a dtype that the promotion lattice has. This one is of another type: an index, a
plain scalar, a memref, a tensor of index, or a tensor with an encoding.

Make a tensor of it first, for example with tensor.from_elements.";
    NoCommonDtype "P0007" "the operands are not promoted to one dtype"
"The promotion semantics has no common dtype for these operands. In JAX's lattice the 8-bit floats and the 4-bit integers
are such cases, because any implicit choice would lose a great deal; under jax-strict, all strong dtypes that differ.

    %0 = \"promote.add\"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> !u     // P0007
    %c = \"promote.convert\"(%x) : (tensor<4xf8E4M3FN>) -> tensor<4xbf16>          // say it instead
    %0 = \"promote.add\"(%c, %y) : (tensor<4xbf16>, tensor<4xbf16>) -> !u";
    RefusedDtype "P0008" "the op does not exist for this dtype"
"The library whose semantics was chosen refuses the op for the dtype that its operands are promoted to, as JAX refuses
to subtract bools or to take the floor of a complex number.

Convert an operand with promote.convert, or use the op that is meant (logical_xor for a difference of bools).";
    NegativePower "P0009" "an integer is raised to a negative literal"
"An integer raised to a negative integer literal has no integer value, and JAX refuses it.

    %m = \"promote.constant\"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %0 = \"promote.pow\"(%x, %m) : (tensor<4xi32>, tensor<!promote.weak_int>) -> !u     // P0009

Convert the base to a float dtype, or use promote.reciprocal.";
    Shape "P0010" "the shapes do not fit the op"
"No array of any shape comes of these operands: dimensions that must be equal differ, an axis is out of range, or a
reshape changes the number of elements. Broadcasting follows NumPy: shapes are aligned from the right, and a dimension
fits if it is equal in both or 1 in one.";
    StatedType "P0012" "the type that is written is not the type that the rules give"
"The op's result type states a dtype or shape, and the promotion rules give another.

    %0 = \"promote.add\"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xbf16>   // the rules give f32

Write tensor<*x!promote.unknown> to have it inferred, and a promote.convert for a result of another dtype, which is not
weak: only literals and arguments begin so.";
    UnknownDtype "P0013" "a dtype cannot be inferred"
"A value of type !promote.unknown comes from something that inference cannot see through: an op of another dialect, an
argument of a function, or an op that must state its dtype (constant, iota, convert). State it there.";
    Unsupported "P0014" "a type cannot be found for every run"
"Two things are refused here. Arguments of unknown type belong to private functions only, which are inferred for each
signature that they are called with: a public function or a declaration states them. And a loop's carry or a recursive call must
not have another type in every round.

State the type at that place: promote.convert gives a value of a stated dtype, promote.broadcast_to one of a stated shape.";
    RankNeeded "P0015" "a rank is needed that is not known"
"Whether an op broadcasts, and which axes it has, depends on the ranks of its operands; and PyTorch and NumPy 1 let arrays with
dimensions decide on the dtype before those without. The operand's type is unranked.

State the rank in the operand's type: tensor<?x?xf32>, or tensor<f32> for an array without dimensions.";
    NotStrong "P0016" "a weak or unknown type is left"
"promote-verify-strong found a value whose type is still weak or unknown. Run promote-infer-types and
promote-insert-converts before it.";
    ImplicitPromotion "P0017" "an op would still promote an operand"
"promote-verify-strong found an op whose operand is not of the dtype it computes in. Run promote-insert-converts before it.";
    ImplicitBroadcast "P0018" "an op would still broadcast an operand"
"promote-verify-strong found an op whose operand is not of the shape it computes in, or may not be: an operand of unknown
rank. Run promote-insert-converts before it, and give unranked values a rank.";
    LiteralRange "P0019" "a weak literal is outside the range of the dtype that uses it"
"A weak literal takes the dtype of the array it meets, whatever its value. JAX wraps an integer and lets a float become
infinite or zero; the result is rarely what was meant. NumPy 2 refuses an integer, and there this is an error.

    %k = \"promote.constant\"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %0 = \"promote.add\"(%x, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u      // 300 becomes 44

Convert the array to a dtype that holds the value, or write the value that is meant.";
    Unwritable "P0021" "the output cannot be written"
"The output file could not be written. It is written to a temporary file beside it and renamed when complete, so the
directory must be writable; what was there before is untouched.";
    Pipeline "P0022" "the pass pipeline is wrong or a pass failed"
"The pipeline is not well formed, names a pass that does not exist, or an upstream pass failed on this input.
--list-passes shows the passes of promote; every upstream pass is available by its usual name.";
    Expectation "P0023" "the diagnostics are not those that the input expects"
"With --verify-diagnostics, comments in the input announce diagnostics:

    // expected-error@+1 {{jax has no floor of c64}}

This run said something that no comment announces, or did not say what one announces.";
    Roundtrip "P0024" "the module does not survive being written and read"
"With --verify-roundtrip, the result was written as text and as bytecode, read again, and came out different. That is an
error of Promote or of MLIR, not of the input: please report it.";
    SemanticsFile "P0025" "there is no such semantics, or its file is wrong"
"--semantics takes a name (--help lists them) or a TOML file. The file cannot be read, is not well formed, names a dtype or
op that does not exist, or its edges are no lattice: a dtype would be promoted to itself, or two dtypes have several least
upper bounds.

    [edges]
    u8 = [\"i16\", \"f16\"]
    i8 = [\"i16\", \"f16\"]     # P0025: u8 and i8 have two least upper bounds: i16 and f16

Let i16 be promoted to f16, take an edge away, or add a dtype between. Two dtypes without any upper bound are allowed:
programs that mix them are refused. The files in examples/lattices explain themselves.";
    Name "P0026" "a name that no symbol has"
"The name of a function, module or other symbol is empty, or its bytes are not UTF-8. MLIR cannot read back a module with an
empty name that it has printed itself.

    func.func @\"\"(%x: tensor<4xf32>) { … }      // P0026

Any other name will do, and is found again in objects, headers and files: \"Names of symbols and files\" in docs/libraries.md
says how it is written there.";
    Converted "P0030" "an operand was converted"
"A remark, not a problem: the operands of an op have different dtypes, and this one is converted to the dtype the op
computes in. The remark names the path it is promoted along in the lattice and what the conversion can lose.";
    PrecisionLoss "P0031" "an implicit promotion can lose precision"
"With --warn or --deny precision-loss: the dtype that an operand is promoted to has fewer significant bits than the operand
needs, as when an i32 meets a bf16. Convert it to a dtype that keeps them, or say with promote.convert that the loss is meant.";
    MagnitudeLoss "P0032" "an implicit promotion can lose magnitude"
"With --warn or --deny magnitude-loss: the dtype that an operand is promoted to does not hold its largest values, as when an
i32 meets an f16. Convert it to a dtype that does, or say with promote.convert that the loss is meant.";
    Widening "P0033" "an implicit promotion widens to 64 bits"
"With --warn or --deny widening: an operand of at most 32 bits is promoted to 64 bits, which costs memory and time and is
often the work of one stray f64 or i64. Convert that one with promote.convert.";
    MixedSignedness "P0034" "signed and unsigned integers are mixed"
"With --warn or --deny mixed-signedness: a signed and an unsigned integer meet, and are promoted to a wider signed integer
or to a float. Convert one of them with promote.convert.";
    NoKernel "P0035" "the library has no code for the op"
"The dtype rules of the library say what the op gives, and its CPU code refuses to run it, as PyTorch's refuses products of
an i32 and an f64 matrix. Compiled code can, but the library never made that conversion: say with promote.convert what is meant.

With --warn or --deny no-kernel, ops are found too that need no conversion, such as the sum of two u16 tensors in PyTorch.";
    Raised "P0036" "a loop gives its carry another type than it begins with"
"With --remarks: the type that a carry has in the end is what its initial value and what each round gives promote to. The
notes tell which round made it what, through which ops.";
    StrictCarry "P0037" "a carry or a branch has a type that JAX refuses"
"With --strict-carries, loops and conditions must be such as JAX takes them: a carry comes out with the dtype and shape
that it went in with, but that a weak initial value may be made strong once, in the dtype that it and what comes out
promote to; and branches give the same dtypes and shapes. Weakness does not matter to that; a loop's result is as weak as
what its last round gives, that of a condition as the branch for no, that of a switch as the first case.

    %r = scf.for … iter_args(%c = %i32) -> (!u) {
      %d = \"promote.add\"(%c, %f32) : (!u, tensor<f32>) -> !u          // goes in as i32, comes out as f32
      scf.yield %d : !u
    }

Convert the initial value with promote.convert, or run without the flag: then the carry has the type that both promote to.";
    NotLowered "P0038" "a program that cannot be lowered to a target"
"A lowering takes strong programs of the promote dialect, with control flow and functions of upstream dialects, and makes
code of them. The message says what it found that it makes no code for: an op of another dialect on tensors, an op on a
dtype for which it has no definition, structured control flow where blocks are expected, or a type that no function of the
target can take.";
    Entry "P0050" "there is no such function to run"
"promote-run runs a public function of the module: the only one, the one that is called main, or the one that --entry names.
Private functions are not seen from outside.";
    Argument "P0051" "an input does not fit the function"
"The inputs are given in the order of the function's arguments, one each: .npy files, or literals as Python writes them.

    promote-run f.mlir --input x.npy --input 1.5 --input '[1, 2, 3]' --input true --input 1+2j

A file has the dtype and shape of the argument. A literal takes its dtype, as a weakly typed value would: an integer is taken
for a float or complex argument, a float for a complex one, but not the other way round, and its value must be in range.";
    Array "P0052" "a .npy file cannot be used"
"The file is no array in NumPy's format, is damaged, or holds what tensors do not have: pickled objects, records, texts.

NumPy saves bfloat16 and the other dtypes of ml_dtypes as bytes without a name (<V2, <V1, <W4). They are taken for what the
argument is; numpy.load(path).view(ml_dtypes.bfloat16) reads such a result.";
    Run "P0053" "the run failed"
"The program was compiled and started, and something happened that the semantics refuse or the machine cannot do: extents that
only a run knows do not fit, an integer was divided by zero, an index was out of range, or there is not enough memory.

Functions that call each other use the stack of the thread that runs them. A call that it does not hold is refused with the
place of the call: recurse less deep, or run with a larger stack (ulimit -s).";
    Native "P0054" "no code can be made"
"LLVM does not know the processor, or refuses the module; or the system's linker failed. Compiling a shared library needs cc,
or what the environment's CC names.";
    NotStableHlo "P0040" "StableHLO does not express this"
"promote-to-stablehlo found something that no StableHLO program says: an op of another dialect, a branch between blocks,
extents that only a run knows, a recursive function, a dtype that StableHLO does not have, or an op that raises an exception
in the library whose semantics was chosen, such as an integer division by zero in PyTorch or an index out of range in NumPy.

    %0 = \"promote.floor_divide\"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>   // P0040 under torch

The diagnostic says what to write instead. Branches between blocks become loops and conditions with upstream's
lift-cf-to-scf, which --emit=stablehlo runs by itself.";
    Internal "P0099" "an internal error"
"A pass, or MLIR, did something it must never do, and Promote stopped. Nothing was written. Please report it with the
input. Damaged bytecode can crash MLIR: if the input is bytecode, make it anew from text.";
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

/// Something more to say, perhaps at another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub location: Option<Location>,
    /// What.
    pub message: String,
}

/// One thing said about a program.
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
