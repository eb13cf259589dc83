//! Whether a training will fit into memory, and what to change if not.

use anyhow::Result;
use labelwood::craftml::{Distinct, Estimate, Params, Projection};
use labelwood::data::{Dataset, LabelIndex};
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
    /// Those of them that differ.
    pub distinct: Distinct,
    /// The settings.
    pub params: &'a Params,
    /// Trees that grow at the same time.
    pub threads: usize,
    /// Whether the model stays in memory rather than going to disk.
    pub keeps_model: bool,
    /// How text became the rows, if they were text.
    pub reader: Option<&'a TextReader>,
}

impl Need<'_> {
    fn bytes(&self) -> u64 {
        let (features, labels) = (self.dataset.features.view(), self.dataset.labels.view());
        let estimate = Estimate::of(features, labels, self.distinct, self.params, self.threads);
        let model = if self.keeps_model { estimate.model } else { 0 };
        PROCESS + estimate.memory + model + self.text_bytes()
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
        let fits =
            |params: &Params, threads| Need { params, threads, ..self.clone() }.bytes() <= limit;
        if let Some(fewer) = (1..self.threads).rev().find(|&fewer| fits(self.params, fewer)) {
            return format!("try --threads {fewer}");
        }
        let mut params = self.params.clone();
        let mut flags = if self.threads > 1 { vec!["--threads 1"] } else { vec![] };
        if params.feature_projection == Projection::Gaussian {
            params.feature_projection = Projection::Hashing;
            flags.push("--feature-projection hashing");
        }
        if params.label_projection == Projection::Gaussian {
            params.label_projection = Projection::Hashing;
            flags.push("--label-projection hashing");
        }
        if !fits(&params, 1) {
            params.keep = Some(params.keep.unwrap_or(1.0).min(0.1));
            flags.push("--keep 0.1");
        }
        if fits(&params, 1) {
            format!("try {}", flags.join(" "))
        } else {
            "give it fewer rows, or more memory".to_owned()
        }
    }
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
