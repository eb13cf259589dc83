//! Random streams that depend only on the seed and on where they are used.
//!
//! Every stream is derived from the seed and the numbers of where it is used (the tree, the node),
//! so that results do not depend on which thread came first. Shuffling and sampling are written here
//! rather than taken from a crate: an upgrade must not change models.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Mixes the bits of a number so that near numbers become unrelated (SplitMix64's finaliser).
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of number `at` below the one that has `seed`, such as a child node's below its parent's.
pub(crate) fn derive(seed: u64, at: u64) -> u64 {
    mix(seed ^ mix(at))
}

/// A stream of random numbers.
pub(crate) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Stream(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A uniform number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The bias of the multiply-shift method is under 2^-32 for any bound we meet.
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A uniform number below 2^64 - 1, to seed other streams; the same on machines of any word size.
    pub(crate) fn seed(&mut self) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(u64::MAX)) >> 64) as u64
    }

    /// A uniform number in `[0, 1)` with 53 random bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A standard normal number (Box and Muller's method).
    pub(crate) fn normal(&mut self) -> f32 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        (radius * libm::cos(std::f64::consts::TAU * self.unit())) as f32
    }

    /// Brings all elements into random order.
    pub(crate) fn shuffle<T>(&mut self, elements: &mut [T]) {
        self.sample_to_front(elements, elements.len());
    }

    /// Moves a uniform sample of `count` elements, in random order, to the front.
    pub(crate) fn sample_to_front<T>(&mut self, elements: &mut [T], count: usize) {
        for at in 0..count.min(elements.len()) {
            let from = at + self.below(elements.len() - at);
            elements.swap(at, from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_places_differ_and_repeat() {
        let draw = |seed| {
            let mut stream = Stream::new(seed);
            (0..4).map(|_| stream.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(derive(1, 2)), draw(derive(1, 2)));
        assert_ne!(draw(derive(1, 2)), draw(derive(2, 1)));
    }

    #[test]
    fn a_sample_has_every_element_about_equally_often() {
        let mut hits = [0; 5];
        let mut stream = Stream::new(7);
        for _ in 0..5000 {
            let mut elements = [0, 1, 2, 3, 4];
            stream.sample_to_front(&mut elements, 2);
            elements[..2].iter().for_each(|&element| hits[element] += 1);
        }
        assert!(hits.iter().all(|&count: &i32| (count - 2000).abs() < 150), "{hits:?}");
    }
}
