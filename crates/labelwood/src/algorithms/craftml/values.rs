//! The stored values of centroids, expanded to one lane for each child.
//!
//! For each feature of a node only the nonzero values are stored, one after another. Bit `i` of the
//! feature's `child_bits` says whether the centroid of child `i` has one.

use super::params::Precision;
use crate::learn::cluster::lanes::{LANES, Lanes};
use std::num::NonZeroU32;

/// An entry of a row whose feature a node's centroids have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hit {
    /// The row's value.
    pub factor: f32,
    /// The children whose centroids have a value for the feature.
    pub child_bits: u16,
    /// Where these values start, in bytes from the node's first.
    pub offset: usize,
}

/// The positions of the bits that are set, increasing.
#[inline(always)]
pub(super) fn set_bits(bits: u16) -> impl Iterator<Item = usize> {
    let mut bits = u32::from(bits);
    std::iter::from_fn(move || {
        let position = NonZeroU32::new(bits)?.trailing_zeros() as usize % LANES;
        bits &= bits - 1;
        Some(position)
    })
}

/// Puts the stored values of a feature into the lanes of the children they belong to.
#[inline(always)]
pub(super) fn expand(lanes: &mut Lanes, child_bits: u16, values: &[u8], precision: Precision) {
    let mut bits = u32::from(child_bits);
    let mut next = || {
        let lane = bits.trailing_zeros() as usize % LANES;
        bits &= bits.wrapping_sub(1);
        lane
    };
    match precision {
        Precision::Byte => {
            values.iter().for_each(|&value| lanes.0[next()] = f32::from(value as i8));
        }
        Precision::Half => values.chunks_exact(2).for_each(|pair| {
            lanes.0[next()] = half::f16::from_le_bytes([pair[0], pair[1]]).to_f32();
        }),
    }
}

/// Adds an entry's part of the row's dot product with each centroid.
///
/// A hit beyond the last value, which a damaged file may have, adds nothing.
#[inline(always)]
pub(super) fn add_products(sums: &mut Lanes, hit: Hit, values: &[u8], precision: Precision) {
    let end = hit.offset + hit.child_bits.count_ones() as usize * precision.bytes();
    if let Some(values) = values.get(hit.offset..end) {
        let mut lanes = Lanes::ZERO;
        expand(&mut lanes, hit.child_bits, values, precision);
        sums.add_product(hit.factor, &lanes);
    }
}

/// [`add_products`] for values of one byte, with AVX2: expanding lane by lane took most of the time of
/// single-row prediction.
#[cfg(target_arch = "x86_64")]
pub(super) mod bytes {
    use super::Hit;
    use crate::learn::cluster::lanes::{LANES, Lanes};
    use std::arch::x86_64::*;

    /// For each combination of eight `child_bits`, which of the stored values goes to each of the eight
    /// lanes, in a byte each; 0x80 stands for none.
    const SOURCES: [u64; 256] = {
        let mut sources = [0; 256];
        let mut child_bits = 0;
        while child_bits < 256 {
            let (mut lane, mut next) = (0, 0);
            while lane < 8 {
                let has_value = child_bits >> lane & 1 == 1;
                sources[child_bits] |= (if has_value { next } else { 0x80 }) << (8 * lane);
                next += has_value as u64;
                lane += 1;
            }
            child_bits += 1;
        }
        sources
    };
    /// The number 1 in each byte.
    const ONES: u64 = 0x0101_0101_0101_0101;

    /// One sum for each child.
    pub(crate) struct Sums {
        low: __m256,
        high: __m256,
    }

    impl Sums {
        /// Starts with zeros.
        #[target_feature(enable = "avx2")]
        pub(crate) fn new() -> Self {
            Sums { low: _mm256_setzero_ps(), high: _mm256_setzero_ps() }
        }

        /// Does what [`super::add_products`] does.
        #[inline]
        #[target_feature(enable = "avx2,popcnt")]
        pub(crate) fn add_products(
            &mut self,
            Hit { factor, child_bits, offset }: Hit,
            values: &[u8],
        ) {
            let Some(rest) = values.get(offset..) else { return };
            let mut padded = [0; LANES];
            let stored = match rest.first_chunk() {
                Some(stored) => stored,
                None if rest.len() < child_bits.count_ones() as usize => return,
                None => {
                    padded[..rest.len()].copy_from_slice(rest);
                    &padded
                }
            };
            let stored = u128::from_le_bytes(*stored);
            let stored = _mm_set_epi64x((stored >> 64) as i64, stored as i64);
            let [first, second] = child_bits.to_le_bytes();
            let second = SOURCES[second as usize] + ONES * u64::from(first.count_ones());
            let sources = _mm_set_epi64x(second as i64, SOURCES[first as usize] as i64);
            let lanes = _mm_shuffle_epi8(stored, sources);
            let factor = _mm256_set1_ps(factor);
            let numbers = |lanes| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(lanes));
            self.low = _mm256_add_ps(self.low, _mm256_mul_ps(factor, numbers(lanes)));
            let upper = numbers(_mm_unpackhi_epi64(lanes, lanes));
            self.high = _mm256_add_ps(self.high, _mm256_mul_ps(factor, upper));
        }

        /// Returns the sums.
        #[target_feature(enable = "avx2")]
        pub(crate) fn lanes(self) -> Lanes {
            let mut sums = Lanes::ZERO;
            let (first, second) = sums.0.split_at_mut(LANES / 2);
            // SAFETY: both halves have room for eight numbers.
            unsafe {
                _mm256_storeu_ps(first.as_mut_ptr(), self.low);
                _mm256_storeu_ps(second.as_mut_ptr(), self.high);
            }
            sums
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[target_feature(enable = "avx2,popcnt")]
    fn sums_avx2(hits: &[Hit], values: &[u8]) -> Lanes {
        let mut sums = bytes::Sums::new();
        hits.iter().for_each(|&hit| sums.add_products(hit, values));
        sums.lanes()
    }

    proptest! {
        #[test]
        fn sums_with_and_without_avx2_have_the_same_bits(
            values in proptest::collection::vec(any::<u8>(), 0..60),
            entries in proptest::collection::vec((-2.0f32..2.0, any::<u16>(), 0usize..70), 0..20)) {
            prop_assume!(std::arch::is_x86_feature_detected!("avx2"));
            prop_assume!(std::arch::is_x86_feature_detected!("popcnt"));
            let hit = |&(factor, child_bits, offset)| Hit { factor, child_bits, offset };
            let hits: Vec<Hit> = entries.iter().map(hit).collect();
            // SAFETY: both features were just detected.
            let sums = unsafe { sums_avx2(&hits, &values) };
            let mut expected = Lanes::ZERO;
            hits.iter().for_each(|&hit| add_products(&mut expected, hit, &values, Precision::Byte));
            prop_assert_eq!(sums.0.map(f32::to_bits), expected.0.map(f32::to_bits));
        }
    }
}
