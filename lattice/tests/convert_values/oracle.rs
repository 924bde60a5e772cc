use super::*;

type Checked = Result<(), Box<dyn Error>>;

fn values() -> Result<Value, Box<dyn Error>> {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("../data/values.json.gz")[..]).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Bits as the oracle writes them: big-endian hex, of a complex number `real:imaginary`.
fn parse_bits(value: &Value, dtype: DType) -> Result<Bits, Box<dyn Error>> {
    let hex = |text| Bits::from_str_radix(text, 16);
    let text = value.as_str().ok_or("bits are a string")?;
    match text.split_once(':') {
        Some((real, imaginary)) => Ok(hex(real)? | hex(imaginary)? << dtype.real_part().bits()),
        None => Ok(hex(text)?),
    }
}

fn parse_all(list: &Value, dtype: DType) -> Result<Vec<Bits>, Box<dyn Error>> {
    list.as_array().ok_or("a list of bits")?.iter().map(|bits| parse_bits(bits, dtype)).collect()
}

/// NaN counts as NaN: PyTorch makes `ffff` of a `bf16` NaN where its kernel is vectorised and `7fc0` where it is not.
/// All other NaNs of the oracle agree to the bit.
#[test]
fn convert_gives_the_bits_of_each_library() -> Checked {
    let values = values()?;
    let mut checked = 0;
    for (library, numerics) in LIBRARIES {
        for (pair, results) in values["systems"][library]["convert"].as_object().ok_or("convert")? {
            let (from, to) = pair.split_once("->").ok_or("from->to")?;
            let (from, to): (DType, DType) = (from.parse()?, to.parse()?);
            let sources = parse_all(&values["sources"][from.name()], from)?;
            let results = parse_all(results, to)?;
            assert_eq!(sources.len(), results.len(), "{pair}");
            for (source, expected) in sources.into_iter().zip(results) {
                let result = convert(source, from, to, numerics);
                let known_nan = (library, to, expected) == ("torch", DType::BF16, 0xffff);
                let expected = if known_nan { 0x7fc0 } else { expected };
                assert_eq!(
                    result, expected,
                    "{library}: {pair} of {source:#x}: {result:#x}, not {expected:#x}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 15_000, "{checked} conversions");
    Ok(())
}

/// The literal of an entry, unless it is beyond `i64`.
fn parse_literal(entry: &Value) -> Option<Literal> {
    let text = entry["scalar"].as_str()?;
    let is_integer = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let float = || text.parse().ok().map(Literal::Float);
    if is_integer { text.parse().ok().map(Literal::Int) } else { float() }
}

/// What an operation makes of the integer 1 and a literal.
fn on_one_and(literal: Bits, dtype: DType, op: &str) -> Option<Bits> {
    let mask = Bits::MAX >> (Bits::BITS - dtype.bits());
    match op {
        "mul" => Some(literal),
        "add" if dtype.is_integer() => Some((literal + 1) & mask),
        "maximum" if dtype.is_integer() => Some(if number(literal, dtype) > 1.0 { literal } else { 1 }),
        _ => None,
    }
}

#[test]
fn literals_have_the_bits_that_operations_saw() -> Checked {
    let values = values()?;
    let mut checked = [0; 3];
    for ((library, numerics), checked) in LIBRARIES.into_iter().zip(&mut checked) {
        for entry in values["systems"][library]["python_scalar"].as_array().ok_or("python_scalar")? {
            let dtype: DType = entry["array"][0].as_str().ok_or("dtype")?.parse()?;
            let op = entry["op"].as_str().ok_or("op")?;
            let Some(value) = parse_literal(entry) else { continue };
            for order in ["array_op_scalar", "scalar_op_array"] {
                let result = &entry[order];
                if entry["array"][1] != 1 || result["dtype"] != dtype.name() {
                    continue;
                }
                let converted = literal(value, dtype, numerics);
                let Some(expected) = on_one_and(converted.bits, dtype, op) else { continue };
                assert_eq!(parse_bits(&result["bits"][0], dtype)?, expected, "{library}: {entry}");
                *checked += 1;
            }
        }
    }
    assert!(checked.iter().all(|&count| count >= 40), "{checked:?}");
    Ok(())
}
