//! A limit on memory: without a sanitizer libFuzzer sees only what was written to, and a request for gigabytes
//! would pass unseen.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes that are held, and gives no more where they would be too many: std then names the bytes and
/// aborts. A panic may not leave an allocator.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// What reading and trying any small input may hold at once.
const HELD_MAX: usize = 256 << 20;

/// Called before a request is refused, to say on what input; it may not allocate.
pub static BEFORE_REFUSAL: OnceLock<fn()> = OnceLock::new();

// SAFETY: everything is passed on to the system's allocator; only a number is kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        if held > HELD_MAX {
            HELD.fetch_sub(layout.size(), Ordering::Relaxed);
            if let Some(say) = BEFORE_REFUSAL.get() {
                say();
            }
            return null_mut();
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
