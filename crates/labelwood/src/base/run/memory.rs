//! Limits and counts the memory that input takes.
//!
//! Code that keeps input in memory sets how many bytes it holds, while they grow. So endless input ends in
//! an error, before the machine is out of memory.

use super::{Bytes, group_memory};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// The most memory that this process may use: the machine's, or less if a control group or `ulimit -v`
/// limits it. None if the system does not say.
pub fn memory_limit() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    machine_memory(&info).into_iter().chain(group_memory()).chain(address_space()).min()
}

/// Half of the limit of `ulimit -v`. Stacks, libraries and the allocator's reserves take the rest of the
/// address space.
#[cfg(unix)]
fn address_space() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    limit.map(|bytes| bytes / 2)
}

#[cfg(not(unix))]
fn address_space() -> Option<u64> {
    None
}

/// The figure of the line `MemTotal:   16384 kB`.
fn machine_memory(info: &str) -> Option<u64> {
    let figure = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = figure.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// A limit on memory, and how much of it is held; clones share both.
///
/// ```
/// use labelwood::run::Memory;
/// let memory = Memory::limited_to(Some(1 << 20));
/// let mut text = memory.hold();
/// text.set(900_000)?;
/// let mut rows = memory.hold();
/// assert!(rows.set(900_000).is_err());
/// drop(text);
/// assert!(rows.set(900_000).is_ok());
/// # Ok::<(), labelwood::run::OutOfMemory>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    limit: Option<u64>,
    held: Arc<AtomicU64>,
}

/// The memory that one part of the work holds. Dropping it releases the memory.
#[derive(Debug)]
pub struct Held {
    memory: Memory,
    bytes: u64,
}

/// The memory limit is reached.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("the {} of memory that may be used are full", Bytes(*limit))]
pub struct OutOfMemory {
    limit: u64,
}

impl Memory {
    /// A limit of some bytes, or none.
    pub fn limited_to(limit: Option<u64>) -> Self {
        Memory { limit, held: Arc::default() }
    }

    /// The limit for input on this machine: [`for_input`](Self::for_input) of [`memory_limit`].
    pub fn of_machine() -> Self {
        Self::limited_to(memory_limit().map(Self::for_input))
    }

    /// The part of a machine's memory that input may take. A quarter stays for the process and its
    /// buffers, which are not counted.
    pub fn for_input(machine: u64) -> u64 {
        machine / 4 * 3
    }

    /// The limit in bytes, if there is one.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The limit divided by `parts`.
    pub(crate) fn share(&self, parts: u64) -> usize {
        self.limit.map_or(usize::MAX, |limit| usize::try_from(limit / parts).unwrap_or(usize::MAX))
    }

    /// A new holder of memory, which holds none yet.
    pub fn hold(&self) -> Held {
        Held { memory: self.clone(), bytes: 0 }
    }
}

impl Held {
    /// Sizes are rounded up to this step, so that most calls of [`set`](Self::set) change nothing.
    const STEP: u64 = 16 << 10;

    /// Sets how many bytes are held now. If they are too many, the old number stays.
    pub fn set(&mut self, bytes: u64) -> Result<(), OutOfMemory> {
        let bytes = bytes.div_ceil(Self::STEP).saturating_mul(Self::STEP);
        if bytes <= self.bytes {
            self.memory.held.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.bytes = bytes;
            return Ok(());
        }
        let more = bytes - self.bytes;
        let before = self.memory.held.fetch_add(more, Ordering::Relaxed);
        match self.memory.limit {
            Some(limit) if before.saturating_add(more) > limit => {
                self.memory.held.fetch_sub(more, Ordering::Relaxed);
                Err(OutOfMemory { limit })
            }
            _ => {
                self.bytes = bytes;
                Ok(())
            }
        }
    }

    /// A second holder under the same limit, which holds none yet.
    pub(crate) fn another(&self) -> Held {
        self.memory.hold()
    }

    /// Leaves the memory counted for good, for data that outlive this holder.
    pub(crate) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_given_back_and_what_is_kept_is_not() {
        let memory = Memory::limited_to(Some(100_000));
        let (mut first, mut second) = (memory.hold(), memory.hold());
        first.set(60_000).unwrap();
        let full = second.set(60_000).unwrap_err();
        assert_eq!(full.to_string(), "the 97.7 KiB of memory that may be used are full");
        first.set(1).unwrap();
        second.set(60_000).unwrap();
        drop(second);
        first.set(60_000).unwrap();
        first.keep();
        assert!(memory.hold().set(60_000).is_err());
        assert!(memory.hold().set(30_000).is_ok());
        assert!(Memory::limited_to(None).hold().set(u64::MAX).is_ok());
    }

    #[test]
    fn the_machines_memory_is_read() {
        assert_eq!(machine_memory("MemTotal:       24684100 kB\n"), Some(24684100 * 1024));
        assert_eq!(machine_memory("MemTotal: lots"), None);
        assert_eq!(machine_memory(""), None);
    }
}
