//! What a program launches, as code of a device.

use promote_dialect::extent::{Product as Extents, Symbol};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::Kernel;
use promote_lower::program::{Function, Matmul, Program, Step};
use promote_lower::target::{Costs, Packing, Product, Target};

use crate::code::Code;
use crate::entry::Entry;
use crate::matmul::TensorCores;
use crate::schedule::Schedule;
use crate::{kernel, matmul, sort};

/// Devices as lowering sees them: all are alike, but for what their tensor cores may be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// What the tensor cores may be used for.
    pub cores: TensorCores,
}

impl Target for Machine {
    fn name(&self) -> &'static str {
        "devices"
    }

    fn costs(&self) -> Costs {
        Costs::COMMON
    }

    fn schedule(&self, kernel: &Kernel, numerics: Numerics) -> String {
        Schedule::new(kernel, numerics).to_string()
    }

    fn faster_multiple(&self, kernel: &Kernel, numerics: Numerics) -> Option<(Symbol, i64)> {
        let schedule = |kernel: &Kernel| Schedule::new(kernel, numerics);
        if schedule(kernel).wide() != Some(1) {
            return None;
        }
        let symbols = &kernel.dims.last()?.symbols;
        [16, 8, 4, 2].into_iter().find_map(|count| {
            let is_faster = |symbol: &&Symbol| {
                let multiple = Extents { number: count, symbols: vec![**symbol] };
                schedule(&kernel.replaced(**symbol, &multiple)).wide() == Some(count as usize)
            };
            symbols.iter().find(is_faster).map(|symbol| (*symbol, count))
        })
    }

    fn packing(&self, product: &Product) -> Option<Packing> {
        let [left, right] = product.operands;
        let by_cores = || self.cores.factors([left, right, product.dtype]).is_some() && product.is_large();
        (product.is_in_order(true) || by_cores()).then_some(Packing::Nothing)
    }
}

/// The dtypes of a product of matrices: of the left one, the right one, and the product.
pub type Dtypes = [DType; 3];

/// What was compiled of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Of each of its kernels.
    pub kernels: Vec<Entry>,
    /// Of its products of matrices, by their dtypes.
    pub products: Vec<matmul::Product>,
    /// Of its sorts, by dtype.
    pub sorts: Vec<sort::Sort>,
    /// What the tensor cores are used for: nothing, if no product is theirs.
    pub cores: TensorCores,
}

impl Compiled {
    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let tiles = self.products.iter().flat_map(|product| &product.tiles);
        let products = tiles.map(|(_, entry)| entry);
        let sorts = self.sorts.iter().flat_map(|sort| [&sort.runs, &sort.merge]);
        self.kernels.iter().chain(products).chain(sorts)
    }

    /// The code that multiplies matrices of these dtypes.
    pub fn product(&self, dtypes: Dtypes) -> Option<&matmul::Product> {
        self.products.iter().find(|product| product.dtypes == dtypes)
    }

    /// The code that sorts elements of a dtype.
    pub fn sort(&self, dtype: DType) -> Option<&sort::Sort> {
        self.sorts.iter().find(|sort| sort.dtype == dtype)
    }

    /// What a program launches on a device whose tensor cores are used so.
    pub fn of(program: &Program, cores: TensorCores) -> Self {
        let numbered = program.kernels.iter().enumerate();
        let kernels = numbered
            .map(|(index, kernel)| kernel::entry(kernel, program.numerics, format!("kernel{index}")))
            .collect();
        let mut compiled = Self { kernels, products: Vec::new(), sorts: Vec::new(), cores };
        for function in &program.functions {
            for (step, _) in function.blocks.iter().flat_map(|block| &block.steps) {
                compiled.add(function, step);
            }
        }
        if !compiled.products.iter().any(matmul::Product::uses_cores) {
            compiled.cores = TensorCores::Unused;
        }
        compiled
    }

    /// What a step launches beside kernels.
    fn add(&mut self, function: &Function, step: &Step) {
        match step {
            Step::Matmul(Matmul { left, right, product, .. }) => {
                let dtypes = [left, right, product].map(|buffer| function.dtype(*buffer).storage());
                if self.product(dtypes).is_none() {
                    let name = format!("matmul{}", self.products.len());
                    self.products.push(matmul::Product::new(dtypes, self.cores, &name));
                }
            }
            Step::Sort { buffer, .. } => {
                let dtype = function.dtype(*buffer).storage();
                if self.sort(dtype).is_none() {
                    let name = format!("sort{}", self.sorts.len());
                    self.sorts.push(sort::Sort::new(dtype, &name));
                }
            }
            Step::Allocate { .. }
            | Step::Output { .. }
            | Step::Shape { .. }
            | Step::Constant { .. }
            | Step::Spill { .. }
            | Step::Cell { .. }
            | Step::Copy { .. }
            | Step::Choose { .. }
            | Step::Retain(_)
            | Step::Release(_)
            | Step::Launch(_)
            | Step::CheckExceptions
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Number { .. }
            | Step::Arith { .. }
            | Step::FailIf { .. }
            | Step::Call { .. } => {}
        }
    }

    /// Emits the code of all of it.
    pub fn emit<C: Code>(&self, code: &mut C, program: &Program) {
        self.emit_some(code, program, |_| true);
    }

    /// Emits the code of one entry.
    pub fn emit_one<C: Code>(&self, code: &mut C, program: &Program, one: &Entry) {
        self.emit_some(code, program, |entry| entry.name == one.name);
    }

    fn emit_some<C: Code>(&self, code: &mut C, program: &Program, is_wanted: impl Fn(&Entry) -> bool) {
        let numerics = program.numerics;
        for (kernel, entry) in program.kernels.iter().zip(&self.kernels).filter(|(_, entry)| is_wanted(entry))
        {
            kernel::emit(code, kernel, numerics, entry);
        }
        for product in &self.products {
            for tile in product.tiles.iter().filter(|(_, entry)| is_wanted(entry)) {
                matmul::emit(code, product.dtypes, numerics, tile);
            }
        }
        for sort in &self.sorts {
            if is_wanted(&sort.runs) {
                sort::emit_runs(code, sort.dtype, numerics, &sort.runs);
            }
            if is_wanted(&sort.merge) {
                sort::emit_merge(code, sort.dtype, numerics, &sort.merge);
            }
        }
    }
}
