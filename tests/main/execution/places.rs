//! `argmax` and `argmin` along rows and columns: the first of the most extreme elements, wherever it is, and of NaNs the first.

use std::fmt::Write;

use promote::{DType, Executable, Session, Target, Tensor, set_threads, threads};

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, known, session};

const DTYPES: [&str; 6] = ["i1", "i8", "i16", "i64", "f32", "f64"];

/// Functions that look for both extremes along an axis of matrices of each dtype.
fn text(extents: &str, axis: usize) -> String {
    let mut text = String::new();
    for (op, dtype) in DTYPES.into_iter().flat_map(|dtype| [("argmax", dtype), ("argmin", dtype)]) {
        let x = format!("tensor<{extents}x{dtype}>");
        let _ = write!(
            text,
            "func.func @{op}_{dtype}(%x: {x}) -> !u {{
  %0 = \"promote.{op}\"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> !u
  return %0 : !u
}}
"
        );
    }
    known(&text)
}

/// Rows in which the extremes are some of few numbers, or one that is planted; and rows of one number.
fn rows(count: usize, length: usize, random: &mut Random) -> Vec<i8> {
    let row = |row: usize| -> Vec<i8> {
        let mut numbers: Vec<i8> = match row % 3 {
            0 => vec![(row % 5) as i8 - 2; length],
            1 => (0..length).map(|_| random.below(3) as i8 - 1).collect(),
            _ => (0..length).map(|_| random.below(200) as u8 as i8 / 2).collect(),
        };
        for extreme in [i8::MAX, i8::MIN].into_iter().skip(row % 2) {
            numbers[random.below(length)] = extreme;
        }
        numbers
    };
    (0..count).flat_map(row).collect()
}

/// The first place of what none is better than; that of the first NaN, if there is one.
fn first<T: PartialOrd>(row: &[T], is_better: impl Fn(&T, &T) -> bool) -> i64 {
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    let nan = row.iter().position(is_nan);
    let best =
        (1..row.len()).fold(0, |best, place| if is_better(&row[place], &row[best]) { place } else { best });
    nan.unwrap_or(best) as i64
}

/// The columns of rows of so many elements, one after another.
fn columns<T: Copy>(rows: &[T], length: usize) -> Vec<T> {
    (0..length).flat_map(|column| rows.iter().skip(column).step_by(length).copied()).collect()
}

/// Programs that look along an axis.
struct Searches<'a> {
    session: &'a Session,
    target: Target,
    axis: usize,
    /// Of extents that are open.
    open: Executable,
}

impl<'a> Searches<'a> {
    fn new(session: &'a Session, target: Target, axis: usize) -> Self {
        let open = compile_for(session, &text("?x?", axis), target.clone()).expect("it is compiled");
        Self { session, target, axis, open }
    }

    /// So many rows of so many elements, or, along axis 0, as many columns.
    const fn shape(&self, [count, length]: [usize; 2]) -> [usize; 2] {
        if self.axis == 1 { [count, length] } else { [length, count] }
    }

    /// Programs of extents that are stated.
    fn stated(&self, searched: [usize; 2]) -> Executable {
        let [rows, columns] = self.shape(searched);
        let text = text(&format!("{rows}x{columns}"), self.axis);
        compile_for(self.session, &text, self.target.clone()).expect("it is compiled")
    }

    fn check(&self, searched: [usize; 2]) {
        self.compare(&self.stated(searched), searched);
    }

    /// Looks in so many rows of so many elements, or, along axis 0, in as many columns.
    fn compare(&self, stated: &Executable, [count, length]: [usize; 2]) {
        let axis = self.axis;
        let shape = self.shape([count, length]).map(|extent| extent as i64);
        let mut random = Random::new(length as u64);
        let numbers = rows(count, length, &mut random);
        let places = [(); 2].map(|()| random.below(count * length));
        macro_rules! check {
            ($dtype:literal, $numbers:expr, $tensor:expr) => {
                let numbers = $numbers;
                let laid = if axis == 1 { numbers.clone() } else { columns(&numbers, length) };
                for (extents, executable, op) in [
                    ("stated", stated, "argmax"),
                    ("stated", stated, "argmin"),
                    ("open", &self.open, "argmax"),
                    ("open", &self.open, "argmin"),
                ] {
                    let expected: Vec<i64> = numbers
                        .chunks_exact(length)
                        .map(|row| first(row, |x, y| if op == "argmax" { x > y } else { x < y }))
                        .collect();
                    let tensor = $tensor(&laid, &shape).expect("there are as many elements");
                    let name = format!("{op}_{}", $dtype);
                    let results = function(executable, &name).run(&[tensor]).expect("it runs");
                    let found = results[0].elements::<i64>().expect("places are i64");
                    assert_eq!(
                        found,
                        expected,
                        "{name} of {count} times {length} along {axis}, {extents}, on {}",
                        self.target.cpu()
                    );
                }
            };
        }
        check!(
            "i1",
            numbers.iter().map(|number| u8::from(*number > 0)).collect::<Vec<u8>>(),
            |truths, shape| { Tensor::new(DType::B1, shape, truths) }
        );
        check!("i8", numbers.clone(), Tensor::of);
        check!(
            "i16",
            numbers.iter().map(|number| i16::from(*number) * 257).collect::<Vec<i16>>(),
            Tensor::of
        );
        check!(
            "i64",
            numbers.iter().map(|number| i64::from(*number) << 56).collect::<Vec<i64>>(),
            Tensor::of
        );
        // Half of all zeros are -0. Both extremes may be infinite, and so may be all numbers of a row.
        let float = |(place, number): (usize, &i8)| match *number {
            0 if place % 2 == 1 => -0.0,
            2 | i8::MAX => f64::INFINITY,
            -2 | i8::MIN => f64::NEG_INFINITY,
            number => f64::from(number),
        };
        let floats: Vec<f64> = numbers.iter().enumerate().map(float).collect();
        check!("f32", floats.iter().map(|number| *number as f32).collect::<Vec<f32>>(), Tensor::of);
        check!("f64", floats.clone(), Tensor::of);
        let mut with_nans = floats;
        places.into_iter().for_each(|place| with_nans[place] = f64::NAN);
        check!("f32", with_nans.iter().map(|number| *number as f32).collect::<Vec<f32>>(), Tensor::of);
        check!("f64", with_nans, Tensor::of);
    }
}

/// Blocks that are searched have 4 vectors of up to 128 lanes, or 16 of floats; rows, 3 blocks at least.
#[test]
fn the_first_extreme_is_found_in_rows_of_every_length() {
    let session = session("jax", true, false);
    for target in targets() {
        let searches = Searches::new(&session, target, 1);
        for length in [1, 64, 193, 768, 1535, 1537, 3072, 5003] {
            searches.check([12, length]);
        }
    }
}

/// Places are in as many bits as elements, if those are enough: of up to 127 rows in 8.
#[test]
fn the_first_extreme_is_found_in_columns_of_every_length() {
    let session = session("jax", true, false);
    for target in targets() {
        for axis in [0, 1] {
            let searches = Searches::new(&session, target.clone(), axis);
            for searched in [[300, 3], [70, 127], [5, 128], [131, 129], [1100, 5]] {
                searches.check(searched);
            }
        }
    }
}

#[test]
fn the_first_extreme_is_found_on_any_number_of_threads() {
    let (session, before) = (session("jax", true, false), threads());
    for (axis, searched) in [(1, [12, 70_001]), (0, [3001, 260])] {
        let searches = Searches::new(&session, Target::host(), axis);
        let stated = searches.stated(searched);
        for count in [1, 2, 3] {
            set_threads(count);
            searches.compare(&stated, searched);
        }
    }
    set_threads(before);
}
