//! Where random programs get their choices from: a seed, or bytes that somebody mutates.

use std::ops::Range;

use fastrand::Rng;

/// How many choices a frame states.
const STATED: usize = 8;

/// How many bytes make the choices of a statement, see [`Choices::of_bytes`].
pub const FRAME: usize = 2 * STATED;

/// Numbers that a generator asks for.
#[derive(Clone, Debug)]
pub struct Choices {
    rng: Rng,
    /// What is not asked for yet of the frame.
    stated: Vec<u16>,
    /// The frames after it, the next one last.
    frames: Option<Vec<[u8; FRAME]>>,
}

impl Choices {
    /// Choices that look random, the same for the same seed.
    pub fn of_seed(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), stated: Vec::new(), frames: None }
    }

    /// The choices that bytes make. A parameter and a statement begin with a frame of [`FRAME`] bytes each: its numbers
    /// are the first choices, and the seed of all others, so that a mutated frame is another statement, and those
    /// before it are the same.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let padded = bytes.chunks(FRAME).map(|chunk| {
            let mut frame = [0; FRAME];
            frame[..chunk.len()].copy_from_slice(chunk);
            frame
        });
        let mut frames: Vec<_> = padded.collect();
        frames.reverse();
        let mut choices = Self { rng: Rng::with_seed(0), stated: Vec::new(), frames: Some(frames) };
        choices.next_frame();
        choices
    }

    /// Goes on to the next frame. Behind the last one all choices are the same.
    pub fn next_frame(&mut self) {
        let Some(frames) = &mut self.frames else { return };
        let frame = frames.pop().unwrap_or_default();
        let mut pairs: Vec<_> =
            frame.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        pairs.reverse();
        let seed = |seed: u64, byte: &u8| (seed ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.rng = Rng::with_seed(frame.iter().fold(0xcbf2_9ce4_8422_2325, seed));
        self.stated = pairs;
    }

    /// How many frames are left; `None` if a seed chooses.
    pub fn frames_left(&self) -> Option<usize> {
        self.frames.as_ref().map(Vec::len)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        match self.stated.pop() {
            Some(stated) => usize::from(stated) % bound,
            None => self.rng.usize(..bound),
        }
    }

    /// Whether something happens that does so one time in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some.
    pub fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// A number of a range.
    pub fn integer(&mut self, range: Range<i64>) -> i64 {
        self.rng.i64(range)
    }

    /// Any number.
    pub fn any(&mut self) -> i64 {
        self.rng.i64(..)
    }

    /// True or false.
    pub fn flag(&mut self) -> bool {
        self.rng.bool()
    }
}
