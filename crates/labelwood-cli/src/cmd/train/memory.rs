//! Whether a training will fit into memory, and which flags to change if not.

use anyhow::Result;
use labelwood::Settings;
use labelwood::app::{Remedy, TrainingNeed};
use labelwood::run::Bytes;

use crate::machine;

/// Whether there is as much memory as is allowed, else as the machine gives.
pub fn fits(need: &TrainingNeed<'_>, allowed: Option<Bytes>) -> bool {
    allowed.or_else(machine::memory_limit).is_none_or(|limit| need.bytes() <= limit.0)
}

/// The settings without the parts for which there is no memory, and what to say of it, if that helps.
pub fn narrowed(need: &TrainingNeed<'_>, allowed: Option<Bytes>) -> Option<(Settings, String)> {
    let limit = allowed.or_else(machine::memory_limit)?;
    let settings = need.narrowed(limit.0)?;
    let names =
        |settings: &Settings| settings.parts().iter().map(|part| part.name()).collect::<Vec<_>>();
    let kept = names(&settings);
    // Of those that could do something with the rows.
    let possible = need.settings.resolve(need.rows);
    let gone = names(&possible).into_iter().filter(|name| !kept.contains(name));
    let gone = gone.collect::<Vec<_>>().join(", ");
    Some((settings, format!("memory: left out for want of it: {gone}")))
}

/// Says how much memory a training needs, or refuses it if that is more than `allowed`, else more
/// than the machine gives.
pub fn check(need: &TrainingNeed<'_>, allowed: Option<Bytes>) -> Result<String> {
    let remedy = |limit| {
        let remedy = need.remedy(limit).map(in_flags);
        remedy.unwrap_or_else(|| "give it fewer rows, or more memory".to_owned())
    };
    let needed = need.bytes();
    let limit = machine::check_memory("training", needed, allowed, remedy)?;
    let limit = limit.map(|limit| format!(", {limit} allowed")).unwrap_or_default();
    Ok(format!("memory: about {} at the peak{limit}", Bytes(needed)))
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
