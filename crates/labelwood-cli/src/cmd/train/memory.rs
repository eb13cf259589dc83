//! Whether a training will fit into memory, and what to change if not.

use anyhow::Result;
use labelwood::craftml::{Params, Projection};
use labelwood::data::{Dataset, LabelIndex};
use labelwood::model::Algorithm;
use labelwood::text::{Arrays, TextReader};

use crate::bytes::Bytes;
use crate::fault::MachineFault;
use crate::machine;

/// What a process takes whatever it learns from: code, stacks, buffers.
const PROCESS: u64 = 8 << 20;

/// What the need for memory follows from.
#[derive(Clone)]
pub struct Need<'a> {
    /// The rows to learn from.
    pub dataset: &'a Dataset,
    /// What is learned.
    pub algorithm: &'a Algorithm,
    /// Whether it is learned a second time, to calibrate it.
    pub calibrate: bool,
    /// Parts that are learned at the same time.
    pub threads: usize,
    /// Whether the model stays in memory rather than going to disk.
    pub keeps_model: bool,
    /// How text became the rows, if they were text.
    pub reader: Option<&'a TextReader>,
}

impl Need<'_> {
    fn bytes(&self) -> u64 {
        let (features, labels) = (self.dataset.features.view(), self.dataset.labels.view());
        let estimate = self.algorithm.estimate(features, labels, self.threads);
        let model = if self.keeps_model { estimate.model } else { 0 };
        // The rows stay prepared while the second model is learned and kept in memory.
        let calibration = if self.calibrate { estimate.memory + estimate.model } else { 0 };
        PROCESS + estimate.memory + calibration + model + self.text_bytes()
    }

    /// Whether there is as much memory as is allowed, else as the machine gives.
    pub fn fits(&self, allowed: Option<Bytes>) -> bool {
        allowed.or_else(machine::memory_limit).is_none_or(|limit| self.bytes() <= limit.0)
    }

    /// The vocabulary, and label names with the lines that they are written from.
    fn text_bytes(&self) -> u64 {
        let Some(reader) = self.reader else { return 0 };
        let Arrays { text, starts, slots, idf } = reader.vectoriser().arrays();
        let vocabulary = text.len() + 8 * (starts.len() + slots.len()) + 4 * idf.len();
        let names = self.dataset.label_names.iter().flat_map(LabelIndex::lines);
        (vocabulary + names.map(|name| 2 * name.len() + 16).sum::<usize>()) as u64
    }

    /// The first change of settings that makes it fit.
    fn remedy(&self, limit: u64) -> String {
        let fits = |algorithm: &Algorithm, threads| {
            Need { algorithm, threads, ..self.clone() }.bytes() <= limit
        };
        if let Some(fewer) = (1..self.threads).rev().find(|&fewer| fits(self.algorithm, fewer)) {
            return format!("try --threads {fewer}");
        }
        let (smaller, mut flags) = match self.algorithm {
            Algorithm::CraftMl(params) => {
                let (params, flags) =
                    smaller_forest(params, |params| fits(&Algorithm::CraftMl(params.clone()), 1));
                (Algorithm::CraftMl(params), flags)
            }
            other => (other.clone(), Vec::new()),
        };
        if self.threads > 1 {
            flags.insert(0, "--threads 1");
        }
        if fits(&smaller, 1) {
            format!("try {}", flags.join(" "))
        } else {
            "give it fewer rows, or more memory".to_owned()
        }
    }
}

/// Settings of a forest that takes less memory, and the flags for them.
fn smaller_forest(params: &Params, fits: impl Fn(&Params) -> bool) -> (Params, Vec<&'static str>) {
    let (mut params, mut flags) = (params.clone(), Vec::new());
    if params.feature_projection == Projection::Gaussian {
        params.feature_projection = Projection::Hashing;
        flags.push("--feature-projection hashing");
    }
    if params.label_projection == Projection::Gaussian {
        params.label_projection = Projection::Hashing;
        flags.push("--label-projection hashing");
    }
    if !fits(&params) {
        params.keep = Some(params.keep.unwrap_or(1.0).min(0.1));
        flags.push("--keep 0.1");
    }
    (params, flags)
}

/// Says how much memory a training needs, or refuses it if that is more than `allowed`, else more
/// than the machine gives.
pub fn check(need: &Need, allowed: Option<Bytes>) -> Result<String> {
    let needed = need.bytes();
    let Some(limit) = allowed.or_else(machine::memory_limit) else {
        return Ok(format!("memory: about {} at the peak", Bytes(needed)));
    };
    if needed <= limit.0 {
        return Ok(format!("memory: about {} at the peak, {limit} allowed", Bytes(needed)));
    }
    let who = if allowed.is_some() { "--max-memory" } else { "this machine" };
    let remedy = need.remedy(limit.0);
    let needed = Bytes(needed);
    Err(MachineFault(format!(
        "the training needs about {needed} of memory, but {who} allows {limit}: {remedy}"
    ))
    .into())
}
