//! Calling from Rust: slices are checked against their stated shapes.

use promote_runtime::{Callable, OutputView, TensorView};

use super::*;

fn callable() -> Callable<'static> {
    // SAFETY: the metadata are those of the entry.
    unsafe { Callable::new(incrementer()) }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

#[test]
fn results_have_memory_of_their_own() {
    let data = bytes(&counting(6));
    let results = callable().run(&[TensorView::new(F32, &[2, 3], &data)]).expect("it runs");
    assert_eq!((results[0].dtype(), results[0].shape()), (F32, &[2, 3][..]));
    assert_eq!(results[0].data(), bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(results[0].data().as_ptr() as usize % 64, 0);
    let again = callable().run(&[results[0].view()]).expect("it runs");
    assert_eq!(again[0].data(), bytes(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0]));
    assert_eq!(format!("{:?}", again[0]), "OwnedTensor(float32[2, 3])");
    std::thread::spawn(move || drop(again)).join().expect("results may be dropped anywhere");
}

#[test]
fn outputs_may_be_given() {
    let data = bytes(&counting(6));
    let transposed = TensorView { strides: Some(&[1, 3]), ..TensorView::new(F32, &[3, 2], &data) };
    let mut out = vec![0u8; 24];
    let mut outputs = [OutputView::new(F32, &[3, 2], &mut out)];
    callable().run_into(&[transposed], &mut outputs).expect("it runs");
    assert_eq!(out, bytes(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    let mut reversed = vec![0u8; 24];
    let strides = Some(&[-2i64, -1][..]);
    let view = OutputView { strides, offset: 20, ..OutputView::new(F32, &[3, 2], &mut reversed) };
    callable().run_into(&[transposed], &mut [view]).expect("it runs");
    assert_eq!(reversed, bytes(&[6.0, 3.0, 5.0, 2.0, 4.0, 1.0]));
    assert_eq!(callable().shapes(&[transposed]).expect("the inputs are valid"), [vec![3, 2]]);
}

#[test]
fn what_lies_outside_its_slice_is_refused() {
    let data = bytes(&counting(6));
    let view = TensorView::new(F32, &[2, 3], &data);
    let refused = |view: TensorView<'_>| {
        let error = callable().run(&[view]).expect_err("it reaches beyond");
        (error.status, error.message)
    };
    let beyond = (Status::Shape, "promote_f: input 0 reaches beyond its memory".to_owned());
    assert_eq!(refused(TensorView { data: &data[1..], ..view }), beyond);
    assert_eq!(refused(TensorView { offset: 1, ..view }), beyond);
    assert_eq!(refused(TensorView { offset: usize::MAX, ..view }), beyond);
    assert_eq!(refused(TensorView { strides: Some(&[-3, 1]), ..view }), beyond);
    assert_eq!(refused(TensorView { strides: Some(&[i64::MAX, i64::MIN]), ..view }), beyond);
    assert_eq!(refused(TensorView { shape: &[i64::MAX, i64::MAX], ..view }), beyond);
    let strides =
        (Status::Strides, "promote_f: input 0 has a different number of strides than of extents".to_owned());
    assert_eq!(refused(TensorView { strides: Some(&[1]), ..view }), strides);
    assert_eq!(refused(TensorView { shape: &[2, -3], ..view }).0, Status::Shape);
    let none = callable().run(&[]).expect_err("an input is missing");
    assert_eq!(none.to_string(), "promote_f: must have 1 input, but has 0");
    let mut out = vec![0u8; 20];
    let short = callable().run_into(&[view], &mut [OutputView::new(F32, &[2, 3], &mut out)]);
    assert_eq!(short.expect_err("it is too short").message, "promote_f: output 0 reaches beyond its memory");
}
