//! Work on other people's data, on a thread of its own with so much stack, heap and time and no
//! more, whatever a crate does with them. Not a sandbox: memory safety is Rust's.
//!
//! A crate cannot be told to stop, an allocation that fails ends a Rust program, and an allocator
//! must not unwind. So a thread that asks for too much is left where it asks: it sleeps for good,
//! its memory is lost, and the caller gets an error.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::abi::{catching, Code, Failure, Outcome};

/// What one piece of work may use.
pub struct Limits {
    pub stack_bytes: usize, // address space: untouched pages cost nothing
    pub heap_bytes: usize,  // allocated at a time by the thread itself
    pub time: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    Finished,
    OverBudget,
    NoMemory,
}

/// How the message of a limit that was reached begins.
pub const OVER_LIMIT: &str = "more than ";

/// Shared by the thread that works and the one that waits.
struct Account {
    heap_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
    left: AtomicBool, // the caller waits no longer
}

thread_local! {
    // Neither has a destructor, so both can be read in an allocator at any time.
    static ACCOUNT: Cell<*const Account> = const { Cell::new(std::ptr::null()) };
    static USED: Cell<usize> = const { Cell::new(0) };
}

/// Of all threads that were left behind.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// The heap that threads left behind hold for good.
pub fn lost_bytes() -> usize {
    LOST.load(Ordering::Relaxed)
}

impl Account {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, state: State) {
        *self.lock() = state;
        self.changed.notify_all();
    }

    fn wait(&self, time: Duration) -> State {
        let running = |state: &mut State| *state == State::Running;
        let (state, _) = self
            .changed
            .wait_timeout_while(self.lock(), time, running)
            .unwrap_or_else(PoisonError::into_inner);
        if *state == State::Running {
            self.left.store(true, Ordering::Relaxed);
        }
        *state
    }

    /// Tells the waiting thread and never returns. Allocates nothing.
    fn stay_here(&self, state: State) -> ! {
        LOST.fetch_add(USED.with(Cell::get), Ordering::Relaxed);
        self.settle(state);
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
}

/// The account of this thread, if it works under one.
fn account() -> Option<&'static Account> {
    // SAFETY: the closure of `supervised` keeps the account alive while the pointer is set.
    unsafe { ACCOUNT.with(Cell::get).as_ref() }
}

fn charge(bytes: usize) {
    if let Some(account) = account() {
        let used = USED.with(Cell::get).saturating_add(bytes);
        if used > account.heap_bytes || account.left.load(Ordering::Relaxed) {
            account.stay_here(State::OverBudget);
        }
        USED.with(|slot| slot.set(used));
    }
}

fn refund(bytes: usize) {
    USED.with(|slot| slot.set(slot.get().saturating_sub(bytes)));
}

fn checked(pointer: *mut u8) -> *mut u8 {
    if pointer.is_null() {
        if let Some(account) = account() {
            account.stay_here(State::NoMemory);
        }
    }
    pointer
}

struct Accounting;

// SAFETY: System does the work; what is added allocates nothing and does not unwind.
unsafe impl GlobalAlloc for Accounting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        charge(layout.size());
        checked(System.alloc(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        charge(layout.size());
        checked(System.alloc_zeroed(layout))
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        refund(layout.size());
        System.dealloc(pointer, layout);
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        charge(size.saturating_sub(layout.size()));
        let moved = checked(System.realloc(pointer, layout, size));
        refund(layout.size().saturating_sub(size));
        moved
    }
}

#[global_allocator]
static ALLOCATOR: Accounting = Accounting;

/// Runs `body` on a thread of its own and waits for it. Everything that it uses must be its own,
/// because it may outlive the call. Failures of its own: `Exhausted`, for a limit that is reached,
/// memory that the system refuses, or no thread.
pub fn supervised<T: Send + 'static>(
    limits: &Limits,
    body: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> Outcome<T> {
    let exhausted = |message: String| Err(Failure::new(Code::Exhausted, message));
    let account = Arc::new(Account {
        heap_bytes: limits.heap_bytes,
        state: Mutex::new(State::Running),
        changed: Condvar::new(),
        left: AtomicBool::new(false),
    });
    let worked_on = Arc::clone(&account);
    let spawned = std::thread::Builder::new()
        .name("verbatim_text".into())
        .stack_size(limits.stack_bytes)
        .spawn(move || {
            ACCOUNT.with(|slot| slot.set(Arc::as_ptr(&worked_on)));
            let outcome = catching(body);
            ACCOUNT.with(|slot| slot.set(std::ptr::null()));
            worked_on.settle(State::Finished);
            outcome
        });
    let thread = match spawned {
        Ok(thread) => thread,
        Err(error) => {
            let stack = limits.stack_bytes >> 20;
            return exhausted(format!("no thread with a stack of {stack} MiB: {error}"));
        }
    };
    match account.wait(limits.time) {
        State::Finished => {
            thread.join().unwrap_or_else(|_| Err(Failure::new(Code::Panic, "the thread died")))
        }
        State::OverBudget => {
            exhausted(format!("{OVER_LIMIT}{} MiB of memory", limits.heap_bytes >> 20))
        }
        State::NoMemory => exhausted("too little memory".into()),
        State::Running => exhausted(format!("{OVER_LIMIT}{} seconds", limits.time.as_secs())),
    }
}
