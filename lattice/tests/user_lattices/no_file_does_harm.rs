use super::*;

/// Numbers that look random, and are the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a bound, or 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const TOKENS: &[&str] = &[
    "\"i*\"",
    "\"f*\"",
    "u8",
    "i8",
    "i16",
    "i64",
    "u64",
    "bf16",
    "f16",
    "f32",
    "f64",
    "c64",
    "c128",
    "b1",
    "\"c*\"",
    "\"f8e5m2\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\"",
    "'",
    "#",
    "\n",
    "[edges]",
    "[remove]",
    "[defaults]",
    "[ops.add]",
    "[ops.sum]",
    "base",
    "without",
    "compute",
    "accepts",
    "refuse",
    "true",
    "'widest'",
    "'float'",
    "'number'",
    "'index'",
    "'real'",
    "'jax'",
    "'jax-strict'",
    "'python'",
    "int",
    "float",
    "small-float",
    "complex",
    "unsigned",
    "bool",
    "1e999",
    "0x",
    "名",
    "\u{0}",
    "\r",
    "\"\"\"",
    "'''",
    "\\u",
];

/// What the examples leave out: a base with functions of its own, other defaults than the base's, and ops of all sorts.
const MORE: &str = "
        base = 'python'
        [edges]
        i8 = ['i64']
        u8 = ['i64']
        f32 = ['f64', 'c64']
        'f*' = ['f32']
        'c*' = ['c64']
        c64 = ['c128']
        'i*' = ['i8', 'u8']
        [defaults]
        int = 'i64'
        float = 'f64'
        complex = 'c128'
        unsigned = 'u8'
        bool = 'u8'
        small-float = 'f32'
        [ops.divide]
        compute = 'float'
        accepts = ['integer', 'float']
        [ops.sum]
        compute = 'widest'
        accepts = ['bool', 'integer']
        [ops.sub]
        compute = 'number'
        [ops.argmax]
        result = 'index'
        [ops.abs]
        result = 'real'
        [ops.where]
        compute = 'f32'
        [ops.less]
        result = 'bool'
        compute = 'default-number'
    ";

fn mutate(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(4) {
        text = mutate_once(&text, random);
    }
    text
}

fn mutate_once(text: &str, random: &mut Random) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let words: Vec<&str> = text.split_inclusive([' ', '"', ',', '\n']).collect();
    let swapped = |parts: &[&str], random: &mut Random| {
        let mut parts = parts.to_vec();
        let (a, b) = (random.below(parts.len()), random.below(parts.len()));
        if !parts.is_empty() {
            parts.swap(a, b);
        }
        parts.concat()
    };
    match random.below(8) {
        0 => {
            let mut bytes = text.as_bytes().to_vec();
            let at = random.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => text[..text.floor_char_boundary(random.below(text.len()))].to_owned(),
        2 => {
            let gone = random.below(lines.len());
            lines.iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, line)| *line).collect()
        }
        3 => {
            let twice = random.below(lines.len());
            lines.iter().enumerate().map(|(i, line)| line.repeat(if i == twice { 2 } else { 1 })).collect()
        }
        4 => swapped(&lines, random),
        5 => swapped(&words, random),
        6 => {
            let at = text.floor_char_boundary(random.below(text.len() + 1));
            format!("{}{}{}", &text[..at], random.one_of(TOKENS), &text[at..])
        }
        _ => {
            let word = random.below(words.len());
            let token = random.one_of(TOKENS);
            words.iter().enumerate().map(|(i, w)| if i == word { token } else { w }).collect()
        }
    }
}

/// Operands of every dtype of a lattice, as arrays and as Python scalars.
fn operands(semantics: &Semantics) -> Vec<Operand> {
    let dtypes = semantics.order().nodes().iter().copied();
    let scalars = dtypes.clone().filter(|dtype| dtype.is_weak() || *dtype == B1).map(Operand::literal);
    dtypes.map(Operand::value).chain(scalars).collect()
}

/// An op leads to dtypes of the lattice, and strong operands of the dtypes it computes in give its result again,
/// strong, without a further conversion; or a program that was promoted would be refused.
fn computes_in_what_it_accepts(semantics: &Semantics, op: Op, operands: &[Operand]) {
    let Ok(Some(typing)) = semantics.infer(op, operands) else { return };
    let name = semantics.name();
    let has = |dtype| semantics.order().contains(dtype);
    let computed = || (0..operands.len()).map(|index| typing.compute(index));
    assert!(has(typing.result) && computed().all(has), "{name} {op} {operands:?}: {typing:?}");
    let strong: Vec<_> = computed().map(|c| Operand::value(semantics.strengthen(c))).collect();
    let again = semantics.infer(op, &strong);
    let again = again.unwrap_or_else(|error| panic!("{name} {op} {operands:?}: {error}"));
    let again = again.expect("the op has a rule");
    assert_eq!(again.result, semantics.strengthen(typing.result), "{name} {op} {operands:?}");
    for (index, operand) in strong.iter().enumerate() {
        assert_eq!(again.compute(index), operand.dtype, "{name} {op} {operands:?}");
    }
}

/// The same for all operands of an op; those of three begin and end with the same.
fn every_op_computes_in_what_it_accepts(semantics: &Semantics) {
    let operands = operands(semantics);
    for &op in Op::ALL {
        let arity = op.info().arity.required;
        for a in &operands {
            for b in if arity == 1 { slice::from_ref(a) } else { &operands } {
                computes_in_what_it_accepts(semantics, op, &[*a, *b, *a][..arity]);
            }
        }
    }
}

/// The laws of every semantics on a lattice.
fn obeys_the_laws(semantics: &Semantics, random: &mut Random) {
    let lattice = semantics.order();
    assert_eq!(lattice.check(), Ok(()));
    let table = JoinTable::new(lattice);
    let nodes = lattice.nodes();
    let operands = operands(semantics);
    for _ in 0..20 {
        let [a, b, c] = [(); 3].map(|()| nodes[random.below(nodes.len())]);
        let fold = table.join(a, b).and_then(|ab| table.join(ab, c));
        assert_eq!(fold, lattice.join(&[a, b, c]).ok(), "{a} {b} {c}");
    }
    for &op in Op::ALL {
        let arity = op.info().arity.required;
        let of_it = [(); 3].map(|()| operands[random.below(operands.len())]);
        computes_in_what_it_accepts(semantics, op, &of_it[..arity]);
    }
    for weak in [WeakInt, WeakFloat, WeakComplex].into_iter().filter(|weak| lattice.contains(*weak)) {
        assert!(lattice.le(weak, semantics.strengthen(weak)), "{weak}");
    }
}

/// Files with one default each that may be anything.
fn with_any_default(base: &str, without: &str) -> Vec<String> {
    let weak = if without.contains("i*") { "" } else { "'i*' = ['i32']\n" };
    let edges = format!("[edges]\n{weak}i32 = ['i64']\nf32 = ['f64']\n");
    let head = format!("base = '{base}'\nwithout = [{without}]\n{edges}[defaults]\n");
    let keys = ["int", "float", "complex", "unsigned", "bool", "small-float"];
    let dtypes = || DType::strong();
    let with_any = |key| dtypes().map(move |dtype| format!("{key} = '{dtype}'"));
    keys.into_iter().flat_map(with_any).map(|default| head.clone() + &default).collect()
}

/// Files with an op each that may do anything.
fn with_any_op(base: &str) -> Vec<String> {
    let mut files = Vec::new();
    for accepts in ["'bool'", "'integer'", "'float'", "'bool', 'integer'", "'integer', 'float'"] {
        for compute in ["join", "number", "default-number", "float", "default-float", "widest", "f32", "c*"] {
            for result in ["compute", "bool", "real", "index"] {
                let op = format!("accepts = [{accepts}]\ncompute = '{compute}'\nresult = '{result}'\n");
                files.push(format!("base = '{base}'\n[ops.abs]\n{op}weak = 'kept'\n[ops.where]\n{op}"));
            }
        }
    }
    files
}

#[test]
fn whatever_is_promoted_is_promoted_to_itself() {
    let mut files: Vec<_> = examples().into_iter().map(|(_, text)| text).collect();
    files.push(MORE.to_owned());
    for base in ["jax-lax", "python", "jep9407-option2"] {
        let withouts = ["", "'f*'", "'i*'", "'f*', 'f64'", "'i*', 'i64'"];
        files.extend(withouts.into_iter().flat_map(|without| with_any_default(base, without)));
        files.extend(with_any_op(base));
    }
    let loaded: Vec<_> = files.iter().filter_map(|text| Semantics::from_toml(text, text).ok()).collect();
    loaded.iter().for_each(every_op_computes_in_what_it_accepts);
    let wrong = files.len() - loaded.len();
    assert!(loaded.len() > 300 && wrong > 300, "{} loaded, {wrong} were wrong", loaded.len());
}

#[test]
fn ten_thousand_damaged_examples() {
    let mut examples = examples();
    examples.push(("more".to_owned(), MORE.to_owned()));
    let random = &mut Random(20_260_509);
    let (mut loaded, mut wrong) = (0, 0);
    for index in 0..10_000 {
        let (name, text) = &examples[index % examples.len()];
        let text = mutate(text, random);
        match Semantics::from_toml(&text, name) {
            Ok(semantics) => {
                loaded += 1;
                obeys_the_laws(&semantics, random);
            }
            Err(errors) => {
                wrong += 1;
                assert!(!errors.errors.is_empty());
                for error in &errors.errors {
                    assert!(text.get(error.place.span.clone()).is_some(), "{error}\n{text}");
                    assert!(!error.message.contains('\n') && !error.message.is_empty(), "{error}");
                }
                let starts = errors.errors.iter().map(|error| error.place.span.start);
                assert!(starts.is_sorted());
            }
        }
    }
    assert!(loaded > 1000 && wrong > 1000, "{loaded} loaded, {wrong} were wrong: both are to be seen");
}

#[test]
fn deep_and_long_files() {
    for text in [
        "[".repeat(100_000),
        format!("base = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("base = {}", "{a=".repeat(100_000)),
        format!("[{}x]", "a.".repeat(100_000)),
        "a".repeat(1_000_000),
        "a = 'b\n".repeat(10_000),
        "[edges]\nu8 = [".to_owned() + &"'u8',".repeat(10_000) + "]",
    ] {
        let errors = Semantics::from_toml(&text, "mine").expect_err("it is not a lattice");
        assert!(errors.to_string().len() < 100_000);
    }
}
