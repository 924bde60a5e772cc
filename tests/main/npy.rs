//! NumPy's files: what is read, written and refused.

use std::io::Write;

use promote::npy::{Array, NpyError, write};
use promote::{DType, Tensor};

/// A file with this header and these bytes after it, as NumPy writes it.
fn file(header: &str, bytes: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    let padding = 63 - (10 + header.len()) % 64;
    let header = format!("{header}{}\n", " ".repeat(padding));
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

fn described(descr: &str, fortran: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    file(&format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"), bytes)
}

fn read(file: &[u8], dtype: DType) -> Result<(Vec<i64>, Vec<u8>), NpyError> {
    let tensor = Array::read(file)?.into_tensor(dtype)?;
    Ok((tensor.shape().to_vec(), tensor.bytes().unwrap().to_vec()))
}

#[track_caller]
fn refused(file: &[u8], dtype: DType) -> String {
    read(file, dtype).expect_err("it is refused").to_string()
}

fn le<const N: usize>(values: [i32; N]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn orders_of_bytes_and_elements() {
    let expected = (vec![2, 3], le([1, 2, 3, 4, 5, 6]));
    let plain = described("<i4", "False", "(2, 3)", &expected.1);
    assert_eq!(read(&plain, DType::I32).unwrap(), expected);
    let big: Vec<u8> = (1..=6i32).flat_map(i32::to_be_bytes).collect();
    assert_eq!(read(&described(">i4", "False", "(2, 3)", &big), DType::I32).unwrap(), expected);
    let columns = described("<i4", "True", "(2, 3)", &le([1, 4, 2, 5, 3, 6]));
    assert_eq!(read(&columns, DType::I32).unwrap(), expected);
    // Each part of a complex number has its bytes reversed.
    let complex: Vec<u8> = [1f32, -2.0].iter().flat_map(|part| part.to_be_bytes()).collect();
    let parts: Vec<u8> = [1f32, -2.0].iter().flat_map(|part| part.to_le_bytes()).collect();
    assert_eq!(read(&described(">c8", "False", "()", &complex), DType::C64).unwrap(), (vec![], parts));
}

#[test]
fn three_dimensions_in_columns() {
    let rows: Vec<u8> = (0..24).collect();
    let mut columns = Vec::new();
    for k in 0..4 {
        for j in 0..3 {
            columns.extend((0..2).map(|i| rows[i * 12 + j * 4 + k]));
        }
    }
    let file = described("|u1", "True", "(2, 3, 4)", &columns);
    assert_eq!(read(&file, DType::U8).unwrap(), (vec![2, 3, 4], rows));
}

#[test]
fn scalars_and_empty_arrays() {
    assert_eq!(read(&described("<f8", "False", "()", &2f64.to_le_bytes()), DType::F64).unwrap().0, [0i64; 0]);
    assert_eq!(read(&described("<f8", "True", "(0, 3)", &[]), DType::F64).unwrap(), (vec![0, 3], vec![]));
    // An extent may be anything where another one is zero.
    for order in ["False", "True"] {
        let file = described("<f8", order, "(9223372036854775807, 9, 0)", &[]);
        assert_eq!(read(&file, DType::F64).unwrap().0, [i64::MAX, 9, 0]);
    }
}

#[test]
fn headers_may_be_written_otherwise() {
    let bytes = le([7]);
    for header in [
        "{'shape':(1,),'fortran_order':False,'descr':'<i4'}",
        r#"{"descr": "i4", "fortran_order": False, "shape": (1L,)}"#,
        "  { 'descr' : '=i4' , 'fortran_order' : False , 'shape' : ( 1 , ) }  ",
    ] {
        assert_eq!(read(&file(header, &bytes), DType::I32).unwrap(), (vec![1], bytes.clone()), "{header}");
    }
    let mut second = b"\x93NUMPY\x02\x00".to_vec();
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}\n";
    second.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    second.extend(header.as_bytes());
    second.extend(&bytes);
    assert_eq!(read(&second, DType::I32).unwrap().0, [1]);
}

#[test]
fn dtypes_of_ml_dtypes_are_what_the_reader_says() {
    let one = described("<V2", "False", "(1,)", &[0x80, 0x3f]);
    assert_eq!(Array::read(&one[..]).unwrap().dtype(), None);
    assert_eq!(read(&one, DType::BF16).unwrap(), (vec![1], vec![0x80, 0x3f]));
    assert_eq!(refused(&one, DType::F16), "it holds `<V2`, not f16");
    assert_eq!(refused(&one, DType::F8E4M3FN), "it holds `<V2`, not f8e4m3fn");
    let narrow = described("<V1", "False", "(2,)", &[0x0f, 0xf1]);
    assert_eq!(read(&narrow, DType::I4).unwrap().1, [0x0f, 0x01]);
    assert_eq!(read(&narrow, DType::F8E4M3FN).unwrap().1, [0x0f, 0xf1]);
    let e5m2 = described("<f1", "False", "(1,)", &[0x3c]);
    assert_eq!(read(&e5m2, DType::F8E5M2).unwrap().1, [0x3c]);
    assert_eq!(read(&described("bfloat16", "False", "()", &[0, 0]), DType::BF16).unwrap().0, [0i64; 0]);
}

#[test]
fn dtypes_of_ml_dtypes_in_the_other_order_of_bytes() {
    let one = described(">V2", "False", "(1,)", &[0x3f, 0x80]);
    assert_eq!(read(&one, DType::BF16).unwrap().1, [0x80, 0x3f]);
    // Each part has its bytes reversed.
    let pair = [">V4", ">W4"].map(|descr| described(descr, "False", "()", &[0x3f, 0x80, 0xc0, 0]));
    for pair in pair {
        assert_eq!(read(&pair, DType::BC32).unwrap().1, [0x80, 0x3f, 0, 0xc0]);
    }
}

#[test]
fn complex_dtypes_of_ml_dtypes_are_what_the_reader_says() {
    let one = described("<W4", "False", "()", &[0x80, 0x3f, 0, 0]);
    assert_eq!(Array::read(&one[..]).unwrap().dtype(), None);
    for dtype in [DType::C32, DType::BC32] {
        assert_eq!(read(&one, dtype).unwrap().1, [0x80, 0x3f, 0, 0]);
    }
    assert_eq!(refused(&one, DType::F32), "it holds `<W4`, not f32");
    assert_eq!(refused(&one, DType::C64), "it holds `<W4`, not c64");
}

#[test]
fn bytes_without_a_name_are_no_dtype_that_numpy_names() {
    for (descr, size) in [("<V1", 1), ("<V2", 2), ("<V4", 4)] {
        let file = described(descr, "False", "()", &vec![0; size]);
        for dtype in DType::strong() {
            let mut own = Vec::new();
            write(&Tensor::zeros(dtype, &[]).unwrap(), &mut own).unwrap();
            let has_no_name = Array::read(&own[..]).unwrap().dtype().is_none();
            let fits = has_no_name && Tensor::zeros(dtype, &[]).unwrap().element_size() == size;
            assert_eq!(read(&file, dtype).is_ok(), fits, "{descr} as {dtype}");
        }
    }
}

#[test]
fn bools_are_zero_or_one() {
    let file = described("|b1", "False", "(3,)", &[0, 1, 2]);
    assert_eq!(read(&file, DType::B1).unwrap().1, [0, 1, 1]);
}

#[test]
fn what_is_no_array_of_numbers_is_refused() {
    let float = |file: &[u8]| refused(file, DType::F32);
    assert_eq!(
        float(b"PK\x03\x04 is a zip, or npz"),
        "it is not a .npy file: its first bytes are not \\x93NUMPY"
    );
    assert_eq!(float(b"\x93NUM"), "it ends within its header");
    assert_eq!(float(b"\x93NUMPY\x01\x00\xff\x00{"), "it ends within its header");
    assert_eq!(float(b"\x93NUMPY\x09\x00\x01\x00"), "version 9.0 of the .npy format is not supported");
    assert_eq!(
        float(b"\x93NUMPY\x02\x00\xff\xff\xff\xff"),
        "its header is damaged: it would have 4294967295 bytes"
    );
    assert!(float(&described("|O", "False", "(1,)", &[])).starts_with("it holds pickled Python objects"));
    for descr in ["<U3", "|S4", "<M8[ns]", "<V16", "<Vx", "<f16", "", "é"] {
        let message = float(&described(descr, "False", "(1,)", &[]));
        assert_eq!(message, format!("its elements are `{descr}`, which tensors cannot have"));
    }
    let records = file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", &[0; 4]);
    assert_eq!(float(&records), "its elements are `records`, which tensors cannot have");
    assert_eq!(float(&described("<f8", "False", "(1,)", &[0; 8])), "it holds f64, not f32");
}

#[test]
fn damaged_headers_say_where() {
    for (header, what) in [
        ("", "a dictionary is expected at column 1"),
        ("{'descr'}", "a colon is expected at column 9"),
        ("{'descr': '<f4', 'shape': ()}", "an entry is missing at column 30"),
        ("{'descr': '<f4', 'extra': ()}", "an unknown entry stands at column 26"),
        ("{'descr': '<f4", "the string does not end at column 12"),
        ("{'fortran_order': 1}", "True or False is expected at column 19"),
        ("{'shape': [1]}", "a tuple is expected at column 11"),
        ("{'shape': (-1,)}", "an extent is expected at column 12"),
        ("{'shape': (99999999999999999999,)}", "an extent is expected at column 12"),
        ("{'shape': (1 2)}", "a comma or the end of the tuple is expected at column 14"),
    ] {
        let message = refused(&file(header, &[]), DType::F32);
        assert!(message.contains(what), "{header}: {message}");
    }
    let deep = format!("{{'shape': ({})}}", "1,".repeat(100));
    assert!(refused(&file(&deep, &[]), DType::F32).contains("too many dimensions"));
}

#[test]
fn lengths_must_be_right_before_memory_is_taken() {
    let short = described("<i4", "False", "(3,)", &le([1, 2]));
    assert_eq!(refused(&short, DType::I32), "[3] of `<i4` takes 12 bytes, but the file has 8");
    let long = described("<i4", "False", "(1,)", &le([1, 2]));
    assert_eq!(refused(&long, DType::I32), "[1] of `<i4` takes 4 bytes, but the file has 5 or more");
    let path = std::env::temp_dir().join(format!("promote-npy-{}.npy", std::process::id()));
    for (shape, what) in [
        ("(1000000000,)", "takes 4000000000 bytes, but the file has 8"),
        ("(9223372036854775807, 9)", "no tensor of shape"),
    ] {
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&described("<i4", "False", shape, &le([1, 2]))).unwrap();
        let error =
            Array::open(&path).unwrap().into_tensor(DType::I32).map(drop).expect_err("it is too short");
        assert!(error.to_string().contains(what), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_is_written_reads_back() {
    for dtype in DType::strong() {
        for shape in [&[][..], &[3], &[2, 0], &[2, 1, 3]] {
            let mut tensor = Tensor::zeros(dtype, shape).unwrap();
            let mask = if dtype.bits() < 8 { (1 << dtype.bits()) - 1 } else { 0xff };
            for (index, byte) in tensor.bytes_mut().unwrap().iter_mut().enumerate() {
                *byte = (index * 37 + 5) as u8 & mask;
            }
            let mut file = Vec::new();
            write(&tensor, &mut file).unwrap();
            let start = file.len() - tensor.bytes().unwrap().len();
            assert_eq!((start % 64, file[start - 1]), (0, b'\n'));
            assert_eq!(
                read(&file, dtype).unwrap(),
                (shape.to_vec(), tensor.bytes().unwrap().to_vec()),
                "{dtype}"
            );
        }
    }
}

#[test]
fn files_are_byte_for_byte_numpys() {
    let mut file = Vec::new();
    write(&Tensor::of(&[[1f32, 2.0]], &[]).unwrap(), &mut file).unwrap();
    assert_eq!(file, described("<c8", "False", "()", &[0, 0, 128, 63, 0, 0, 0, 64]));
    file.clear();
    write(&Tensor::of(&[1u8, 2], &[2]).unwrap(), &mut file).unwrap();
    assert_eq!(file, described("|u1", "False", "(2,)", &[1, 2]));
    file.clear();
    write(&Tensor::new(DType::BF16, &[1], &[0x80, 0x3f]).unwrap(), &mut file).unwrap();
    assert_eq!(file, described("<V2", "False", "(1,)", &[0x80, 0x3f]));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64), at in 0..128usize) {
        let _ = read(&bytes, DType::F32);
        let mut file = described("<f4", "True", "(2, 3)", &[0; 24]);
        let room = file.len() - at;
        bytes.truncate(room);
        file[at..at + bytes.len()].copy_from_slice(&bytes);
        // A shape that was changed to a huge one is refused for want of memory, or of bytes.
        let _ = read(&file, DType::F32);
    }

    #[test]
    fn no_header_makes_it_panic(header in "[{}()',:0-9a-zA-Z_<>| \\\\\"-]{0,80}") {
        let _ = read(&file(&header, &[0; 8]), DType::F32);
    }
}
