//! What a share of a model has to say about some rows, in memory and as bytes.

use super::{Share, ShareError};
use crate::base::array::Array;
use crate::base::sparse::{CsrView, Query};
use crate::base::store::{ArrayRef, Digest, Unit, write_arrays};
use crate::data::digest_of_features;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// All that a share of a model has to say about some rows: for each row every label that got votes,
/// not only the best, since a label that is best nowhere may be so in sum.
///
/// Votes are whole numbers, so that their sums do not depend on which share comes first. As bytes,
/// scores go to a file or to another process.
#[derive(Clone, Debug)]
pub struct Scores {
    pub(super) about: About,
    /// The votes of each kind of members.
    pub(super) ballots: Vec<Ballots>,
    /// For each kind of members, how many of them vote for each label; nothing if all do.
    pub(super) voters: Vec<Array<u32>>,
}

/// What scores are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    pub model: Digest,
    pub rows: String,
    pub instances: u64,
    pub index: usize,
    pub of: usize,
    pub asked: Asked,
}

/// What was asked of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    k: usize,
    beam: Option<usize>,
    allowed: Option<Digest>,
}

impl Asked {
    pub(super) fn new(query: Query<'_>) -> Self {
        let allowed = query.allowed.map(|allowed| {
            let labels: Vec<u8> = allowed.iter().flat_map(u32::to_le_bytes).collect();
            Digest::of(&labels)
        });
        Asked { k: query.k, beam: query.beam, allowed }
    }
}

/// Labels with votes, row by row. One-vs-rest has the bits of margins instead of votes.
#[derive(Clone, Debug)]
pub(super) struct Ballots {
    offsets: Array<u64>,
    labels: Array<u32>,
    votes: Array<u64>,
}

impl Default for Ballots {
    fn default() -> Self {
        Ballots { offsets: vec![0].into(), labels: Array::default(), votes: Array::default() }
    }
}

impl Ballots {
    pub(super) fn push_row(&mut self, votes: impl IntoIterator<Item = (u32, u64)>) {
        let (labels, sums) = (self.labels.to_mut(), self.votes.to_mut());
        for (label, units) in votes {
            labels.push(label);
            sums.push(units);
        }
        self.offsets.to_mut().push(labels.len() as u64);
    }

    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (u32, u64)> {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        let labels = self.labels[range.clone()].iter();
        labels.copied().zip(self.votes[range].iter().copied())
    }
}

/// The names of the arrays of the ballots of one kind, and of its voters.
fn names(kind: usize) -> [String; 4] {
    ["offsets", "labels", "votes", "voters"].map(|name| format!("{name}-{kind}"))
}

pub(super) fn digest(features: CsrView<'_>) -> String {
    format!("{:032x}", digest_of_features(features))
}

impl Scores {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.about.instances as usize
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which share of the model gave these scores.
    pub fn share(&self) -> Share {
        Share { index: self.about.index, of: self.about.of }
    }

    /// Whether these are the scores of the given rows.
    pub fn are_of(&self, features: CsrView<'_>) -> bool {
        self.about.rows == digest(features)
    }

    /// The scores as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let about = serde_json::to_vec(&self.about).expect("what scores are of is plain JSON");
        let names: Vec<[String; 4]> = (0..self.ballots.len()).map(names).collect();
        let mut arrays: Vec<(&str, ArrayRef<'_>)> = vec![("about", about[..].into())];
        for ((ballots, voters), names) in self.ballots.iter().zip(&self.voters).zip(&names) {
            let [offsets, labels, votes, of_voters] = names;
            arrays.push((offsets, ballots.offsets[..].into()));
            arrays.push((labels, ballots.labels[..].into()));
            arrays.push((votes, ballots.votes[..].into()));
            arrays.push((of_voters, voters[..].into()));
        }
        let mut bytes = vec![0; DIGITS];
        let written = write_arrays(&mut bytes, "scores", &arrays);
        let written = written.expect("memory takes any number of bytes");
        bytes[..DIGITS].copy_from_slice(written.xxh3.to_string().as_bytes());
        bytes
    }

    /// The scores that [`Scores::to_bytes`] made bytes of; anything else is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ShareError> {
        let (digits, content) = bytes
            .split_at_checked(DIGITS)
            .ok_or_else(|| ShareError::damaged("they are cut short"))?;
        if digits != Digest::of(content).to_string().as_bytes() {
            return Err(ShareError::damaged("they do not give their checksum"));
        }
        let unit = Unit::from_bytes("scores", content)?;
        let about: Array<u8> = unit.array("about").map_err(ShareError::damaged)?;
        let about: About = serde_json::from_slice(&about).map_err(ShareError::damaged)?;
        let there = unit.names();
        let (mut ballots, mut voters) = (Vec::new(), Vec::new());
        for [offsets, labels, votes, of_voters] in (0..).map(names) {
            if there.iter().all(|name| *name != offsets) {
                break;
            }
            let read = Ballots {
                offsets: unit.array(&offsets).map_err(ShareError::damaged)?,
                labels: unit.array(&labels).map_err(ShareError::damaged)?,
                votes: unit.array(&votes).map_err(ShareError::damaged)?,
            };
            if !fits(&read, about.instances) {
                return Err(ShareError::damaged("their arrays do not fit together"));
            }
            ballots.push(read);
            voters.push(unit.array(&of_voters).map_err(ShareError::damaged)?);
        }
        if about.index >= about.of {
            return Err(ShareError::damaged("there is no such share"));
        }
        Ok(Scores { about, ballots, voters })
    }

    /// Writes the scores after others; [`ScoresReader`] reads them back.
    pub fn write_to(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let bytes = self.to_bytes();
        out.write_all(&(bytes.len() as u64).to_le_bytes())?;
        out.write_all(&bytes)
    }
}

/// How many digits of the digest go before the content: a multiple of eight.
const DIGITS: usize = 32;

fn fits(ballots: &Ballots, instances: u64) -> bool {
    let Ballots { offsets, labels, votes } = ballots;
    offsets.len() as u64 == instances.saturating_add(1)
        && offsets[0] == 0
        && offsets.is_sorted()
        && offsets[offsets.len() - 1] == labels.len() as u64
        && labels.len() == votes.len()
}

/// Reads what [`Scores::write_to`] wrote, as often as it did.
pub struct ScoresReader<R> {
    input: R,
}

impl<R: Read> ScoresReader<R> {
    /// Reads from there.
    pub fn new(input: R) -> Self {
        ScoresReader { input }
    }

    /// The next scores, if there are any.
    #[expect(clippy::should_implement_trait, reason = "an error ends the reading")]
    pub fn next(&mut self) -> Result<Option<Scores>, ShareError> {
        let mut len = Vec::new();
        (&mut self.input).take(8).read_to_end(&mut len)?;
        let Ok(len) = <[u8; 8]>::try_from(len.as_slice()) else {
            return match len.is_empty() {
                true => Ok(None),
                false => Err(ShareError::damaged("they are cut short")),
            };
        };
        let mut bytes = Vec::new();
        (&mut self.input).take(u64::from_le_bytes(len)).read_to_end(&mut bytes)?;
        Scores::from_bytes(&bytes).map(Some)
    }
}
