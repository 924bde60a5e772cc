//! Functions: the entry, helpers that others call, and recursion.

use super::choices::Choices;
use promote_lattice::semantics::Operand;
use promote_lattice::{DType, Kind, Op, Semantics};

use super::arguments::{self, Parameter};
use super::body::{Callable, OPEN, Precision, Profile, Sort, Tensor, Writer, sort_of};
use super::flow::open;
use super::{Dynamic, Generated, Options};

/// The dtypes that a semantics promotes with integers and floats, and complex ones if they are to be among them. Where it
/// does not promote integers and floats together, those that JAX promotes.
pub(super) fn dtypes(semantics: &Semantics, options: &Options, complex: bool) -> Vec<DType> {
    let others = [DType::I32, DType::F32];
    if !is_promoted(semantics, others) {
        let jax = Semantics::by_name("jax", true).expect("jax is known");
        return dtypes(&jax, &Options { semantics: "jax".to_owned(), x64: true, ..options.clone() }, complex);
    }
    let has_64_bits = options.semantics != "jax" || options.x64;
    let is_taken = |dtype: &DType| {
        (complex || dtype.kind() != Kind::Complex)
            && (has_64_bits || dtype.real_part().bits() < 64)
            && others.into_iter().all(|other| is_promoted(semantics, [*dtype, other]))
    };
    DType::strong().filter(is_taken).collect()
}

/// Whether a semantics promotes two dtypes, and computes with what they are promoted to.
fn is_promoted(semantics: &Semantics, dtypes: [DType; 2]) -> bool {
    let sum = semantics.infer(Op::Add, &dtypes.map(Operand::value));
    sum.is_ok_and(|typing| typing.is_some_and(|typing| typing.has_kernel))
}

const SHAPES: &[&[usize]] = &[&[], &[4], &[4], &[1], &[3, 1], &[3, 4], &[1, 4]];

/// The module of a seed.
pub(super) fn module(mut rng: Choices, options: &Options) -> Generated {
    let complex = rng.below(12) == 0;
    let dynamic = rng.below(5) == 0;
    let semantics = Semantics::by_name(&options.semantics, options.x64);
    let semantics = semantics.unwrap_or_else(|unknown| panic!("{unknown}"));
    let profile = Profile {
        dtypes: dtypes(&semantics, options, complex),
        semantics,
        complex,
        aligned: dynamic && options.dynamic == Dynamic::Equal,
        any_of: Vec::new(),
    };
    let count = 2 + rng.below(3);
    let parameters: Vec<Parameter> = (0..count).map(|_| parameter(&mut rng, &profile, dynamic)).collect();
    let mut generator = Generator { rng, profile, next: 0, callables: Vec::new() };
    let mut text = format!("{OPEN} = tensor<*x!promote.unknown>\n");
    for number in 0..generator.rng.below(4) {
        text.push_str(&generator.helper(number, &parameters));
    }
    text.push_str(&generator.main(&parameters));
    let semantics = &generator.profile.semantics;
    let arguments = arguments::values(&mut generator.rng, &parameters, |dtype| semantics.strengthen(dtype));
    Generated { text, arguments }
}

fn parameter(rng: &mut Choices, profile: &Profile, dynamic: bool) -> Parameter {
    let weak = [DType::WeakInt, DType::WeakFloat];
    let dtype = match rng.below(7) {
        0 => weak[rng.below(weak.len())],
        _ => profile.dtypes[rng.below(profile.dtypes.len())],
    };
    let shape = match (profile.aligned, rng.below(4)) {
        (true, 0) => &[][..],
        (true, _) => &[4],
        (false, _) => SHAPES[rng.below(SHAPES.len())],
    };
    let open = shape.iter().map(|_| dynamic && rng.below(3) > 0).collect();
    let mut extents = shape.to_vec();
    if dynamic && !profile.aligned {
        // What is not known before a run may be anything in it.
        let extent = |(extent, open): (&mut usize, &bool)| {
            if *open && rng.below(4) == 0 {
                *extent = [1, 4, 3][rng.below(3)];
            }
        };
        extents.iter_mut().zip(&open).for_each(extent);
    }
    Parameter { dtype, extents, open }
}

struct Generator {
    rng: Choices,
    profile: Profile,
    next: usize,
    callables: Vec<Callable>,
}

/// How a helper calls itself, if it does.
#[derive(Clone, Copy)]
enum Recursion {
    None,
    Condition,
    Blocks,
}

impl Generator {
    /// A writer of a function whose last arguments are `%n` and, if `flag` is that, `%c`; else `%z` says whether `%n` is 0.
    fn writer<'a>(&'a mut self, callables: &'a [Callable], budget: usize, flag: &str) -> Writer<'a> {
        let mut writer = Writer {
            rng: &mut self.rng,
            profile: &self.profile,
            callables,
            out: String::new(),
            indent: 1,
            next: &mut self.next,
            scope: Vec::new(),
            indices: Vec::new(),
            flags: Vec::new(),
            budget,
            is_inexact: false,
        };
        writer.prelude(flag);
        writer
    }

    /// The public function that a run begins with.
    fn main(&mut self, parameters: &[Parameter]) -> String {
        let callables = self.callables.clone();
        let budget = 12 + self.rng.below(14);
        let dynamic = parameters.iter().any(|parameter| parameter.open.contains(&true));
        let known =
            |parameter: &Parameter, aligned: bool| (aligned || !dynamic).then(|| parameter.extents.clone());
        let aligned = self.profile.aligned;
        let mut writer = self.writer(&callables, budget, "%c");
        let mut list = Vec::new();
        for (index, parameter) in parameters.iter().enumerate() {
            let name = format!("%x{index}");
            list.push(format!("{name}: {}", parameter.text()));
            let (text, sort) = (parameter.text(), sort_of(parameter.dtype));
            let (dtype, shape) = (Some(parameter.dtype), known(parameter, aligned));
            let precision = Precision::Exact;
            writer.scope.push(Tensor { name, text, sort, dtype, shape, precision });
        }
        writer.statements(budget, true);
        let returned: Vec<Tensor> = writer.scope.iter().rev().take(5).cloned().collect();
        let names: Vec<String> = returned.iter().map(|tensor| writer.relaxed(tensor)).collect();
        let types = open(names.len());
        writer.line(format!("return {} : {types}", names.join(", ")));
        let body = writer.out;
        let list = list.join(", ");
        format!("func.func @main({list}, %n: index, %c: i1) -> ({types}) {{\n{body}}}\n")
    }

    /// A private function. Two in a row may call each other.
    fn helper(&mut self, number: usize, parameters: &[Parameter]) -> String {
        let name = format!("h{number}");
        let recursion = [Recursion::None, Recursion::Condition, Recursion::Blocks][self.rng.below(3)];
        let stated = self.rng.below(6) == 0;
        let count = 1 + self.rng.below(2);
        let arguments: Vec<String> = (0..count)
            .map(|i| if stated && !self.profile.aligned { parameters[i].text() } else { OPEN.to_owned() })
            .collect();
        let results = 1 + self.rng.below(2);
        let this = Callable { name: name.clone(), arguments, results };
        let mutual = !matches!(recursion, Recursion::None) && !stated && self.rng.below(3) == 0;
        let partner = Callable { name: format!("{name}_other"), ..this.clone() };
        let mut text = if mutual {
            self.function(&this, recursion, &partner) + &self.function(&partner, Recursion::Condition, &this)
        } else {
            self.function(&this, recursion, &this)
        };
        if stated && !self.profile.aligned && self.rng.flag() {
            text = text.replacen("func.func private", "func.func", 1);
        }
        self.callables.push(this);
        text
    }

    fn function(&mut self, this: &Callable, recursion: Recursion, next: &Callable) -> String {
        let callables = self.callables.clone();
        let budget = 4 + self.rng.below(6);
        let aligned = self.profile.aligned;
        let mut writer = self.writer(&callables, budget, "%z");
        let mut list = Vec::new();
        for (index, text) in this.arguments.iter().enumerate() {
            let name = format!("%x{index}");
            list.push(format!("{name}: {text}"));
            let shape = aligned.then(|| vec![4]);
            let sort = if text.contains("xi1>") || text.contains("<i1>") { Sort::Bool } else { Sort::Number };
            writer.scope.push(Tensor { text: text.clone(), ..Tensor::open(name, sort, shape) });
        }
        match recursion {
            Recursion::None => writer.statements(budget, true),
            Recursion::Condition => writer.recursion_in_regions(next),
            Recursion::Blocks => writer.recursion_in_blocks(next),
        }
        let names = writer.results_of(this.results);
        let types = open(this.results);
        writer.line(format!("return {} : {types}", names.join(", ")));
        let (body, list) = (writer.out, list.join(", "));
        format!("func.func private @{}({list}, %n: index) -> ({types}) {{\n{body}}}\n", this.name)
    }
}

impl Writer<'_> {
    /// What a helper may return.
    fn results_of(&mut self, count: usize) -> Vec<String> {
        let aligned = self.profile.aligned;
        let fits = |tensor: &Tensor| {
            tensor.sort != Sort::Bool && (!aligned || tensor.shape.as_deref() == Some(&[4]))
        };
        (0..count)
            .map(|_| {
                let found = self.pick(fits).unwrap_or_else(|| self.literal());
                self.relaxed(&found)
            })
            .collect()
    }

    /// Calls `next` with one level less to go.
    fn recur(&mut self, next: &Callable) {
        let level = self.fresh("%l");
        self.line(format!("{level} = arith.subi %n, %c1 : index"));
        let open = next.arguments.iter().all(|argument| argument == OPEN);
        let arguments: Vec<String> = match open {
            true => self.results_of(next.arguments.len()),
            false => (0..next.arguments.len()).map(|index| format!("%x{index}")).collect(),
        };
        self.call_of(&next.name, arguments, &next.arguments, level, next.results);
    }

    fn recursion_in_regions(&mut self, next: &Callable) {
        self.statements(1, true);
        let result = self.fresh("%r");
        self.line(format!("{result} = scf.if %z -> ({OPEN}) {{"));
        let scope = self.scope.len();
        self.indent += 1;
        self.statements(1, false);
        let base = self.results_of(1).join("");
        self.line(format!("scf.yield {base} : {OPEN}"));
        self.scope.truncate(scope);
        self.indent -= 1;
        self.line("} else {");
        self.indent += 1;
        self.recur(next);
        self.statements(2, false);
        let step = self.results_of(1).join("");
        self.line(format!("scf.yield {step} : {OPEN}"));
        self.scope.truncate(scope);
        self.indent -= 1;
        self.line("}");
        let shape = self.profile.aligned.then(|| vec![4]);
        self.scope.push(Tensor::open(result, Sort::Number, shape));
    }

    fn recursion_in_blocks(&mut self, next: &Callable) {
        self.statements(1, true);
        let [base, step, end] = [(); 3].map(|()| self.fresh("^bb"));
        self.line(format!("cf.cond_br %z, {base}, {step}"));
        let scope = self.scope.len();
        self.line(format!("{base}:"));
        self.statements(1, false);
        let value = self.results_of(1).join("");
        self.line(format!("cf.br {end}({value} : {OPEN})"));
        self.scope.truncate(scope);
        self.line(format!("{step}:"));
        self.recur(next);
        self.statements(2, false);
        let value = self.results_of(1).join("");
        self.line(format!("cf.br {end}({value} : {OPEN})"));
        self.scope.truncate(scope);
        let name = self.fresh("%p");
        self.line(format!("{end}({name}: {OPEN}):"));
        let shape = self.profile.aligned.then(|| vec![4]);
        self.scope.push(Tensor::open(name, Sort::Number, shape));
    }
}
