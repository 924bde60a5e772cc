//! Batches of matrices whose extents a run knows broadcast as NumPy's `matmul` does it: code for the CPU and linalg agree with
//! the interpreter, on the program as it is written and as it is made explicit.

use promote::{DType, Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Verdict};
use promote_reference::{Array, Error, Reader, Value};

use crate::execution::support::{compile, function, known, run};
use crate::linalg::stock::{self, Argument, Call, Given, Tools};
use crate::support::session;

/// A program of one product, in all its forms.
struct Product {
    session: Session,
    semantics: Semantics,
    text: String,
}

impl Product {
    fn new(x: &str, y: &str) -> Self {
        let text = format!(
            "func.func @f(%x: {x}, %y: {y}) -> !u {{\n  %r = \"promote.matmul\"(%x, %y) : ({x}, {y}) -> !u\n  return %r : !u\n}}\n"
        );
        let semantics = Semantics::by_name("jax", false).expect("jax is known");
        Self { session: session("jax", false, false), semantics, text: known(&text) }
    }

    /// The program after the passes.
    fn strong(&self) -> String {
        let mut module = self.session.parse(Source::Text(&self.text)).expect("the program is well formed");
        let verdict = self.session.run(&mut module, &Pipeline::default(), &RunOptions::default());
        assert_eq!(verdict, Ok(Verdict::Done));
        let mut strong = Vec::new();
        let options = PrintOptions { generic: true, debug_info: false };
        module.print(&mut strong, options).expect("a vector can be written to");
        String::from_utf8(strong).expect("MLIR prints UTF-8")
    }

    fn interpreted(&self, text: &str, arguments: &[Value]) -> Result<Vec<Value>, Error> {
        let program = Reader::new().expect("MLIR takes the dialect").read(text)?;
        program.run(&self.semantics, "f", arguments).map(|outcome| outcome.results)
    }

    /// Arrays of these shapes, multiplied in each form: all give the same, of this shape, or all fail.
    #[track_caller]
    fn gives(&self, shapes: [&[usize]; 2], expected: Option<&[usize]>) {
        let arrays = shapes.map(array);
        let arguments = arrays.clone().map(Value::Array);
        let written = self.interpreted(&self.text, &arguments);
        let explicit = self.interpreted(&self.strong(), &arguments);
        let computed = run(&function(&compile(&self.session, &self.text), "f"), &arguments);
        let lowered = self.in_linalg(&arrays);
        let Some(expected) = expected else {
            assert!(matches!(written, Err(Error::Trap(_))), "{written:?}");
            assert!(matches!(explicit, Err(Error::Trap(_))), "{explicit:?}");
            let refusal = computed.expect_err("the extents do not fit").to_string();
            assert!(refusal.contains("promote.matmul: dimension ") && refusal.contains("or "), "{refusal}");
            assert!(lowered.is_err(), "{lowered:?}");
            return;
        };
        let Ok([Value::Array(written)]) = written.as_deref() else { panic!("{written:?}") };
        assert_eq!(written.shape, expected);
        assert_eq!(explicit.as_deref(), Ok(&[Value::Array(written.clone())][..]));
        assert_eq!(computed.expect("it runs"), std::slice::from_ref(written));
        assert_eq!(lowered.expect("it runs"), [written.bits()]);
    }

    fn in_linalg(&self, arrays: &[Array]) -> Result<Vec<Vec<u128>>, String> {
        let given = |array: &Array| Given::Tensor(Argument::new(array.dtype, &array.shape, array.bits()));
        let arguments = arrays.iter().map(given).collect();
        let call = Call { name: "f".to_owned(), arguments, results: vec![DType::I32] };
        stock::run_function(&Tools::find(), &stock::lower(&self.session, &self.text)?, call)
    }
}

/// Small integers, of which no sum is lost.
fn array(shape: &[usize]) -> Array {
    let count = shape.iter().product::<usize>() as i128;
    Array::of_ints(DType::I32, shape, &(0..count).map(|index| index * 7 % 23 - 11).collect::<Vec<_>>())
}

#[test]
fn two_batches_of_unknown_extent_broadcast() {
    let product = Product::new("tensor<?x2x3xi32>", "tensor<?x3x4xi32>");
    let gives = |x: usize, y: usize, both: usize| {
        product.gives([&[x, 2, 3], &[y, 3, 4]], Some(&[both, 2, 4]));
    };
    gives(1, 5, 5);
    gives(5, 1, 5);
    gives(5, 5, 5);
    gives(1, 1, 1);
    gives(0, 1, 0);
    product.gives([&[2, 2, 3], &[3, 3, 4]], None);
}

/// The first batch dimension is known of one operand, the second of none, and `%y` lacks the third.
#[test]
fn batches_of_several_dimensions_broadcast_one_by_one() {
    let product = Product::new("tensor<?x4x?x?x?xi32>", "tensor<?x?x?x?xi32>");
    let gives = |[a, b]: [usize; 2], [c, d]: [usize; 2], expected: [usize; 3]| {
        let shape = [&expected[..], &[2, 2]].concat();
        product.gives([&[a, 4, b, 2, 3], &[c, d, 3, 2]], Some(&shape));
    };
    gives([2, 3], [4, 3], [2, 4, 3]);
    gives([2, 1], [1, 3], [2, 4, 3]);
    gives([1, 3], [4, 1], [1, 4, 3]);
    product.gives([&[2, 4, 3, 2, 3], &[3, 3, 3, 2]], None);
}

/// Matrices that the run time packs and multiplies in tiles.
#[test]
fn batches_of_large_matrices_broadcast() {
    let floats = |shape: &[usize]| {
        let numbers: Vec<f64> = array(shape).elements.iter().map(|number| number.parts().0).collect();
        Value::Array(Array::of_reals(DType::F32, shape, &numbers))
    };
    let product = Product::new("tensor<?x40x40xf32>", "tensor<?x40x40xf32>");
    let executable = compile(&product.session, &product.text);
    for (x, y) in [(1, 3), (3, 1), (3, 3)] {
        let arguments = [floats(&[x, 40, 40]), floats(&[y, 40, 40])];
        let expected = product.interpreted(&product.text, &arguments).expect("it runs");
        let found = run(&function(&executable, "f"), &arguments).expect("it runs");
        assert_eq!(found.into_iter().map(Value::Array).collect::<Vec<_>>(), expected, "{x} and {y}");
    }
}

/// What is added to a product has its extents, and the run need not be asked whether it fits.
#[test]
fn the_batch_of_a_product_has_a_name() {
    let text = r#"
func.func @f(%x: tensor<?x2x3xf32>, %y: tensor<?x3x4xf32>) -> !u {
  %0 = "promote.matmul"(%x, %y) : (tensor<?x2x3xf32>, tensor<?x3x4xf32>) -> !u
  %1 = "promote.matmul"(%x, %y) : (tensor<?x2x3xf32>, tensor<?x3x4xf32>) -> !u
  %2 = "promote.add"(%0, %1) : (!u, !u) -> !u
  return %2 : !u
}
"#;
    let product = Product { text: known(text), ..Product::new("tensor<f32>", "tensor<f32>") };
    assert_eq!(product.strong().matches("\"cf.assert\"").count(), 1, "{}", product.strong());
}
