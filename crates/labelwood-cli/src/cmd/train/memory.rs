//! Whether a training will fit into memory, and what to change if not.

use anyhow::Result;
use labelwood::Settings;
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
    /// What is learned.
    pub settings: &'a Settings,
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
        let estimate = self.settings.estimate(self.dataset.view(), self.threads);
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
        let fits = |settings: &Settings, threads| {
            Need { settings, threads, ..self.clone() }.bytes() <= limit
        };
        if let Some(fewer) = (1..self.threads).rev().find(|&fewer| fits(self.settings, fewer)) {
            return format!("try --threads {fewer}");
        }
        let mut flags = Vec::new();
        if self.threads > 1 {
            flags.push("--threads 1".to_owned());
        }
        let mut smaller = self.settings.clone();
        for (setting, value) in self.settings.savings() {
            let Ok(changed) = smaller.set(setting, value.clone()) else { continue };
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            flags.push(format!("--{} {shown}", setting.replace('_', "-")));
            smaller = changed;
            if fits(&smaller, 1) {
                return format!("try {}", flags.join(" "));
            }
        }
        "give it fewer rows, or more memory".to_owned()
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
