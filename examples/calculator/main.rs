//! A small compiler: a calculator whose numbers have dtypes.
//!
//! ```sh
//! cargo run --release --example calculator -- examples/calculator/wave.calc
//! ```
//!
//! [`syntax`] parses the text, [`lower`] makes a program of the dialect with the builder, and Promote does the rest: it infers the
//! dtypes, makes the conversions explicit, and compiles. docs/building.md explains it.

use std::process::ExitCode;

use promote::convert::{Numerics, convert};
use promote::diagnostic::{Diagnostic, Location};
use promote::{
    CompileError, CompileOptions, DType, Executable, Kind, Options, Semantics, Session, Source, Tensor,
};

mod lower;
mod syntax;

use syntax::{Input, Number};

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: calculator FILE");
        return ExitCode::from(2);
    };
    let ran = std::fs::read_to_string(&file)
        .map_err(|error| format!("{file}: {error}"))
        .and_then(|text| calculate(&text, &file));
    match ran {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// What a text computes, as text; or what is wrong with it.
pub fn calculate(text: &str, file: &str) -> Result<String, String> {
    let show = |(place, message): syntax::Wrong| pointed(text, Some(&place), &message);
    let source = syntax::parse(text, file).map_err(show)?;
    let program = lower::lower(&source).map_err(show)?;

    let semantics = Semantics::by_name("jax", true).map_err(|error| error.to_string())?;
    let session = Session::new(&Options::new(semantics)).map_err(|error| error.to_string())?;
    let said = |diagnostics: &[Diagnostic]| {
        let shown = diagnostics.iter().map(|found| {
            let message = format!("{}[{}]: {}", found.severity, found.code, found.message);
            pointed(text, found.location.as_ref(), &message)
        });
        shown.collect::<Vec<_>>().join("\n")
    };
    let Some(module) = session.parse(Source::Text(&program.to_string())) else {
        return Err(said(&session.take_diagnostics()));
    };
    let executable = Executable::compile(&session, module, &CompileOptions::default());
    let executable = executable.map_err(|error| match error {
        CompileError::Refused(diagnostics) => said(&diagnostics),
        other => other.to_string(),
    })?;
    let main = executable.function("main").ok_or("the program has a function `main`")?;

    let bytes = source.inputs.iter().map(bytes).collect::<Result<Vec<_>, _>>().map_err(show)?;
    let inputs = source.inputs.iter().zip(&bytes).map(|(input, bytes)| {
        Tensor::new(input.dtype, &input.shape, bytes)
            .map_err(|error| pointed(text, Some(&input.place), &error.to_string()))
    });
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let results = main.run(&inputs).map_err(|error| error.to_string())?;
    Ok(results.iter().map(shown).collect::<Vec<_>>().join("\n"))
}

/// A message, with the line that it is about and a caret under the place.
fn pointed(text: &str, place: Option<&Location>, message: &str) -> String {
    let Some(place) = place else { return message.to_owned() };
    let line = text.lines().nth(place.line.saturating_sub(1) as usize).unwrap_or_default();
    let before = line.get(..place.column.saturating_sub(1) as usize).unwrap_or(line);
    let indent: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!("{place}: {message}\n  {line}\n  {indent}^")
}

/// The elements of an input as they lie in memory; what its dtype does not have is refused.
fn bytes(input: &Input) -> Result<Vec<u8>, syntax::Wrong> {
    let mut bytes = Vec::new();
    for value in &input.values {
        let bits = bits(*value, input.dtype).map_err(|message| (input.place.clone(), message))?;
        bytes.extend(bits.to_le_bytes().into_iter().take(size(input.dtype)));
    }
    Ok(bytes)
}

/// A number in a dtype: integers must be in its range, floats are rounded.
fn bits(number: Number, dtype: DType) -> Result<u128, String> {
    let width = dtype.bits();
    let range = match dtype.kind() {
        Kind::Bool => 0..=1,
        Kind::Unsigned => 0..=(1 << width) - 1,
        Kind::Signed => -(1 << (width - 1))..=(1 << (width - 1)) - 1,
        Kind::Float | Kind::Complex => {
            let number = match number {
                Number::Int(number) => number as f64,
                Number::Float(number) => number,
            };
            return Ok(convert(number.to_bits().into(), DType::F64, dtype, Numerics::Jax));
        }
    };
    match number {
        Number::Int(number) if range.contains(&number) => Ok(number as u128),
        Number::Int(number) => Err(format!("{number} is no number of {dtype}")),
        Number::Float(number) => Err(format!("{number:?} is no number of {dtype}")),
    }
}

/// A tensor as text: its dtype, its shape, and its elements.
fn shown(tensor: &Tensor<'_>) -> String {
    let dtype = tensor.dtype();
    let element =
        |bytes: &[u8]| number(bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte)), dtype);
    let elements = tensor.bytes().unwrap_or_default().chunks(size(dtype)).map(element);
    format!("{dtype}{:?} = {}", tensor.shape(), elements.collect::<Vec<_>>().join(", "))
}

/// A number of a dtype as text.
fn number(bits: u128, dtype: DType) -> String {
    // The high half of a complex number is its imaginary part.
    let wide = convert(bits, dtype, DType::C128, Numerics::Jax);
    let [real, imaginary] = [wide as u64, (wide >> 64) as u64].map(f64::from_bits);
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned => bits.to_string(),
        Kind::Signed => {
            let unused = 128 - dtype.bits();
            ((bits << unused) as i128 >> unused).to_string()
        }
        Kind::Float => real.to_string(),
        Kind::Complex if imaginary.is_sign_negative() => format!("{real} - {}i", -imaginary),
        Kind::Complex => format!("{real} + {imaginary}i"),
    }
}

/// The bytes of an element.
fn size(dtype: DType) -> usize {
    dtype.bits().div_ceil(8) as usize
}
