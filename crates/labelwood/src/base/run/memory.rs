//! How much memory a piece of work may hold, and how much it holds.
//!
//! Whoever keeps what comes from outside states how many bytes that are, while it grows: input of
//! any length ends in an error, not in a machine without memory.

use super::{Bytes, group_memory};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// The most memory this process may use, where the system tells: the machine's, or less if a
/// control group or `ulimit -v` says so.
pub fn memory_limit() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    machine_memory(&info).into_iter().chain(group_memory()).chain(address_space()).min()
}

/// Half of what `ulimit -v` says: stacks, libraries and what the allocator keeps in reserve take
/// addresses, too.
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

/// A number of bytes that may be held; clones share it.
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

/// What one part of the work holds; it is given back when this is dropped.
#[derive(Debug)]
pub struct Held {
    memory: Memory,
    bytes: u64,
}

/// There is as much in memory as may be.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("the {} of memory that may be used are full", Bytes(*limit))]
pub struct OutOfMemory {
    limit: u64,
}

impl Memory {
    /// So many bytes, or any number.
    pub fn limited_to(limit: Option<u64>) -> Self {
        Memory { limit, held: Arc::default() }
    }

    /// What input may take of the memory that the machine gives to this process.
    pub fn of_machine() -> Self {
        Self::limited_to(memory_limit().map(Self::for_input))
    }

    /// What input may take of a machine's memory: a quarter stays for the process and its buffers,
    /// which are not counted, since the system ends a process that takes more than there is.
    pub fn for_input(machine: u64) -> u64 {
        machine / 4 * 3
    }

    /// The number of bytes that may be held, if there is a limit.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// One of so many equal parts of the limit.
    pub(crate) fn share(&self, parts: u64) -> usize {
        self.limit.map_or(usize::MAX, |limit| usize::try_from(limit / parts).unwrap_or(usize::MAX))
    }

    /// Something that is going to hold memory, and holds none yet.
    pub fn hold(&self) -> Held {
        Held { memory: self.clone(), bytes: 0 }
    }
}

impl Held {
    /// Sizes are taken in steps, so that stating one often costs nothing.
    const STEP: u64 = 16 << 10;

    /// States how many bytes are held now. If they are too many, it counts those from before.
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

    /// Something else that is going to hold memory of the same limit, and holds none yet.
    pub fn another(&self) -> Held {
        self.memory.hold()
    }

    /// Counts what is held for good: it outlives the work that states it.
    pub fn keep(mut self) {
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
