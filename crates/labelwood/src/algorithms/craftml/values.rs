//! The stored values of centroids, put into the lanes of the children that they belong to.
//!
//! Only the children that a feature touches have a value, one after another; which these are is told
//! by the bits of a 16-bit number.

use super::params::Precision;
use crate::learn::cluster::lanes::{LANES, Lanes};

/// An entry of a row that a node has, too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hit {
    /// The row's value.
    pub factor: f32,
    /// The children that have a value there.
    pub touches: u16,
    /// Where the first of these is.
    pub place: usize,
}

/// Puts a feature's stored values into the lanes of the children that it touches.
#[inline(always)]
pub(super) fn fill(lanes: &mut Lanes, touches: u16, values: &[u8], precision: Precision) {
    let mut bits = u32::from(touches);
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

/// Adds to each child's sum its value times the row's.
///
/// Entries beyond the last value, which a damaged file may have, count nothing.
#[inline(always)]
pub(super) fn weigh(sums: &mut Lanes, hit: Hit, values: &[u8], precision: Precision) {
    let end = hit.place + hit.touches.count_ones() as usize * precision.bytes();
    if let Some(values) = values.get(hit.place..end) {
        let mut lanes = Lanes::ZERO;
        fill(&mut lanes, hit.touches, values, precision);
        sums.add_product(hit.factor, &lanes);
    }
}

/// Values of one byte, moved to their lanes all at once: for single rows, which come to a feature
/// once, doing so lane by lane took most of the time.
#[cfg(target_arch = "x86_64")]
pub(super) mod bytes {
    use super::Hit;
    use crate::learn::cluster::lanes::{LANES, Lanes};
    use std::arch::x86_64::*;

    /// Of the values of eight children, the one that each of them has, by which of them have any;
    /// a number with its highest bit set stands for none.
    const SOURCES: [u64; 256] = {
        let mut sources = [0; 256];
        let mut touches = 0;
        while touches < 256 {
            let (mut lane, mut next) = (0, 0);
            while lane < 8 {
                let has_value = touches >> lane & 1 == 1;
                sources[touches] |= (if has_value { next } else { 0x80 }) << (8 * lane);
                next += has_value as u64;
                lane += 1;
            }
            touches += 1;
        }
        sources
    };
    /// A number that has one in each of its bytes.
    const ONES: u64 = 0x0101_0101_0101_0101;

    /// The children's sums.
    pub struct Sums {
        low: __m256,
        high: __m256,
    }

    impl Sums {
        /// All 0.
        #[target_feature(enable = "avx2")]
        pub fn new() -> Self {
            Sums { low: _mm256_setzero_ps(), high: _mm256_setzero_ps() }
        }

        /// Does what [`super::weigh`] does.
        #[inline]
        #[target_feature(enable = "avx2,popcnt")]
        pub fn weigh(&mut self, Hit { factor, touches, place }: Hit, values: &[u8]) {
            let Some(rest) = values.get(place..) else { return };
            let mut padded = [0; LANES];
            let stored = match rest.first_chunk() {
                Some(stored) => stored,
                None if rest.len() < touches.count_ones() as usize => return,
                None => {
                    padded[..rest.len()].copy_from_slice(rest);
                    &padded
                }
            };
            let stored = u128::from_le_bytes(*stored);
            let stored = _mm_set_epi64x((stored >> 64) as i64, stored as i64);
            let [first, second] = touches.to_le_bytes();
            let second = SOURCES[second as usize] + ONES * u64::from(first.count_ones());
            let sources = _mm_set_epi64x(second as i64, SOURCES[first as usize] as i64);
            let lanes = _mm_shuffle_epi8(stored, sources);
            let factor = _mm256_set1_ps(factor);
            let numbers = |lanes| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(lanes));
            self.low = _mm256_add_ps(self.low, _mm256_mul_ps(factor, numbers(lanes)));
            let upper = numbers(_mm_unpackhi_epi64(lanes, lanes));
            self.high = _mm256_add_ps(self.high, _mm256_mul_ps(factor, upper));
        }

        /// The sums by child.
        #[target_feature(enable = "avx2")]
        pub fn lanes(self) -> Lanes {
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
    fn all_at_once(hits: &[Hit], values: &[u8]) -> Lanes {
        let mut sums = bytes::Sums::new();
        hits.iter().for_each(|&hit| sums.weigh(hit, values));
        sums.lanes()
    }

    proptest! {
        #[test]
        fn all_at_once_or_lane_by_lane_gives_the_same_bits(
            values in proptest::collection::vec(any::<u8>(), 0..60),
            entries in proptest::collection::vec((-2.0f32..2.0, any::<u16>(), 0usize..70), 0..20)) {
            prop_assume!(std::arch::is_x86_feature_detected!("avx2"));
            prop_assume!(std::arch::is_x86_feature_detected!("popcnt"));
            let hit = |&(factor, touches, place)| Hit { factor, touches, place };
            let hits: Vec<Hit> = entries.iter().map(hit).collect();
            // SAFETY: the processor has both, as just asked.
            let sums = unsafe { all_at_once(&hits, &values) };
            let mut expected = Lanes::ZERO;
            hits.iter().for_each(|&hit| weigh(&mut expected, hit, &values, Precision::Byte));
            prop_assert_eq!(sums.0.map(f32::to_bits), expected.0.map(f32::to_bits));
        }
    }
}
