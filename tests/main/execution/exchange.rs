//! Tensors of devices as DLPack's: taken from other libraries, and handed to them.
//!
//! What concerns CUDA is tried on `tests/support/fake_cuda.c`, a driver without a GPU: in a process of its own, since a process
//! loads one driver.

use std::ffi::{CStr, c_void};
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use promote::device::{
    self, DeviceTarget, DeviceTensor, SharedDevice, dlpack_device, from_managed, from_managed_unversioned,
    into_managed,
};
use promote::dlpack::{self, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use promote::{DType, Function, Status};

use super::devices::targets;
use super::support::{Place, function, known, session};
use crate::needed::programs;

const N: usize = 8;
const X: [f32; N] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

/// A function that adds two tensors of eight floats.
fn add(target: DeviceTarget, device: &SharedDevice) -> Function {
    let text = known(
        "func.func @add(%x: tensor<8xf32>, %y: tensor<8xf32>) -> !u {\n  %r = \"promote.add\"(%x, %y) : \
         (tensor<8xf32>, tensor<8xf32>) -> !u\n  return %r : !u\n}\n",
    );
    let place = Place::Device(target, device.clone());
    function(&place.compile(&session("jax", false, false), &text).expect("it compiles"), "add")
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn read(tensor: &DeviceTensor) -> Vec<f32> {
    let mut bytes = vec![0; tensor.byte_count()];
    tensor.read(&mut bytes).expect("it is read");
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("of four"))).collect()
}

fn sum(add: &Function, x: &DeviceTensor, y: &DeviceTensor) -> DeviceTensor {
    add.run_on_device(&[x, y]).expect("it is for a device").expect("it runs").remove(0)
}

/// A tensor of another library's: what it owns is written over when it is deleted, which is counted.
struct Foreign {
    versioned: DLManagedTensorVersioned,
    unversioned: DLManagedTensor,
    extents: Vec<i64>,
    strides: Vec<i64>,
    /// What to do when it is deleted.
    delete: Box<dyn Fn()>,
    deleted: &'static AtomicUsize,
}

impl Foreign {
    fn new(
        (data, offset): (u64, u64),
        place: DLDevice,
        deleted: &'static AtomicUsize,
        delete: impl Fn() + 'static,
    ) -> Box<Self> {
        unsafe extern "C" fn versioned(managed: *mut DLManagedTensorVersioned) {
            // SAFETY: the context is the box that the test leaked.
            let own = unsafe { Box::from_raw((*managed).manager_ctx.cast::<Foreign>()) };
            (own.delete)();
            own.deleted.fetch_add(1, Ordering::SeqCst);
        }
        unsafe extern "C" fn unversioned(managed: *mut DLManagedTensor) {
            // SAFETY: as above.
            let own = unsafe { Box::from_raw((*managed).manager_ctx.cast::<Foreign>()) };
            (own.delete)();
            own.deleted.fetch_add(1, Ordering::SeqCst);
        }
        let (mut extents, mut strides) = (vec![N as i64], vec![1]);
        let mut tensor = || DLTensor {
            data: std::ptr::without_provenance_mut(data as usize),
            device: DLDevice { ..place },
            ndim: 1,
            dtype: dlpack::of(DType::F32),
            shape: extents.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: offset,
        };
        let manager_ctx: *mut c_void = std::ptr::null_mut();
        let whole = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 1 },
            manager_ctx,
            deleter: Some(versioned),
            flags: 1,
            dl_tensor: tensor(),
        };
        let old = DLManagedTensor { dl_tensor: tensor(), manager_ctx, deleter: Some(unversioned) };
        let delete = Box::new(delete);
        let mut own =
            Box::new(Self { versioned: whole, unversioned: old, extents, strides, delete, deleted });
        let context = (&raw mut *own).cast();
        own.versioned.manager_ctx = context;
        own.unversioned.manager_ctx = context;
        own
    }

    /// The tensor for whoever deletes it.
    fn leak(self: Box<Self>) -> (NonNull<DLManagedTensorVersioned>, NonNull<DLManagedTensor>) {
        assert_eq!((self.extents.len(), self.strides.len()), (1, 1));
        let own = Box::leak(self);
        (NonNull::from(&mut own.versioned), NonNull::from(&mut own.unversioned))
    }
}

/// Memory of this process is copied, and deleted at once when the tensor is dropped.
#[test]
fn a_tensor_in_memory_of_the_process_is_taken_by_a_copy() {
    static DELETED: AtomicUsize = AtomicUsize::new(0);
    for target in targets() {
        let device = device::open(target).expect("it was there");
        let add = add(target, &device);
        let numbers: &'static [f32] = Box::leak(Box::new(X));
        let cpu = DLDevice { device_type: 1, device_id: 0 };
        let place = (numbers.as_ptr() as u64, 0);
        let before = DELETED.load(Ordering::SeqCst);
        let (managed, _) = Foreign::new(place, cpu, &DELETED, || ()).leak();
        // SAFETY: it is such a tensor, and its elements are never freed.
        let x = unsafe { from_managed(&device, managed) }.expect("it is taken");
        let (_, managed) = Foreign::new(place, cpu, &DELETED, || ()).leak();
        // SAFETY: as above.
        let y = unsafe { from_managed_unversioned(&device, managed) }.expect("it is taken");
        assert_eq!(read(&sum(&add, &x, &y)), X.map(|x| x + x), "{target}");
        assert_eq!(DELETED.load(Ordering::SeqCst), before);
        drop((x, y));
        assert_eq!(DELETED.load(Ordering::SeqCst), before + 2);
    }
}

/// What was handed out comes back as the same memory, whoever deletes what first.
#[test]
fn a_tensor_that_was_handed_out_is_taken_again() {
    for target in targets() {
        let device = device::open(target).expect("it was there");
        let add = add(target, &device);
        let x = DeviceTensor::from_bytes(&device, DType::F32, &[N as i64], &bytes(&X)).expect("it fits");
        let (memory, address) = (x.memory(), x.address());
        let managed = into_managed(x);
        // SAFETY: it is a managed tensor, which is handed on.
        let x = unsafe { from_managed(&device, managed) }.expect("it is taken");
        assert_eq!((x.address(), x.dims(), x.dtype()), (address, &[N as i64][..], DType::F32), "{target}");
        // A pointer of CUDA's is taken as another library's is.
        assert!(x.memory() == memory || matches!(target, DeviceTarget::Cuda(_)), "{target}");
        let (again, twice) = (into_managed(sum(&add, &x, &x)), x);
        // SAFETY: as above.
        let old = unsafe { DLManagedTensor::of_versioned(again) };
        // SAFETY: as above.
        let y = unsafe { from_managed_unversioned(&device, old) }.expect("it is taken");
        drop(twice);
        assert_eq!(read(&y), X.map(|x| x + x), "{target}");
    }
}

#[test]
fn what_is_not_known_is_refused_and_stays_the_caller_s() {
    static DELETED: AtomicUsize = AtomicUsize::new(0);
    for target in targets() {
        let device = device::open(target).expect("it was there");
        let own = dlpack_device(&device);
        let before = DELETED.load(Ordering::SeqCst);
        let refused = |change: &dyn Fn(&mut DLManagedTensorVersioned)| {
            let numbers: &'static [f32] = Box::leak(Box::new(X));
            let mut foreign = Foreign::new((numbers.as_ptr() as u64, 0), DLDevice { ..own }, &DELETED, || ());
            change(&mut foreign.versioned);
            // SAFETY: the tensor is such a one, or says what is refused.
            let taken = unsafe { from_managed(&device, NonNull::from(&mut foreign.versioned)) };
            let error = taken.expect_err("it is refused");
            (error.status, error.message)
        };
        let version = refused(&|managed| managed.version.major = 2);
        assert_eq!(version.1, "the tensor is of version 2.1 of DLPack, and 1 is known");
        let (status, message) = refused(&|_| ());
        assert_eq!(status, Status::Device, "{message}");
        assert!(message.starts_with("from_dlpack: input 0: "), "{message}");
        let (status, message) = refused(&|managed| managed.dl_tensor.device.device_id += 3);
        assert_eq!(status, Status::Device);
        assert!(message.starts_with("from_dlpack: input 0 must be in CPU memory or on "), "{message}");
        assert!(message.ends_with(" device 3"), "{message}");
        let (status, message) = refused(&|managed| managed.dl_tensor.ndim = -1);
        assert_eq!((status, message.as_str()), (Status::Rank, "from_dlpack: input 0 has a negative rank"));
        let (status, message) = refused(&|managed| managed.dl_tensor.dtype.lanes = 4);
        assert_eq!(status, Status::Dtype);
        assert!(message.contains("which is no dtype"), "{message}");
        // SAFETY: there is one stride.
        let (status, message) = refused(&|managed| unsafe { *managed.dl_tensor.strides = 2 });
        assert_eq!(status, Status::Strides);
        assert!(message.contains("must be row-major there"), "{message}");
        assert_eq!(DELETED.load(Ordering::SeqCst), before);
    }
}

/// Other libraries point into a tensor by its pointer and an offset: no such place is the beginning of another one.
#[test]
fn no_place_within_what_was_handed_out_is_another_tensor() {
    for target in targets() {
        let device = device::open(target).expect("it was open before");
        const BYTES: usize = 1 << 20;
        let numbers = vec![1.0; BYTES / 4];
        let make = || {
            into_managed(
                DeviceTensor::from_bytes(&device, DType::F32, &[(BYTES / 4) as i64], &bytes(&numbers))
                    .expect("there is memory"),
            )
        };
        let made: Vec<_> = (0..8).map(|_| make()).collect();
        // SAFETY: they are managed tensors, which are deleted once.
        let mut starts: Vec<usize> =
            made.iter().map(|managed| unsafe { managed.as_ref() }.dl_tensor.data as usize).collect();
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= BYTES), "{target}: {starts:x?}");
        for managed in made {
            // SAFETY: as above.
            unsafe { managed.as_ref().deleter.expect("it has one")(managed.as_ptr()) };
        }
    }
}

#[test]
fn a_device_that_was_opened_twice_is_two() {
    for target in targets().into_iter().filter(|target| !matches!(target, DeviceTarget::Cuda(_))) {
        let (one, other) =
            (device::open(target).expect("it was there"), device::open(target).expect("again"));
        let x = DeviceTensor::from_bytes(&one, DType::F32, &[N as i64], &bytes(&X)).expect("it fits");
        let managed = into_managed(x);
        // SAFETY: it is a managed tensor; it stays the test's.
        let error = unsafe { from_managed(&other, managed) }.expect_err("it is the other's");
        assert!(
            error.message.ends_with("it is a tensor of a device that was opened another time"),
            "{error}"
        );
        // SAFETY: as above, and it is deleted once.
        unsafe { (managed.as_ref().deleter.expect("there is one"))(managed.as_ptr()) };
    }
}

type Allocate = unsafe extern "C" fn(*mut u64, usize) -> i32;
type Write = unsafe extern "C" fn(u64, *const c_void, usize, *mut c_void) -> i32;
type Free = unsafe extern "C" fn(u64) -> i32;

/// The functions of the driver that the test below calls as another library does.
struct Driver {
    allocate: Allocate,
    write: Write,
    free: Free,
}

impl Driver {
    /// The driver that the process has loaded.
    fn loaded() -> Self {
        // SAFETY: the types are those of CUDA's header.
        unsafe {
            let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
            let find = |name: &CStr| {
                let found = libc::dlsym(library, name.as_ptr());
                assert!(!found.is_null(), "{name:?}");
                found
            };
            Self {
                allocate: std::mem::transmute::<*mut c_void, Allocate>(find(c"cuMemAlloc_v2")),
                write: std::mem::transmute::<*mut c_void, Write>(find(c"cuMemcpyHtoDAsync_v2")),
                free: std::mem::transmute::<*mut c_void, Free>(find(c"cuMemFree_v2")),
            }
        }
    }

    fn allocate(&self) -> u64 {
        let mut pointer = 0;
        // SAFETY: the driver without a GPU needs no context for this, and for what is below.
        assert_eq!(unsafe { (self.allocate)(&raw mut pointer, 64) }, 0);
        pointer
    }

    fn write(&self, pointer: u64, numbers: &[f32]) {
        let size = size_of_val(numbers);
        // SAFETY: the memory has as many bytes.
        let code = unsafe { (self.write)(pointer, numbers.as_ptr().cast(), size, std::ptr::null_mut()) };
        assert_eq!(code, 0);
    }

    fn free(&self, pointer: u64) {
        // SAFETY: it was allocated, and is freed once.
        assert_eq!(unsafe { (self.free)(pointer) }, 0);
    }
}

/// What the test below has another process run.
#[test]
#[ignore = "it needs the driver that the test below gives it"]
fn by_the_fake_driver_of_cuda() {
    static DELETED: AtomicUsize = AtomicUsize::new(0);
    let target = DeviceTarget::Cuda(None);
    let device = device::open(target).expect("the driver has devices");
    let add = add(target, &device);
    let driver: &'static Driver = Box::leak(Box::new(Driver::loaded()));
    let own = dlpack_device(&device);
    for (number, offset) in [0, 16, 4].into_iter().enumerate() {
        for has_version in [true, false] {
            let pointer = driver.allocate();
            driver.write(pointer + offset, &X);
            let place = (pointer, offset);
            let (managed, old) =
                Foreign::new(place, DLDevice { ..own }, &DELETED, move || driver.free(pointer)).leak();
            // SAFETY: it is such a tensor.
            let x = unsafe {
                if has_version {
                    from_managed(&device, managed)
                } else {
                    from_managed_unversioned(&device, old)
                }
            }
            .expect("it is taken");
            // Without a copy, but for one that kernels cannot access.
            assert_eq!(x.address() == Some(pointer + offset), offset % 16 == 0);
            let before = DELETED.load(Ordering::SeqCst);
            // The kernel has not run yet when the tensor is dropped: freeing it before would change the sum.
            let twice = sum(&add, &x, &x);
            assert_eq!(DELETED.load(Ordering::SeqCst), before);
            drop(x);
            assert_eq!(DELETED.load(Ordering::SeqCst), before + 1);
            assert_eq!(read(&twice), X.map(|x| x + x), "{number}");
        }
    }
    // A result is at its pointer, and its memory is not used for others until it is deleted.
    let x = DeviceTensor::from_bytes(&device, DType::F32, &[N as i64], &bytes(&X)).expect("it fits");
    let result = sum(&add, &x, &x);
    let address = result.address();
    let managed = into_managed(result);
    // SAFETY: it was just made.
    let data = unsafe { managed.as_ref().dl_tensor.data } as u64;
    assert_eq!(Some(data), address);
    let others: Vec<DeviceTensor> = (0..4).map(|_| sum(&add, &x, &x)).collect();
    assert!(others.iter().all(|other| other.address() != address));
    drop((device, add, x, others));
    // SAFETY: it is deleted once, here by the last who has the device.
    unsafe { (managed.as_ref().deleter.expect("there is one"))(managed.as_ptr()) };
    println!("the fake driver was used");
}

#[test]
fn tensors_of_cuda_are_exchanged_without_a_copy_and_in_order() {
    programs(&["cc"]);
    let folder = std::env::temp_dir().join(format!("promote-fake-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary directory can be written to");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/fake_cuda.c"))
        .status();
    assert!(compiled.expect("cc runs").success());
    let name = concat!(module_path!(), "::by_the_fake_driver_of_cuda");
    let name = name.split_once("::").expect("the crate comes first").1;
    let ran = Command::new(std::env::current_exe().expect("the test runs"))
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env("LD_LIBRARY_PATH", &folder)
        .env_remove("PROMOTE_DEVICE")
        .output()
        .expect("it runs again");
    std::fs::remove_dir_all(&folder).expect("the folder is there");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("the fake driver was used"), "{out}{err}");
}
