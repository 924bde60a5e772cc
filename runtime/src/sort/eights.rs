//! What AVX-512 has instructions for, with AVX2: of registers of eight keys of 32 bits, and masks with a bit for each.

use std::arch::x86_64::*;

/// The lanes of a mask.
#[target_feature(enable = "avx2")]
#[inline]
fn lanes_of(mask: u8) -> __m256i {
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask.into()), bits), bits)
}

/// Keys from memory; the lanes of a mask, and others from `rest`.
///
/// # Safety
/// As many keys as the highest lane of the mask asks for can be read.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn mask_load(rest: __m256i, mask: u8, from: *const i32) -> __m256i {
    let lanes = lanes_of(mask);
    // SAFETY: by contract.
    let there = unsafe { _mm256_maskload_epi32(from, lanes) };
    _mm256_blendv_epi8(rest, there, lanes)
}

/// # Safety
/// Eight keys can be read.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn load_all(from: *const i32) -> __m256i {
    // SAFETY: by contract.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// Keys to memory: the lanes of a mask. All of them are stored without it, as a mask takes some processors twenty instructions.
///
/// # Safety
/// As many keys as the highest lane of the mask asks for can be written.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn mask_store(to: *mut i32, mask: u8, keys: __m256i) {
    // SAFETY: by contract.
    unsafe {
        if mask == u8::MAX {
            return _mm256_storeu_si256(to.cast(), keys);
        }
        _mm256_maskstore_epi32(to, lanes_of(mask), keys);
    }
}

/// # Safety
/// Eight keys can be written.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn store_all(to: *mut i32, keys: __m256i) {
    // SAFETY: by contract.
    unsafe { _mm256_storeu_si256(to.cast(), keys) }
}

/// The keys at some places.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn permute(places: __m256i, keys: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(keys, places)
}

/// The keys at some places of two registers, those of the second one counted after those of the first.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn permute_two(x: __m256i, places: __m256i, y: __m256i) -> __m256i {
    let is_second = _mm256_cmpgt_epi32(places, _mm256_set1_epi32(7));
    _mm256_blendv_epi8(permute(places, x), permute(places, y), is_second)
}

/// The keys of the lanes of a mask first; what is behind them is anything.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn compress(mask: u8, keys: __m256i) -> __m256i {
    let places = _mm_cvtsi64_si128(PLACES[usize::from(mask)]);
    permute(_mm256_cvtepu8_epi32(places), keys)
}

/// The lanes of each mask, in the bytes of a number.
static PLACES: [i64; 256] = {
    let (mut all, mut mask) = ([0; 256], 0);
    while mask < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 != 0 {
                all[mask] |= lane << (8 * count);
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    all
};

/// The greater of two in the lanes of a mask, the others from `rest`.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn mask_max_signed(rest: __m256i, mask: u8, x: __m256i, y: __m256i) -> __m256i {
    _mm256_blendv_epi8(rest, _mm256_max_epi32(x, y), lanes_of(mask))
}

/// The same of unsigned keys.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn mask_max_unsigned(rest: __m256i, mask: u8, x: __m256i, y: __m256i) -> __m256i {
    _mm256_blendv_epi8(rest, _mm256_max_epu32(x, y), lanes_of(mask))
}

/// The lanes in which one key is less than the other.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn below_signed(x: __m256i, y: __m256i) -> u8 {
    _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(y, x))) as u8
}

/// The same of unsigned keys.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn below_unsigned(x: __m256i, y: __m256i) -> u8 {
    let is_not_below = _mm256_cmpeq_epi32(_mm256_max_epu32(x, y), x);
    !(_mm256_movemask_ps(_mm256_castsi256_ps(is_not_below)) as u8)
}
