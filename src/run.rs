//! Compiled functions in this process: call them on tensors, from any thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use promote_diagnostics::Location;
use promote_lattice::DType;
use promote_lower::interface::Interface;
use promote_lower::symbols::Symbols;
use promote_mlir::session::{Module, Session};
use promote_native::Image;
use promote_runtime::{self as runtime, DLTensor, OwnedTensor};

use crate::compile::{CompileError, CompileOptions, Denormals, load};
use crate::device::{self, DeviceFunction, DeviceTensor};
use crate::dlpack;
use crate::tensor::{RunError, Tensor, TensorMut};

/// Compiled functions, loaded into this process or on a device.
#[derive(Clone, Debug)]
pub struct Executable {
    functions: BTreeMap<String, Function>,
}

/// Where a function's metadata are in an image.
#[derive(Clone, Copy)]
struct Metadata(*const runtime::Function);

// SAFETY: metadata are constants, as is all they point to.
unsafe impl Send for Metadata {}
// SAFETY: as above.
unsafe impl Sync for Metadata {}

impl std::fmt::Debug for Metadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A compiled function. It keeps its code alive, may be cloned, and may be called from several threads at once.
#[derive(Clone, Debug)]
pub struct Function {
    name: Arc<str>,
    location: Option<Location>,
    code: Code,
    inputs: Arc<[TensorType]>,
    outputs: Arc<[TensorType]>,
}

/// What runs a function.
#[derive(Clone, Debug)]
enum Code {
    /// Code for this processor, in an image, and what it makes of denormal numbers.
    Processor { metadata: Metadata, denormals: Denormals, _image: Arc<Image> },
    /// A device.
    Device(Arc<DeviceFunction>),
}

impl Code {
    fn callable(&self) -> runtime::Callable<'_> {
        match self {
            Self::Processor { metadata, .. } => callable(metadata),
            Self::Device(function) => function.callable(),
        }
    }
}

/// The type of an argument or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// The element type, which is strong.
    pub dtype: DType,
    /// The extents; `None` for one that is known at run time only.
    pub shape: Vec<Option<i64>>,
}

impl TensorType {
    /// The type of a tensor.
    pub(crate) fn of_tensor(dtype: DType, dims: &[i64]) -> Self {
        Self { dtype, shape: dims.iter().copied().map(Some).collect() }
    }
}

impl std::fmt::Display for TensorType {
    /// As messages of the run time have it: `float32[4,?]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shape: Vec<String> =
            self.shape.iter().map(|extent| extent.map_or("?".into(), |extent| extent.to_string())).collect();
        write!(f, "{}[{}]", dlpack::of(self.dtype), shape.join(","))
    }
}

impl Executable {
    /// Promotes, lowers, compiles and loads a module.
    ///
    /// # Errors
    /// As [`compile()`](crate::compile()).
    pub fn compile(
        session: &Session,
        mut module: Module<'_>,
        options: &CompileOptions,
    ) -> Result<Executable, CompileError> {
        load(session, &mut module, options)
    }

    pub(crate) fn new(image: Image, interfaces: &[Interface], denormals: Denormals) -> Executable {
        let image = Arc::new(image);
        let functions = interfaces.iter().filter_map(|interface| {
            let symbol = image.symbol(&Symbols::of(&interface.name).metadata)?;
            let metadata = Metadata(symbol.cast());
            let code = Code::Processor { metadata, denormals, _image: Arc::clone(&image) };
            Some((interface.name.clone(), Function::new(interface, code)))
        });
        Executable { functions: functions.collect() }
    }

    pub(crate) fn on_device(
        executable: Arc<promote_execute::Executable>,
        interfaces: &[Interface],
    ) -> Executable {
        let functions = interfaces.iter().map(|interface| {
            let code = Code::Device(Arc::new(DeviceFunction::new(executable.clone(), interface)));
            (interface.name.clone(), Function::new(interface, code))
        });
        Executable { functions: functions.collect() }
    }

    /// The public functions, by name.
    pub fn functions(&self) -> impl Iterator<Item = Function> {
        self.functions.values().cloned()
    }

    /// The public function of that name.
    pub fn function(&self, name: &str) -> Option<Function> {
        self.functions.get(name).cloned()
    }
}

/// A function as the run time calls it; only while its image is alive.
const fn callable(metadata: &Metadata) -> runtime::Callable<'_> {
    // SAFETY: the symbol is the metadata of a function that `promote-to-llvm` made, which live as long as the image; that
    // is kept by who has the metadata.
    unsafe { runtime::Callable::new(&*metadata.0) }
}

fn tensor_type(described: &runtime::TensorType) -> TensorType {
    TensorType {
        // Signatures are made of dtypes that DLPack has.
        dtype: dlpack::dtype(described.dtype()).unwrap_or_else(|| unreachable!("{}", described.dtype())),
        shape: described.extents().iter().map(|&extent| (extent >= 0).then_some(extent)).collect(),
    }
}

impl Function {
    fn new(interface: &Interface, code: Code) -> Function {
        let callable = code.callable();
        let inputs = callable.inputs().iter().map(tensor_type).collect();
        let outputs = callable.outputs().iter().map(tensor_type).collect();
        let (name, location) = (interface.name.as_str().into(), interface.location.clone());
        Function { name, location, code, inputs, outputs }
    }

    /// The name in the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is defined in the program's source, if that is known.
    pub const fn location(&self) -> Option<&Location> {
        self.location.as_ref()
    }

    /// The types of the arguments.
    pub fn inputs(&self) -> &[TensorType] {
        &self.inputs
    }

    /// The types of the results.
    pub fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    /// Runs the function; the results are in memory of their own.
    ///
    /// # Errors
    /// If the inputs are not what the function takes, or a check at run time fails.
    pub fn run(&self, inputs: &[Tensor<'_>]) -> Result<Vec<Tensor<'static>>, RunError> {
        let views: Vec<_> = inputs.iter().map(Tensor::view).collect();
        let results = self.enter(|callable| callable.run(&views))?;
        Ok(self.tensors(results))
    }

    /// Runs the function; the results are written to `outputs`, which hold arbitrary elements after an error. Their shapes
    /// are those of the results; [`Function::shapes`] returns them.
    ///
    /// # Errors
    /// As [`Function::run`], and if the outputs are not what the function returns.
    pub fn run_into(&self, inputs: &[Tensor<'_>], outputs: &mut [TensorMut<'_>]) -> Result<(), RunError> {
        let views: Vec<_> = inputs.iter().map(Tensor::view).collect();
        let mut targets: Vec<_> = outputs.iter_mut().map(TensorMut::view).collect();
        self.enter(|callable| callable.run_into(&views, &mut targets))
    }

    /// The shapes that the results have for these inputs. Where they depend on values, the function is run.
    ///
    /// # Errors
    /// As [`Function::run`].
    pub fn shapes(&self, inputs: &[Tensor<'_>]) -> Result<Vec<Vec<i64>>, RunError> {
        let views: Vec<_> = inputs.iter().map(Tensor::view).collect();
        self.enter(|callable| callable.shapes(&views))
    }

    /// Runs the function on DLPack tensors; the results are in memory of their own.
    ///
    /// # Errors
    /// As [`Function::run`], and if an input is null or not in CPU memory.
    ///
    /// # Safety
    /// Each pointer is null or points to a tensor, with as many extents (and strides, if any) as dimensions, and memory for
    /// the elements that it describes, which nobody else writes to meanwhile.
    pub unsafe fn results_of(&self, inputs: &[*const DLTensor]) -> Result<Vec<Tensor<'static>>, RunError> {
        // SAFETY: by contract.
        let results = self.enter(|callable| unsafe { callable.results_of(inputs) })?;
        Ok(self.tensors(results))
    }

    /// Runs the function on DLPack tensors; the results are written to `outputs`, as by [`Function::run_into`].
    ///
    /// # Errors
    /// As there, and if a tensor is null or not in CPU memory.
    ///
    /// # Safety
    /// As [`Function::results_of`].
    pub unsafe fn call_on(
        &self,
        inputs: &[*const DLTensor],
        outputs: &[*mut DLTensor],
    ) -> Result<(), RunError> {
        // SAFETY: by contract.
        self.enter(|callable| unsafe { callable.call_on(inputs, outputs) })
    }

    /// Fills dtype, `ndim` and shape of DLPack tensors for the results of these inputs; before, `ndim` says how many extents
    /// `shape` has room for.
    ///
    /// # Errors
    /// As [`Function::call_on`], and if there is no room.
    ///
    /// # Safety
    /// As [`Function::results_of`]; of outputs only the shapes are written.
    pub unsafe fn shapes_on(
        &self,
        inputs: &[*const DLTensor],
        outputs: &[*mut DLTensor],
    ) -> Result<(), RunError> {
        // SAFETY: by contract.
        self.enter(|callable| unsafe { callable.shapes_on(inputs, outputs) })
    }

    /// Results of the run time with their dtypes.
    fn tensors(&self, results: Vec<OwnedTensor>) -> Vec<Tensor<'static>> {
        let dtypes = self.outputs.iter().map(|output| output.dtype);
        dtypes.zip(results).map(|(dtype, result)| Tensor::from_owned(dtype, result)).collect()
    }

    /// Calls the function with denormal numbers treated as it was compiled for.
    fn enter<T>(&self, call: impl FnOnce(runtime::Callable<'_>) -> T) -> T {
        let callable = self.code.callable();
        match &self.code {
            Code::Processor { denormals: Denormals::Flush, .. } => {
                runtime::with_flushed_denormals(|| call(callable))
            }
            Code::Processor { denormals: Denormals::Keep, .. } | Code::Device(_) => call(callable),
        }
    }

    /// Runs the function on tensors of its device; the results stay there. `None` if it runs on a processor.
    ///
    /// # Errors
    /// If the inputs are not what the function takes, or are on another device, or a check at run time fails.
    pub fn run_on_device(&self, inputs: &[&DeviceTensor]) -> Option<Result<Vec<DeviceTensor>, RunError>> {
        let Code::Device(function) = &self.code else { return None };
        Some(device::run(function, &self.inputs, inputs))
    }

    /// Runs the function on DLPack tensors, each on its device or in memory of this process; the results stay on the device. `None`
    /// if it runs on a processor.
    ///
    /// With CUDA, what was done to inputs in the default stream is waited for. The device may read them still when this returns:
    /// what is done to them after that in the default stream waits, and other work has to wait for
    /// [`Device::stream`](promote_devices::Device::stream).
    ///
    /// # Errors
    /// As [`Function::results_of`], and if an input is on another device.
    ///
    /// # Safety
    /// As there; an input on the device has memory there.
    pub unsafe fn results_on_device(
        &self,
        inputs: &[*const DLTensor],
    ) -> Option<Result<Vec<DeviceTensor>, RunError>> {
        let Code::Device(function) = &self.code else { return None };
        // SAFETY: by contract.
        Some(unsafe { function.keep_on(inputs) })
    }
}

/// Spreads the loops of all compiled functions over `number` threads from now on, the caller's included; 0: over as many as
/// the environment's `PROMOTE_NUM_THREADS` says, or as there are processors.
pub fn set_threads(number: usize) {
    runtime::set_num_threads(number);
}

/// How many threads loops are spread over, the caller's included.
pub fn threads() -> usize {
    runtime::num_threads()
}
