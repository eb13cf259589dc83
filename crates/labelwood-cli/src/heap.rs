//! An allocator that asks for large pages.
//!
//! Each new page of 4 KB takes some microseconds, in every process again: that was a tenth of the time of
//! a shard with three trees of a forest. Linux gives pages of 2 MB instead if `madvise` asks for them.
//! So glibc is set to get memory in large steps, and larger allocations are advised.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which also asks for large pages.
pub struct Heap;

/// Allocations from this size on are advised. Smaller ones mostly share their pages.
const ADVISED_FROM: usize = 64 << 10;
/// glibc gives allocations from this size on a mapping of their own, which ends when they are freed.
const MAPPED_FROM: usize = 4 << 20;
/// The size of glibc's arenas, in which threads allocate. Each starts at a multiple of it.
const ARENA: usize = 64 << 20;
/// How much of an arena is made usable at once. A page of 2 MB must be usable as a whole.
const ARENA_STEP: usize = 60 << 20;
/// Free memory at the end of an arena is returned to the system from this size on.
const TRIMMED_FROM: usize = 32 << 20;
thread_local! {
    /// The arena that this thread advised last.
    static LAST_ADVISED: Cell<usize> = const { Cell::new(0) };
}

/// Sets how glibc gets memory. Call it at the start of the program.
pub fn set_up() {
    let settings = [
        (libc::M_MMAP_THRESHOLD, MAPPED_FROM),
        (libc::M_TRIM_THRESHOLD, TRIMMED_FROM),
        (libc::M_TOP_PAD, ARENA_STEP),
    ];
    for (setting, value) in settings {
        // SAFETY: it only sets a number, before there are other threads. If it is refused, the old
        // number stays.
        unsafe { libc::mallopt(setting, value as libc::c_int) };
    }
}

/// Asks for large pages at an allocation.
fn advise(start: *mut u8, size: usize) {
    if size < ADVISED_FROM || start.is_null() {
        return;
    }
    let (start, end) = (start.addr(), start.addr() + size);
    let (first, end) = if size >= MAPPED_FROM {
        // Advise the whole mapping, which starts some bytes before the allocation. Advising a part
        // splits the mapping, and then `realloc` has to copy instead of moving it.
        let page = page();
        (start / page * page, end.next_multiple_of(page))
    } else {
        (start / ARENA * ARENA, end.next_multiple_of(ARENA))
    };
    if size < MAPPED_FROM && LAST_ADVISED.replace(first) == first {
        return;
    }
    // SAFETY: this advice changes no content, whatever is mapped there, and may be refused.
    unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
}

/// The size of small pages.
fn page() -> usize {
    // SAFETY: `sysconf` takes any name and returns -1 for one that it does not know.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

// SAFETY: every call goes to the system's allocator, whose results are returned unchanged.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises that the system's allocator asks for.
        let start = unsafe { System.alloc(layout) };
        advise(start, layout.size());
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises that the system's allocator asks for.
        let start = unsafe { System.alloc_zeroed(layout) };
        advise(start, layout.size());
        start
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the promises that the system's allocator asks for.
        let start = unsafe { System.realloc(start, layout, size) };
        advise(start, size);
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises that the system's allocator asks for.
        unsafe { System.dealloc(start, layout) };
    }
}
