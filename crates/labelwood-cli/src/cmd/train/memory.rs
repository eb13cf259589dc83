//! Whether a training will fit into memory, and which flags to change if not.

use anyhow::Result;
use labelwood::app::{MachineFault, Remedy, TrainingNeed};
use labelwood::run::Bytes;

use crate::machine;

/// Whether there is as much memory as is allowed, else as the machine gives.
pub fn fits(need: &TrainingNeed<'_>, allowed: Option<Bytes>) -> bool {
    allowed.or_else(machine::memory_limit).is_none_or(|limit| need.bytes() <= limit.0)
}

/// Says how much memory a training needs, or refuses it if that is more than `allowed`, else more
/// than the machine gives.
pub fn check(need: &TrainingNeed<'_>, allowed: Option<Bytes>) -> Result<String> {
    let needed = need.bytes();
    let Some(limit) = allowed.or_else(machine::memory_limit) else {
        return Ok(format!("memory: about {} at the peak", Bytes(needed)));
    };
    if needed <= limit.0 {
        return Ok(format!("memory: about {} at the peak, {limit} allowed", Bytes(needed)));
    }
    let who = if allowed.is_some() { "--max-memory" } else { "this machine" };
    let remedy = need.remedy(limit.0).map(in_flags);
    let remedy = remedy.as_deref().unwrap_or("give it fewer rows, or more memory");
    let needed = Bytes(needed);
    Err(MachineFault(format!(
        "the training needs about {needed} of memory, but {who} allows {limit}: {remedy}"
    ))
    .into())
}

/// The flags that make a training fit.
fn in_flags(Remedy { threads, settings }: Remedy) -> String {
    let threads = threads.map(|threads| format!("--threads {threads}"));
    let settings = settings.iter().map(|(setting, value)| {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("--{} {shown}", setting.replace('_', "-"))
    });
    format!("try {}", threads.into_iter().chain(settings).collect::<Vec<_>>().join(" "))
}
