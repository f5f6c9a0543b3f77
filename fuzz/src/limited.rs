//! A limit on memory: without a sanitizer libFuzzer sees only what was written to, and a request for gigabytes
//! would pass unseen.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes that are held, and panics where they are too many.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// What reading and trying any small input may hold at once.
const HELD_MAX: usize = 256 << 20;

// SAFETY: everything is passed on to the system's allocator; only a number is kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        if held > HELD_MAX {
            HELD.fetch_sub(layout.size(), Ordering::Relaxed);
            // The message needs memory itself, within the limit.
            panic!("{} bytes were asked for, and {held} would be held", layout.size());
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
