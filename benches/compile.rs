//! How long compiling takes: a chain of 10 ops, one of 1,000, and a block of a transformer, from text to a function that can
//! be called.
//!
//! `cargo bench --bench compile`; with `PROMOTE_PYTHON` naming a Python that has JAX, JAX traces, lowers and compiles the same
//! functions in the same run, taking turns.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use promote::{CompileOptions, Executable, Options, Semantics, Session, Source};

const ROUNDS: usize = 15;
const SIZES: &[usize] = &[10, 1000];
const TRANSFORMER: &str = include_str!("transformer.mlir");

/// Ops of the chain, in turn, and whether they take a second operand.
const OPS: &[(&str, bool)] = &[
    ("add", true),
    ("multiply", true),
    ("tanh", false),
    ("subtract", true),
    ("exp", false),
    ("maximum", true),
    ("negative", false),
    ("sigmoid", false),
    ("minimum", true),
    ("abs", false),
];

fn program(size: usize) -> String {
    let mut text = "!u = tensor<*x!promote.unknown>\n!t = tensor<1024xf32>\n".to_owned();
    let _ = writeln!(text, "func.func @main(%x: !t, %y: !t) -> !u {{");
    let mut last = ("%x".to_owned(), "!t");
    for index in 0..size {
        let (op, is_binary) = OPS[index % OPS.len()];
        let (value, stated) = &last;
        let _ = match is_binary {
            true => writeln!(text, "  %v{index} = \"promote.{op}\"({value}, %y) : ({stated}, !t) -> !u"),
            false => writeln!(text, "  %v{index} = \"promote.{op}\"({value}) : ({stated}) -> !u"),
        };
        last = (format!("%v{index}"), "!u");
    }
    let _ = writeln!(text, "  return {} : !u\n}}", last.0);
    text
}

/// JAX in a process of its own, which compiles when it is asked to.
struct Jax {
    process: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

const JAX: &str = r#"
import sys, time
import jax, jax.numpy as jnp
ops = ["add", "multiply", "tanh", "subtract", "exp", "maximum", "negative", "sigmoid", "minimum", "abs"]
call = {name: getattr(jnp, name) for name in ops if name != "sigmoid"} | {"sigmoid": jax.nn.sigmoid}
def make(size):
    def f(x, y):
        for i in range(size):
            op = ops[i % 10]
            x = call[op](x, y) if op in ("add", "multiply", "subtract", "maximum", "minimum") else call[op](x)
        return x
    return f
def normalised(x, g, h):
    return (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5) * g + h
def block(x, wq, wk, wv, wo, w1, b1, w2, b2, g1, h1, g2, h2):
    a = normalised(x, g1, h1)
    q, k, v = [(a @ w).reshape(512, 8, 64) for w in (wq, wk, wv)]
    s = jax.nn.softmax(q.transpose(1, 0, 2) @ k.transpose(1, 2, 0) * 0.125, axis=2)
    y = x + (s @ v.transpose(1, 0, 2)).transpose(1, 0, 2).reshape(512, 512) @ wo
    u = normalised(y, g2, h2) @ w1 + b1
    u = 0.5 * u * (1 + jnp.tanh(0.7978845608 * (u + 0.044715 * u * u * u)))
    return y + u @ w2 + b2
of = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
weights = [of(512, 512)] * 5 + [of(512, 2048), of(2048), of(2048, 512), of(512)] + [of(512)] * 4
x = of(1024)
jax.jit(make(10)).lower(x, x).compile()
for line in sys.stdin:
    # A function of its own, so that nothing of the last time is known.
    f, arguments = (lambda *all: block(*all), weights) if int(line) == 0 else (make(int(line)), (x, x))
    start = time.perf_counter()
    jax.jit(f).lower(*arguments).compile()
    print(time.perf_counter() - start, flush=True)
"#;

impl Jax {
    fn start() -> Option<Self> {
        let python = std::env::var("PROMOTE_PYTHON").ok()?;
        let mut command = Command::new(python);
        command.args(["-c", JAX]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("PROMOTE_PYTHON names a Python");
        let asked = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Some(Self { process, asked, answers })
    }

    /// Compiles a chain of so many ops, or, of none, the block of a transformer.
    fn compile(&mut self, size: usize) -> Duration {
        writeln!(self.asked, "{size}").expect("JAX listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("JAX answers");
        Duration::from_secs_f64(answer.trim().parse().expect("a number of seconds"))
    }
}

impl Drop for Jax {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

fn compile(session: &Session, text: &str) -> Duration {
    let start = Instant::now();
    let module = session.parse(Source::Text(text)).expect("the program is valid");
    let executable = Executable::compile(session, module, &CompileOptions::default()).expect("it compiles");
    assert!(executable.function("main").is_some());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() {
    let semantics = Semantics::by_name("jax", false).expect("jax is known");
    let session = Session::new(&Options::new(semantics)).expect("MLIR takes the dialect");
    let mut jax = Jax::start();
    let chains = SIZES.iter().map(|size| (format!("{size} ops"), program(*size), *size));
    let transformer = ("a block of a transformer".to_owned(), TRANSFORMER.to_owned(), 0);
    for (name, text, size) in chains.chain([transformer]) {
        compile(&session, &text);
        let (mut own, mut peer) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            own.push(compile(&session, &text));
            peer.extend(jax.as_mut().map(|jax| jax.compile(size)));
        }
        let peer = if peer.is_empty() { String::new() } else { format!(", JAX {:.1} ms", median(peer)) };
        println!("{name}: {:.1} ms{peer}", median(own));
    }
}
