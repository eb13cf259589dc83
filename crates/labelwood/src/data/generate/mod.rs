//! Synthetic data with the shape of the public sets.
//!
//! Labels come in *topics*, and both topics and the labels within one follow a power law. A row
//! draws one to a few topics and most of its labels from the first, so that labels of one topic
//! come together. Each topic has a set of features, each label a few signature features out
//! of it; a row's features are signatures of its labels, words of its topic, and background words by
//! Zipf's law, weighted like tf-idf and scaled to length 1. Whoever learns which features go with
//! which labels predicts far better than the most frequent labels do.
//!
//! A row is a function of the profile's shape, the seed and the row's number, and of nothing else:
//! any range of rows can be drawn anywhere, in any order, and fewer rows are the first of more.
//! The number of labels and features stays as the profile says when only some rows are drawn.

mod alias;
mod profile;

use std::io::{self, Write};
use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::base::run::{Stage, Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{Csr, LabelRows};
use alias::Alias;
pub use profile::Profile;

/// The number of the first test row; training rows have lower numbers.
///
/// The test rows thus stay the same when fewer training rows are drawn.
pub const TEST_START: u64 = 1 << 40;
/// Rows that one thread draws at a time.
const BLOCK: u64 = 1024;
/// Features of a topic.
const TOPIC_FEATURES: u64 = 192;
/// Of 16 draws of features, how many are for the labels' signatures, and how many more for topics.
const SIGNATURE_DRAWS: u64 = 7;
const TOPIC_DRAWS: u64 = 3;
/// Values are multiples of one over this, which keeps files small.
const STEPS: f32 = 10_000.0;

/// Draws rows.
///
/// ```
/// use labelwood::data::generate::{Generator, Profile};
/// let generator = Generator::new(Profile::named("eurlex-4k").unwrap(), 42)?;
/// let row = generator.row(7);
/// assert_eq!(row, generator.row(7));
/// assert!(!row.labels.is_empty() && row.labels.is_sorted());
/// # Ok::<(), labelwood::settings::ParamError>(())
/// ```
pub struct Generator {
    profile: Profile,
    seed: u64,
    topics: Alias,
    /// The labels within a topic, by rank.
    members: Alias,
    topic_count: u32,
    signature: u64,
    words: Alias,
    /// How much a feature weighs, by its rank as a background word.
    weights: Vec<f32>,
    label_order: Shuffle,
    feature_order: Shuffle,
}

/// A synthetic row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyntheticRow {
    /// Labels, strictly increasing.
    pub labels: Vec<u32>,
    /// Features, strictly increasing.
    pub features: Vec<u32>,
    /// The features' values: positive, at most 1, with at most four decimals.
    pub values: Vec<f32>,
}

impl Generator {
    /// Prepares to draw rows of the given shape.
    pub fn new(profile: Profile, seed: u64) -> Result<Self, ParamError> {
        profile.check()?;
        let size = (4.0 * profile.labels_per_row).max(32.0).min(f64::from(profile.labels)) as u32;
        let topic_count = profile.labels.div_ceil(size);
        let members = profile.labels.div_ceil(topic_count) as usize;
        let ratio = profile.entries_per_row / profile.labels_per_row;
        Ok(Generator {
            topics: Alias::power_law(topic_count as usize, 1.0, profile.skew),
            members: Alias::power_law(members, 1.0, profile.skew),
            topic_count,
            signature: (ratio / 2.0).clamp(4.0, 32.0) as u64,
            words: Alias::power_law(profile.features as usize, WORD_SHIFT, 1.0),
            weights: word_weights(&profile),
            label_order: Shuffle::new(profile.labels, mix(seed, 1)),
            feature_order: Shuffle::new(profile.features, mix(seed, 2)),
            profile,
            seed,
        })
    }

    /// The shape of the data.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// One row; test rows start at [`TEST_START`].
    pub fn row(&self, row: u64) -> SyntheticRow {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(mix(self.seed, mix(3, row)));
        let mut topics = vec![self.topics.draw(random.next_u64())];
        while topics.len() < 4 && random.next_u64() % 3 == 0 {
            topics.push(self.topics.draw(random.next_u64()));
        }
        let labels = self.draw_labels(&topics, &mut random);
        let words = self.draw_words(&topics, &labels, &mut random);
        let (features, values) = self.weigh(&words);
        let mut labels: Vec<u32> = labels.iter().map(|&at| self.label_order.place(at)).collect();
        labels.sort_unstable();
        SyntheticRow { labels, features, values }
    }

    /// Distinct labels, as ranks: `member * topic_count + topic`.
    fn draw_labels(&self, topics: &[u32], random: &mut Xoshiro256PlusPlus) -> Vec<u32> {
        let most = f64::from(self.profile.labels / 2).min(8.0 * self.profile.labels_per_row);
        let count = (1 + geometric(self.profile.labels_per_row - 1.0, random)).min(most as usize);
        let mut labels: Vec<u32> = Vec::with_capacity(count);
        for round in 0.. {
            for _ in labels.len()..count {
                // Three of four labels come from the first topic. A row that wants more labels
                // than its topics readily give looks into others.
                let bits = random.next_u64();
                let topic = match bits % 4 {
                    _ if round > 3 => self.topics.draw(random.next_u64()),
                    0 => topics[(bits >> 32) as usize % topics.len()],
                    _ => topics[0],
                };
                labels.push(self.members.draw(random.next_u64()) * self.topic_count + topic);
            }
            // The last topics may have a member less.
            labels.retain(|&label| label < self.profile.labels);
            labels.sort_unstable();
            labels.dedup();
            if labels.len() == count || (round > 64 && !labels.is_empty()) {
                break;
            }
        }
        labels
    }

    /// Ranks of background words, sorted; one that was drawn several times stands there as often.
    fn draw_words(
        &self,
        topics: &[u32],
        labels: &[u32],
        random: &mut Xoshiro256PlusPlus,
    ) -> Vec<u32> {
        let half = (self.profile.entries_per_row - 1.0) / 2.0;
        let count = 1 + geometric(half, random) + geometric(half, random);
        let count = count.min(self.profile.features as usize * 3 / 4);
        let mut words = Vec::with_capacity(count * 3 / 2);
        for _ in 0..count {
            let bits = random.next_u64();
            words.push(match bits % 16 {
                part if part < SIGNATURE_DRAWS => {
                    let label = labels[(bits >> 40) as usize % labels.len()];
                    let mark = (bits >> 8) % self.signature;
                    let slot = mix(u64::from(label), mark) % TOPIC_FEATURES;
                    self.topic_word(label % self.topic_count, slot)
                }
                part if part < SIGNATURE_DRAWS + TOPIC_DRAWS => {
                    let topic = topics[(bits >> 40) as usize % topics.len()];
                    self.topic_word(topic, (bits >> 8) % TOPIC_FEATURES)
                }
                _ => self.words.draw(random.next_u64()),
            });
        }
        loop {
            words.sort_unstable();
            let distinct = words.chunk_by(|left, right| left == right).count();
            // Rows with few features to draw from may stay a little short of their length.
            if distinct >= count || words.len() > 8 * count {
                return words;
            }
            words.extend((distinct..count).map(|_| self.words.draw(random.next_u64())));
        }
    }

    fn topic_word(&self, topic: u32, slot: u64) -> u32 {
        let bits = mix(mix(self.seed, 4), u64::from(topic) * TOPIC_FEATURES + slot);
        (((bits >> 32) * u64::from(self.profile.features)) >> 32) as u32
    }

    /// Features in order with the values that tf-idf would give them.
    fn weigh(&self, words: &[u32]) -> (Vec<u32>, Vec<f32>) {
        let mut entries: Vec<(u32, f32)> = Vec::with_capacity(words.len());
        for same in words.chunk_by(|left, right| left == right) {
            let often = match same.len() {
                1 => 1.0,
                times => 1.0 + libm::logf(times as f32),
            };
            let value = often * self.weights[same[0] as usize];
            entries.push((self.feature_order.place(same[0]), value));
        }
        entries.sort_unstable_by_key(|&(feature, _)| feature);
        let norm = entries.iter().map(|&(_, value)| value * value).sum::<f32>().sqrt();
        let step = |value: f32| (value / norm * STEPS).round().max(1.0) / STEPS;
        entries.into_iter().map(|(feature, value)| (feature, step(value))).unzip()
    }

    /// The numbers of the test rows; those of the training rows are `0..instances`.
    pub fn test_rows(&self) -> Range<u64> {
        TEST_START..TEST_START + self.profile.test_instances
    }

    /// A range of rows in memory.
    pub fn rows(&self, rows: Range<u64>, task: &Task) -> Result<(Csr, LabelRows), Stopped> {
        let mut features = Csr::new(self.profile.features as usize);
        let mut labels = LabelRows::new(self.profile.labels as usize);
        let draw = |block: Range<u64>| block.map(|row| self.row(row)).collect::<Vec<_>>();
        for group in groups(rows, task) {
            task.check()?;
            let blocks: Vec<_> = task.install(|| group.into_par_iter().map(draw).collect());
            for row in blocks.into_iter().flatten() {
                let sorted = "rows are drawn sorted, distinct and within range";
                features.push_row(&row.features, &row.values).expect(sorted);
                labels.push_row(&row.labels, &vec![(); row.labels.len()]).expect(sorted);
            }
        }
        Ok((features, labels))
    }

    /// Writes a range of rows in the format of the XC repository, a few blocks in memory at a time. The
    /// error of a task that is stopped has [`Stopped`] in it.
    ///
    /// ```
    /// use labelwood::data::generate::{Generator, Profile};
    /// use labelwood::run::Pool;
    /// let generator = Generator::new(Profile::named("eurlex-4k").unwrap(), 42)?;
    /// let mut text = Vec::new();
    /// generator.write_xc(0..3, &mut text, &Pool::new(1)?.task())?;
    /// assert!(text.starts_with(b"3 5000 3993\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_xc(&self, rows: Range<u64>, out: &mut impl Write, task: &Task) -> io::Result<()> {
        let total = rows.end.saturating_sub(rows.start);
        let mut done = 0;
        writeln!(out, "{total} {} {}", self.profile.features, self.profile.labels)?;
        let draw = |block: Range<u64>| {
            let mut text = Vec::new();
            block.for_each(|row| self.row(row).write_xc(&mut text));
            text
        };
        for group in groups(rows, task) {
            task.check().map_err(io::Error::other)?;
            done += group.iter().map(|block| block.end - block.start).sum::<u64>();
            let blocks: Vec<_> = task.install(|| group.into_par_iter().map(draw).collect());
            for text in blocks {
                out.write_all(&text)?;
            }
            task.progress(Stage::Rows, done, total);
        }
        out.flush()
    }
}

impl SyntheticRow {
    /// Appends the row as a line: `l1,l2 f:v f:v`.
    fn write_xc(&self, text: &mut Vec<u8>) {
        for (at, &label) in self.labels.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            write_whole(label, text);
        }
        for (&feature, &value) in self.features.iter().zip(&self.values) {
            text.push(b' ');
            write_whole(feature, text);
            text.push(b':');
            write_value((value * STEPS).round() as u32, text);
        }
        text.push(b'\n');
    }
}

fn write_whole(mut number: u32, text: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return text.extend_from_slice(&digits[at..]);
        }
    }
}

/// Writes `steps` ten-thousandths, without zeros at the end.
fn write_value(steps: u32, text: &mut Vec<u8>) {
    write_whole(steps / 10_000, text);
    let mut rest = steps % 10_000;
    if rest > 0 {
        text.push(b'.');
    }
    let mut unit = 1000;
    while rest > 0 {
        text.push(b'0' + (rest / unit) as u8);
        rest %= unit;
        unit /= 10;
    }
}

/// Blocks of rows, grouped so that every thread has a few at a time.
fn groups(rows: Range<u64>, task: &Task) -> impl Iterator<Item = Vec<Range<u64>>> + use<> {
    let stride = 4 * task.threads() as u64 * BLOCK;
    let end = rows.end;
    let cut = move |from: u64, to: u64, step: u64| {
        (from..to).step_by(step as usize).map(move |start| start..to.min(start + step))
    };
    cut(rows.start, end, stride).map(move |group| cut(group.start, group.end, BLOCK).collect())
}

/// Added to a background word's rank: without stop words, the first words are about equal.
const WORD_SHIFT: f64 = 40.0;

/// What idf gives for the share of rows that a word is in, by its rank.
fn word_weights(profile: &Profile) -> Vec<f32> {
    let features = profile.features as usize;
    let total: f64 = (0..features).map(|rank| 1.0 / (rank as f64 + WORD_SHIFT)).sum();
    let signal = (SIGNATURE_DRAWS + TOPIC_DRAWS) as f64 / 16.0;
    let weight = |rank: usize| {
        let word = (1.0 - signal) / ((rank as f64 + WORD_SHIFT) * total);
        let share = profile.entries_per_row * (word + signal / features as f64);
        libm::log(1.0 + 1.0 / share.min(1.0)) as f32
    };
    (0..features).map(weight).collect()
}

/// A geometric number with the given mean, at most 8 times it.
fn geometric(mean: f64, random: &mut Xoshiro256PlusPlus) -> usize {
    // In (0, 1], so that the logarithm is finite.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    if mean <= 0.0 {
        return 0;
    }
    let drawn = libm::log(uniform) / libm::log(mean / (mean + 1.0));
    drawn.min(8.0 * mean + 8.0) as usize
}

/// A fixed order of `0..len` that looks random, so that ids do not show ranks.
struct Shuffle {
    len: u64,
    factor: u64,
    shift: u64,
}

impl Shuffle {
    fn new(len: u32, seed: u64) -> Self {
        let len = u64::from(len);
        let mut factor = (len as f64 * 0.618) as u64 | 1;
        while gcd(factor, len) != 1 {
            factor += 2;
        }
        Shuffle { len, factor, shift: seed % len }
    }

    fn place(&self, rank: u32) -> u32 {
        // Below 2^64: rank and factor are below 2^32, but for a few steps of `new`.
        ((u64::from(rank) * self.factor + self.shift) % self.len) as u32
    }
}

fn gcd(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// Scatters two numbers over 64 bits (the finaliser of SplitMix64).
fn mix(left: u64, right: u64) -> u64 {
    let mut bits = left ^ right.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests;
