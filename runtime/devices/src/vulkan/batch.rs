//! Commands on their way to the queue.
//!
//! There are a few batches, used in turn. A batch is a command buffer, a fence, and a piece of memory that host and device
//! see: argument blocks and bytes to be copied are put there one after another. A batch is full when it has [`COMMANDS`]
//! commands or that memory is used up; then it is submitted, and the next one is taken as soon as the device is done with it.

use ash::vk;

use super::memory::{Buffer, Use};

/// How many batches there are.
const BATCHES: usize = 4;

/// After so many commands, a batch is submitted.
const COMMANDS: u32 = 128;

/// How much host memory a batch has.
pub(super) const STAGING: u64 = 4 << 20;

/// The alignment of argument blocks.
const ALIGNMENT: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Recording,
    Submitted,
}

struct Batch {
    commands: vk::CommandBuffer,
    fence: vk::Fence,
    staging: Buffer,
    state: State,
    recorded: u32,
    used: u64,
    /// What may be destroyed when the batch is done.
    garbage: Vec<Buffer>,
}

/// The batches of a device.
pub(super) struct Batches {
    queue: vk::Queue,
    pool: vk::CommandPool,
    batches: Vec<Batch>,
    /// The batch that is recorded, or will be next.
    current: usize,
}

/// A piece of a batch's host memory.
pub(super) struct Staged<'a> {
    pub(super) buffer: &'a Buffer,
    pub(super) offset: u64,
}

impl Batches {
    pub(super) fn new(
        device: &ash::Device,
        types: &vk::PhysicalDeviceMemoryProperties,
        family: u32,
    ) -> Result<Self, vk::Result> {
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the device lives and was made with one queue of this family.
        let (queue, pool) =
            unsafe { (device.get_device_queue(family, 0), device.create_command_pool(&info, None)?) };
        let mut batches = Self { queue, pool, batches: Vec::new(), current: 0 };
        for _ in 0..BATCHES {
            match Batch::new(device, types, pool) {
                Ok(batch) => batches.batches.push(batch),
                Err(code) => {
                    batches.destroy(device);
                    return Err(code);
                }
            }
        }
        Ok(batches)
    }

    /// Whether the device has done all it was asked to.
    pub(super) fn is_idle(&self) -> bool {
        self.batches.iter().all(|batch| batch.state == State::Idle)
    }

    /// The command buffer to record a command into that needs so much host memory (at most [`STAGING`]); what it does comes
    /// after everything before.
    pub(super) fn command(
        &mut self,
        device: &ash::Device,
        staged: u64,
    ) -> Result<(vk::CommandBuffer, Staged<'_>), vk::Result> {
        let batch = &self.batches[self.current];
        let full = batch.recorded >= COMMANDS || batch.used + staged > STAGING;
        if batch.state == State::Recording && full {
            self.submit(device)?;
        }
        let batch = &mut self.batches[self.current];
        batch.begin(device)?;
        batch.barrier(device);
        batch.recorded += 1;
        let offset = batch.used;
        batch.used = (offset + staged).next_multiple_of(ALIGNMENT);
        Ok((batch.commands, Staged { buffer: &batch.staging, offset }))
    }

    /// Hands what was recorded to the device.
    pub(super) fn submit(&mut self, device: &ash::Device) -> Result<(), vk::Result> {
        let batch = &mut self.batches[self.current];
        if batch.state != State::Recording {
            return Ok(());
        }
        let commands = [batch.commands];
        let work = vk::SubmitInfo::default().command_buffers(&commands);
        batch.show_host(device);
        // SAFETY: the commands were begun; the fence is unsignalled, since `begin` reset it; one thread at a time uses the queue, by
        // `&mut self`.
        unsafe {
            device.end_command_buffer(batch.commands)?;
            device.queue_submit(self.queue, &[work], batch.fence)?;
        }
        batch.state = State::Submitted;
        self.current = (self.current + 1) % BATCHES;
        Ok(())
    }

    /// Reads bytes (at most [`STAGING`]) by way of host memory, after everything before.
    pub(super) fn read(
        &mut self,
        device: &ash::Device,
        from: vk::Buffer,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), vk::Result> {
        let size = bytes.len() as u64;
        let (commands, staged) = self.command(device, size)?;
        let (to, at) = (staged.buffer.raw, staged.offset);
        let region = [vk::BufferCopy { src_offset: offset, dst_offset: at, size }];
        // SAFETY: the command buffer is being recorded; the caller checked the one range, and `command` reserved the other.
        unsafe { device.cmd_copy_buffer(commands, from, to, &region) };
        let batch = self.current;
        self.finish(device)?;
        let there = self.batches[batch].staging.bytes().expect("staging memory is mapped");
        let at = usize::try_from(at).expect("what is mapped has addresses");
        bytes.copy_from_slice(&there[at..at + bytes.len()]);
        Ok(())
    }

    /// Waits for everything.
    pub(super) fn finish(&mut self, device: &ash::Device) -> Result<(), vk::Result> {
        self.submit(device)?;
        for step in 0..BATCHES {
            self.batches[(self.current + step) % BATCHES].wait(device)?;
        }
        Ok(())
    }

    /// Destroys a buffer once everything before is done.
    pub(super) fn discard(&mut self, device: &ash::Device, mut buffer: Buffer) {
        let last = (self.current + BATCHES - 1) % BATCHES;
        if self.batches[self.current].state == State::Recording {
            self.batches[self.current].garbage.push(buffer);
        } else if self.batches[last].state == State::Submitted {
            self.batches[last].garbage.push(buffer);
        } else {
            buffer.destroy(device);
        }
    }

    /// Destroys everything. The device does nothing.
    pub(super) fn destroy(&mut self, device: &ash::Device) {
        for mut batch in self.batches.drain(..) {
            batch.collect(device);
            batch.staging.destroy(device);
            // SAFETY: the fence is this device's, and no longer used.
            unsafe { device.destroy_fence(batch.fence, None) };
        }
        // SAFETY: as above; the pool's command buffers are freed with it.
        unsafe { device.destroy_command_pool(self.pool, None) };
    }
}

impl Batch {
    fn new(
        device: &ash::Device,
        types: &vk::PhysicalDeviceMemoryProperties,
        pool: vk::CommandPool,
    ) -> Result<Self, vk::Result> {
        let mut staging = Buffer::new(device, types, STAGING, Use::Staging)?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        // SAFETY: the pool is this device's.
        let made = unsafe {
            device.allocate_command_buffers(&info).and_then(|commands| {
                let fence = device.create_fence(&vk::FenceCreateInfo::default(), None)?;
                Ok((commands[0], fence))
            })
        };
        match made {
            Ok((commands, fence)) => Ok(Self {
                commands,
                fence,
                staging,
                state: State::Idle,
                recorded: 0,
                used: 0,
                garbage: Vec::new(),
            }),
            Err(code) => {
                staging.destroy(device);
                Err(code)
            }
        }
    }

    /// Makes sure that commands can be recorded.
    fn begin(&mut self, device: &ash::Device) -> Result<(), vk::Result> {
        if self.state == State::Recording {
            return Ok(());
        }
        self.wait(device)?;
        let once = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the commands are done, and their pool lets them be begun anew.
        unsafe { device.begin_command_buffer(self.commands, &once)? };
        (self.state, self.recorded, self.used) = (State::Recording, 0, 0);
        Ok(())
    }

    /// Lets the next command see what all before wrote, the host's writes included (by submission).
    fn barrier(&self, device: &ash::Device) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let work = Stage::COMPUTE_SHADER | Stage::TRANSFER;
        let wrote = Access::SHADER_WRITE | Access::TRANSFER_WRITE;
        let uses = wrote | Access::SHADER_READ | Access::TRANSFER_READ;
        let barrier = [vk::MemoryBarrier::default().src_access_mask(wrote).dst_access_mask(uses)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: the command buffer is being recorded.
        unsafe { device.cmd_pipeline_barrier(self.commands, work, work, none, &barrier, &[], &[]) };
    }

    /// Lets the host see what all before wrote, once it has waited.
    fn show_host(&self, device: &ash::Device) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let work = Stage::COMPUTE_SHADER | Stage::TRANSFER;
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(Access::SHADER_WRITE | Access::TRANSFER_WRITE)
            .dst_access_mask(Access::HOST_READ)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: the command buffer is being recorded.
        unsafe { device.cmd_pipeline_barrier(self.commands, work, Stage::HOST, none, &barrier, &[], &[]) };
    }

    /// Waits until the device is done with the batch.
    fn wait(&mut self, device: &ash::Device) -> Result<(), vk::Result> {
        if self.state == State::Submitted {
            // SAFETY: the fence was submitted with the commands, and is this device's.
            unsafe {
                device.wait_for_fences(&[self.fence], true, u64::MAX)?;
                device.reset_fences(&[self.fence])?;
            }
            self.state = State::Idle;
        }
        self.collect(device);
        Ok(())
    }

    fn collect(&mut self, device: &ash::Device) {
        for mut buffer in self.garbage.drain(..) {
            buffer.destroy(device);
        }
    }
}
