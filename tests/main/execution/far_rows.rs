//! Reductions of arguments that are in no cache: results have the same bits in whatever order elements lie, on any number of threads.

use promote::{DType, Executable, Target, Tensor, set_threads, threads};

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, known, session};

/// The bytes that a kernel takes to stay in a cache, and some more.
const FAR: usize = (1 << 25) + 4096;

/// The bytes in front of an argument.
const BEFORE: usize = 16;

/// An argument of random elements, in row-major memory, and how to lay it otherwise.
struct Far {
    dtype: DType,
    shape: Vec<usize>,
    size: usize,
    bytes: Vec<u8>,
}

/// An argument in memory: where its elements are, and how far apart.
struct Laid {
    bytes: Vec<u8>,
    strides: Vec<i64>,
}

impl Far {
    /// Of small whole numbers and a third, or small integers.
    fn new(dtype: DType, shape: &[usize], random: &mut Random) -> Self {
        let count: usize = shape.iter().product();
        let mut bytes = Vec::new();
        for _ in 0..count {
            let number = random.below(97) as i64 - 48;
            match dtype {
                DType::F32 => bytes.extend((number as f32 / 3.0).to_ne_bytes()),
                DType::F64 => bytes.extend((number as f64 / 3.0).to_ne_bytes()),
                DType::I32 => bytes.extend((number as i32).to_ne_bytes()),
                DType::BF16 => {
                    bytes.extend(((number as f32 / 4.0).to_bits() >> 16).to_ne_bytes()[..2].iter())
                }
                DType::C64 => {
                    bytes.extend((number as f32 / 3.0).to_ne_bytes());
                    bytes.extend((number as f32 / 7.0).to_ne_bytes());
                }
                other => unreachable!("{other} is not tested"),
            }
        }
        assert!(bytes.len() >= FAR, "{dtype} {shape:?} are not far");
        Self { dtype, shape: shape.to_vec(), size: bytes.len() / count, bytes }
    }

    /// With the dimensions in that order, from the outermost to the innermost, and a gap behind each index of the innermost but one.
    fn laid(&self, order: &[usize], gap: usize) -> Laid {
        let (mut strides, mut next) = (vec![0; order.len()], 1);
        for (place, axis) in order.iter().rev().enumerate() {
            strides[*axis] = next;
            next = next * self.shape[*axis] + if place == 0 { gap } else { 0 };
        }
        // What lies in gaps would be seen in any result. Elements begin behind a line of the cache, as those of NumPy's large arrays do.
        let mut bytes = vec![0xff; BEFORE + next * self.size];
        let (mut index, mut place) = (vec![0; order.len()], BEFORE / self.size);
        for element in self.bytes.chunks_exact(self.size) {
            bytes[place * self.size..][..self.size].copy_from_slice(element);
            for axis in (0..index.len()).rev() {
                (index[axis], place) = (index[axis] + 1, place + strides[axis]);
                if index[axis] < self.shape[axis] {
                    break;
                }
                place -= index[axis] * strides[axis];
                index[axis] = 0;
            }
        }
        Laid { bytes, strides: strides.into_iter().map(|stride| stride as i64).collect() }
    }

    /// As many elements as there are, of those given, side by side along the first dimension.
    fn row(&self, elements: &[u8]) -> Laid {
        let bytes = [&[0; BEFORE], &elements[..self.shape[0] * self.size]].concat();
        Laid { bytes, strides: vec![1; self.shape.len()] }
    }

    fn tensor<'a>(&self, laid: &'a Laid) -> Tensor<'a> {
        let shape: Vec<i64> = self.shape.iter().map(|extent| *extent as i64).collect();
        Tensor::strided(self.dtype, &shape, &laid.strides, &laid.bytes, BEFORE).expect("it lies there")
    }

    fn ty(&self) -> String {
        let extents: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("tensor<{}x{}>", extents.join("x"), self.dtype.mlir())
    }
}

fn results(executable: &Executable, name: &str, arguments: &[Tensor<'_>]) -> Vec<Vec<u8>> {
    let results = function(executable, name).run(arguments).expect("it runs");
    results.iter().map(|result| result.bytes().expect("it is contiguous").to_vec()).collect()
}

/// Functions of an argument with that many dimensions, reduced along all but the first, and of all of it.
fn text(far: &Far, targets: &mut Vec<String>) -> String {
    let ty = far.ty();
    let axes: Vec<String> = (1..far.shape.len()).map(|axis| axis.to_string()).collect();
    let rows = format!("{{axis = array<i64: {}>}}", axes.join(", "));
    let of_rows = vec!["1"; axes.len()].join("x");
    let mut text = String::new();
    let mut add = |name: &str, arguments: &str, body: &str, results: usize| {
        let types = vec!["!u"; results].join(", ");
        let values: Vec<String> = (0..results).map(|number| format!("%r{number}")).collect();
        text += &format!(
            "func.func @{name}(%x: {ty}{arguments}) -> ({types}) {{\n{body}  return {} : {types}\n}}\n",
            values.join(", ")
        );
        targets.push(name.to_string());
    };
    add("sum", "", &format!("  %r0 = \"promote.sum\"(%x) {rows} : ({ty}) -> !u\n"), 1);
    add("all", "", &format!("  %r0 = \"promote.sum\"(%x) : ({ty}) -> !u\n"), 1);
    if far.shape.len() > 2 {
        let last = axes.len();
        let inner = format!("  %r0 = \"promote.sum\"(%x) {{axis = array<i64: {last}>}} : ({ty}) -> !u\n");
        add("inner", "", &inner, 1);
        add("most", "", &format!("  %r0 = \"promote.max\"(%x) : ({ty}) -> !u\n"), 1);
        // A later stage reads what the rows were reduced to.
        let spread = format!("  %r0 = \"promote.var\"(%x) {{axis = array<i64: {last}>}} : ({ty}) -> !u\n");
        add("spread", "", &spread, 1);
        for (name, axes) in [("outer", "0"), ("middle", "1"), ("columns", "0, 1"), ("ends", "0, 2")] {
            let over = format!("{{axis = array<i64: {axes}>}} : ({ty}) -> !u\n");
            let both = ["sum", "max"].into_iter().enumerate();
            let both = both.map(|(number, op)| format!("  %r{number} = \"promote.{op}\"(%x) {over}"));
            add(name, "", &both.collect::<String>(), 2);
            add(&format!("only_{name}"), "", &format!("  %r0 = \"promote.sum\"(%x) {over}"), 1);
        }
    }
    let square = format!("  %s = \"promote.multiply\"(%x, %x) : ({ty}, {ty}) -> !u\n");
    add("squares", "", &format!("{square}  %r0 = \"promote.sum\"(%s) {rows} : (!u) -> !u\n"), 1);
    if far.dtype != DType::C64 {
        let both = format!(
            "  %r0 = \"promote.sum\"(%x) {rows} : ({ty}) -> !u\n  %r1 = \"promote.max\"(%x) {rows} : ({ty}) -> !u\n"
        );
        add("both", "", &both, 2);
        let extremes = format!("{square}  %r0 = \"promote.min\"(%s) {rows} : (!u) -> !u\n");
        add("least", "", &extremes, 1);
    }
    if far.shape.len() == 2 {
        let place = format!("  %r0 = \"promote.argmin\"(%x) {{axis = array<i64: 1>}} : ({ty}) -> !u\n");
        add("place", "", &place, 1);
    }
    let (count, dtype) = (far.shape[0], far.dtype.mlir());
    let row = format!("tensor<{count}x{of_rows}x{dtype}>");
    let of_row = format!(
        "  %s = \"promote.subtract\"(%x, %w) : ({ty}, {row}) -> !u\n  %r0 = \"promote.sum\"(%s) {rows} : (!u) -> !u\n"
    );
    add("row", &format!(", %w: {row}"), &of_row, 1);
    let product = format!(
        "  %s = \"promote.multiply\"(%x, %w) : ({ty}, {ty}) -> !u\n  %r0 = \"promote.sum\"(%s) {rows} : (!u) -> !u\n"
    );
    add("product", &format!(", %w: {ty}"), &product, 1);
    known(&text)
}

/// Everything of an argument has the bits that it has of a row-major one, in each of some layouts, alone and with others.
fn check(far: &Far, layouts: &[(&[usize], usize)], target: &Target) {
    let mut names = Vec::new();
    let text = text(far, &mut names);
    let executable =
        compile_for(&session("jax", true, false), &text, target.clone()).expect("it is compiled");
    let order: Vec<usize> = (0..far.shape.len()).collect();
    let straight = far.laid(&order, 0);
    let first =
        Far { shape: [&far.shape[..1], &vec![1; order.len() - 1]].concat(), bytes: Vec::new(), ..*far };
    let rows = first.row(&far.bytes);
    for name in names {
        let arguments = |x: &Laid, w: &Laid| match name.as_str() {
            "row" => results(&executable, &name, &[far.tensor(x), first.tensor(&rows)]),
            "product" => results(&executable, &name, &[far.tensor(x), far.tensor(w)]),
            _ => results(&executable, &name, &[far.tensor(x)]),
        };
        set_threads(1);
        let wanted = arguments(&straight, &straight);
        for (order, gap) in layouts {
            let laid = far.laid(order, *gap);
            for count in [1, 3] {
                set_threads(count);
                let what = format!(
                    "{name} of {} as {order:?} and {gap}, {count} threads, {}",
                    far.ty(),
                    target.cpu()
                );
                assert!(wanted == arguments(&laid, &laid), "{what}");
                if name == "product" {
                    assert!(wanted == arguments(&laid, &straight), "{what}, the first one");
                    assert!(wanted == arguments(&straight, &laid), "{what}, the second one");
                }
            }
        }
    }
}

/// Few rows, whose sums are computed apart from each other: in whole vectors or not, with whole blocks or not, in groups or one by one.
#[test]
fn few_long_rows_have_the_same_bits_however_they_lie() {
    let (before, mut random) = (threads(), Random::new(31));
    let cases: [(DType, usize, usize); 7] = [
        (DType::F32, 64, 131_200),
        // So many that they are read from lines of the cache on.
        (DType::F32, 500, 34_000),
        (DType::F32, 1003, 8_400),
        (DType::F64, 129, 33_000),
        (DType::BF16, 200, 84_000),
        (DType::I32, 130, 65_000),
        (DType::C64, 70, 60_100),
    ];
    for (dtype, rows, length) in cases {
        let far = Far::new(dtype, &[rows, length], &mut random);
        for target in targets() {
            check(&far, &[(&[1, 0], 0), (&[1, 0], 3)], &target);
        }
    }
    set_threads(before);
}

/// Rows of several dimensions, which count as one, and sums of everything, one dimension after the other.
#[test]
fn what_is_far_has_the_same_bits_in_any_order_of_its_dimensions() {
    let (before, mut random) = (threads(), Random::new(32));
    let cases: [(DType, [usize; 3]); 6] = [
        (DType::F32, [129, 257, 300]),
        (DType::F32, [300, 128, 257]),
        (DType::F64, [90, 31_000, 3]),
        (DType::F32, [7, 40, 31_000]),
        (DType::F32, [3, 130, 24_000]),
        // Many results beside each other.
        (DType::F32, [401, 400, 53]),
    ];
    for (dtype, shape) in cases {
        let far = Far::new(dtype, &shape, &mut random);
        let orders: [(&[usize], usize); 7] = [
            (&[2, 1, 0], 0),
            (&[1, 2, 0], 0),
            (&[1, 2, 0], 2),
            (&[0, 2, 1], 0),
            (&[2, 0, 1], 0),
            (&[2, 0, 1], 2),
            (&[1, 0, 2], 0),
        ];
        check(&far, &orders, targets().last().expect("there is one"));
    }
    set_threads(before);
}

/// Short rows beside each other, whose columns are one run, with what is left of a round, and in blocks.
#[test]
fn short_rows_beside_each_other_have_the_same_bits_however_they_lie() {
    let (before, mut random) = (threads(), Random::new(35));
    for (dtype, shape) in
        [(DType::F32, [260, 33, 1000]), (DType::F64, [43, 100, 1003]), (DType::BF16, [60, 64, 4500])]
    {
        let far = Far::new(dtype, &shape, &mut random);
        for target in targets() {
            check(&far, &[(&[0, 2, 1], 0), (&[0, 2, 1], 2), (&[2, 0, 1], 0)], &target);
        }
    }
    set_threads(before);
}

/// The same of four dimensions, of which some are one piece of memory, and of few long rows beside others.
#[test]
fn what_is_far_has_the_same_bits_in_any_order_of_four_dimensions() {
    let (before, mut random) = (threads(), Random::new(33));
    for shape in [[33, 50, 130, 41], [2, 3, 64, 24_000]] {
        let far = Far::new(DType::F32, &shape, &mut random);
        let orders: [(&[usize], usize); 7] = [
            (&[3, 2, 1, 0], 0),
            (&[3, 0, 1, 2], 0),
            (&[3, 1, 0, 2], 5),
            (&[2, 3, 0, 1], 0),
            (&[3, 1, 0, 2], 0),
            (&[0, 2, 1, 3], 0),
            (&[2, 1, 0, 3], 1),
        ];
        check(&far, &orders, targets().last().expect("there is one"));
    }
    set_threads(before);
}

/// Dimensions of one index have strides that mean nothing, and tell nothing of those beside them.
#[test]
fn what_is_far_has_the_same_bits_where_dimensions_have_one_index() {
    let (before, mut random) = (threads(), Random::new(34));
    for shape in [[5000, 1, 2000], [1, 5000, 2000], [5000, 2000, 1]] {
        let far = Far::new(DType::F32, &shape, &mut random);
        let orders: [(&[usize], usize); 4] =
            [(&[2, 0, 1], 0), (&[2, 0, 1], 6), (&[2, 1, 0], 3), (&[1, 0, 2], 5)];
        check(&far, &orders, targets().last().expect("there is one"));
    }
    set_threads(before);
}
