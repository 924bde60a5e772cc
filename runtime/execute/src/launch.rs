//! Launches.

use promote_device::{Entry, RUN, Slot as Takes, TRAPS, runs};
use promote_devices::{self as devices, Description};
use promote_dialect::extent::{Product, Sum};
use promote_lattice::DType;
use promote_lower::program::{Launch, Matmul};
use promote_scalar::memory_size;

use crate::Error;
use crate::frame::Frame;
use crate::heap::{BufferId, byte_count};
use crate::machine::Machine;

/// The number that says that no exception was noted.
const NONE: [u8; 4] = u32::MAX.to_le_bytes();

/// What the symbols of an entry stand for.
struct Numbers<'a>(&'a [i64]);

impl Numbers<'_> {
    fn product(&self, product: &Product) -> i64 {
        let factors = product.symbols.iter().map(|symbol| self.0[symbol.0 as usize]);
        factors.fold(product.number, i64::wrapping_mul)
    }

    fn sum(&self, sum: &Sum) -> i64 {
        sum.0.iter().fold(0, |all, product| all.wrapping_add(self.product(product)))
    }
}

impl<'p> Machine<'p, '_> {
    /// Launches a kernel.
    pub fn launch(&mut self, frame: &Frame<'p>, launch: &'p Launch) -> Result<(), Error> {
        let executable = self.executable;
        let entry = &executable.compiled.kernels[launch.kernel.0 as usize];
        let numbers: Vec<i64> = launch.extents.iter().map(|extent| frame.index(*extent)).collect();
        let buffers: Vec<Option<BufferId>> =
            launch.buffers.iter().map(|buffer| buffer.map(|buffer| frame.buffer(buffer))).collect();
        let raises = entry.slots.contains(&Takes::Exceptions);
        let base = if raises { self.base(launch)? } else { 0 };
        self.enqueue(entry, &numbers, &buffers, base)
    }

    /// The number that the exceptions of a launch begin with.
    fn base(&mut self, launch: &'p Launch) -> Result<u32, Error> {
        let noted = match self.exceptions {
            Some(noted) => noted,
            None => {
                let noted = self.allocate(NONE.len() as u64)?;
                *self.exceptions.insert(noted)
            }
        };
        // There are numbers for all exceptions of the launch, or what was raised before is looked at first.
        let after = |(base, launch): &(u32, &Launch)| base + launch.places.len() as u32 * TRAPS;
        let mut base = self.raising.last().map_or(0, after);
        if base > u32::MAX / 2 {
            self.check_exceptions()?;
            base = 0;
        }
        if self.raising.is_empty() {
            self.device.write(self.heap.memory(noted), 0, &NONE)?;
        }
        self.raising.push((base, launch));
        Ok(base)
    }

    fn enqueue(
        &mut self,
        entry: &Entry,
        numbers: &[i64],
        buffers: &[Option<BufferId>],
        base: u32,
    ) -> Result<(), Error> {
        let numbers = Numbers(numbers);
        let units = numbers.product(&entry.geometry.units);
        let groups = entry.geometry.groups(units, self.device.description().limits.groups[0]);
        if groups == 0 {
            return Ok(());
        }
        let loops = &entry.geometry.loops;
        let extents = (numbers.product(&loops.outer), numbers.product(&loops.inner));
        self.check_loops(entry, entry.geometry.iterations(units, extents, groups))?;
        let arguments: Vec<devices::Argument> = entry
            .slots
            .iter()
            .map(|slot| match slot {
                Takes::Exceptions => devices::Argument::Memory(self.memory_of(self.exceptions)),
                Takes::Base => devices::Argument::Word(base.into()),
                Takes::Buffer(node) => devices::Argument::Memory(self.memory_of(buffers[node.0 as usize])),
                Takes::Number(sum) => devices::Argument::Word(numbers.sum(sum).cast_unsigned()),
            })
            .collect();
        let launch = devices::Launch {
            module: self.executable.modules[&entry.name],
            entry: &entry.name,
            groups: [groups, 1, 1],
            threads: entry.geometry.threads,
            arguments: &arguments,
        };
        Ok(self.device.launch(&launch)?)
    }

    /// Refuses loops that the driver would end too early.
    fn check_loops(&self, entry: &Entry, iterations: i64) -> Result<(), devices::DeviceError> {
        let Description { name, limits, .. } = self.device.description();
        let Some(limit) = limits.loop_iterations.filter(|limit| iterations > i64::from(*limit)) else {
            return Ok(());
        };
        let why = format!(
            "its loops may run {iterations} times in a thread, and this driver ends loops after {limit} iterations; run the \
             program on another device, or on the processor"
        );
        Err(devices::DeviceError::Launch { device: name.clone(), entry: entry.name.clone(), why })
    }

    fn memory_of(&self, buffer: Option<BufferId>) -> devices::Memory {
        match buffer {
            Some(buffer) => self.heap.memory(buffer),
            None => unreachable!("a launch has the buffers that its kernel accesses"),
        }
    }

    /// Multiplies matrices.
    pub fn matmul(&mut self, frame: &Frame<'p>, matmul: &Matmul) -> Result<(), Error> {
        let executable = self.executable;
        let buffers = [matmul.left, matmul.right, matmul.product];
        let dtypes = buffers.map(|buffer| frame.function.dtype(buffer).storage());
        let Some(product) = executable.compiled.product(dtypes) else {
            unreachable!("all products of the program were compiled")
        };
        let [batch, rows, inner, columns] = matmul.extents().map(|extent| frame.index(extent));
        let (entry, tiles) = product.chosen(batch, rows, columns);
        let numbers = [tiles, rows, inner, columns];
        self.enqueue(entry, &numbers, &buffers.map(|buffer| Some(frame.buffer(buffer))), 0)
    }

    /// Sorts a buffer along a dimension: runs of elements, which are then merged until one is left.
    pub fn sort(&mut self, buffer: BufferId, dtype: DType, extents: [i64; 3]) -> Result<(), Error> {
        let executable = self.executable;
        let Some(sort) = executable.compiled.sort(dtype.storage()) else {
            unreachable!("all sorts of the program were compiled")
        };
        let [outer, extent, inner] = extents;
        let bytes = byte_count(&extents, memory_size(dtype))?;
        if bytes == 0 || extent < 2 {
            return Ok(());
        }
        let count = bytes as i64 / memory_size(dtype) as i64;
        let mut width = 1;
        if let Some(runs) = runs(outer, extent, inner) {
            self.enqueue(&sort.runs, &[runs, extent, inner], &[Some(buffer)], 0)?;
            width = RUN;
        }
        if extent <= width {
            return Ok(());
        }
        let other = self.allocate(bytes)?;
        let (mut from, mut to) = (buffer, other);
        while width < extent {
            self.enqueue(&sort.merge, &[count, extent, inner, width], &[Some(from), Some(to)], 0)?;
            (from, to) = (to, from);
            width *= 2;
        }
        if from != buffer {
            self.device.copy((self.heap.memory(from), 0), (self.heap.memory(buffer), 0), bytes)?;
        }
        self.heap.forget(self.device, other);
        Ok(())
    }
}
