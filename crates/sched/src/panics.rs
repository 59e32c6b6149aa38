//! Panics inside an exploration: caught at the root of each thread, and kept quiet.
//!
//! A search may meet the same panic in thousands of schedules; the message is kept for the one that is shown, and
//! nothing is printed on the way. Outside an exploration the hook that was there before does what it did.
//!
//! A panic that leaves a destructor while another panic unwinds takes the process down. Before it does, Rust calls the hook
//! once more, with words of its own. There the thread is stopped for good, its stack is given up, and the run fails with
//! both panics; or nothing is said of it, where the run is over and its stacks are only being unwound.

use std::any::Any;
use std::cell::RefCell;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use crate::{execution, heap, hook_exit, local_state};

thread_local! {
    /// The last panics of the program on this OS thread, the newest last.
    static RECENT: RefCell<Vec<Said>> = const { RefCell::new(Vec::new()) };
}

/// What a panic said, and where.
struct Said {
    thread: u8,
    message: String,
    site: Option<String>,
}

/// Panics that are kept: the one that unwinds, and what was thrown meanwhile.
const KEPT: usize = 4;

/// Puts the hook in place, once.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if execution::current().is_none() && !linpoint_claim::is_deciding() {
                before(info);
            } else {
                heap::outside(|| inside(info));
            }
        }));
    });
}

/// Notes a panic of the program. From the last one before the process would go down there is no return.
fn inside(info: &PanicHookInfo<'_>) {
    let message = text(info.payload());
    if is_last(&message)
        && let Some(handle) = execution::current()
    {
        handle.double_panic(both());
        hook_exit::unwind_past(std::ptr::from_ref(info).addr(), lose);
    }
    let thread = execution::current().map_or(0, |handle| handle.thread().0);
    let said = Said { thread, message, site: info.location().map(ToString::to_string) };
    RECENT.with(|recent| {
        let mut recent = recent.borrow_mut();
        if recent.len() == KEPT {
            recent.remove(0);
        }
        recent.push(said);
    });
}

/// The running thread is stopped for good.
fn lose() -> ! {
    match execution::current() {
        Some(handle) => handle.lose(),
        None => std::process::abort(),
    }
}

/// What is to be said of a panic in a destructor that panicked while its thread unwound.
fn both() -> String {
    RECENT.with(|recent| {
        let mut recent = recent.borrow_mut();
        let mut text =
            String::from("a destructor panicked while its thread unwound, which ends the process:");
        let thread = execution::current().map_or(0, |handle| handle.thread().0);
        for (index, said) in recent.iter().filter(|said| said.thread == thread).enumerate() {
            let site = said.site.as_deref().unwrap_or("an unknown place");
            let then = if index == 0 { "" } else { ", then" };
            text.push_str(&format!("{then} {} ({site})", said.message));
        }
        recent.clear();
        text
    })
}

/// Is this what Rust says when it can only abort?
fn is_last(message: &str) -> bool {
    message.starts_with("panic in a destructor during cleanup")
        || message.starts_with("panic in a function that cannot unwind")
}

/// Ends the process with a reason: nothing else can be done.
#[cold]
pub(crate) fn abort(reason: &str) -> ! {
    explain(reason);
    std::process::abort()
}

/// Says, as the last thing, why the process goes down and what schedule led there.
fn explain(reason: &str) {
    let schedule = execution::current().map(execution::Handle::schedule).unwrap_or_default();
    let steps: Vec<String> = schedule.iter().map(|thread| thread.0.to_string()).collect();
    let text = format!(
        "\nlinpoint: {reason}\n  the process cannot go on after this; the schedule so far, by thread: {}\n",
        steps.join(" ")
    );
    // Nobody is left to whom a failed write could be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Runs `body` as code of the program, catching its panic.
pub(crate) fn run<F: FnOnce() -> T, T>(body: F) -> std::thread::Result<T> {
    struct Call<F, T> {
        body: Option<F>,
        outcome: Option<std::thread::Result<T>>,
    }
    unsafe extern "C" fn inside<F: FnOnce() -> T, T>(data: *mut (), top: usize) {
        if let Some(handle) = execution::current() {
            handle.enter_program(top);
        }
        // SAFETY: the call below passes a pointer to its `Call`.
        let call = unsafe { &mut *data.cast::<Call<F, T>>() };
        let body = call.body.take();
        call.outcome = body.map(catch);
    }
    if !execution::current().is_some_and(execution::Handle::is_watching) {
        // Nobody looks at the stack.
        heap::set_in_program(true);
        let outcome = catch(body);
        heap::set_in_program(false);
        return outcome;
    }
    let mut call = Call { body: Some(body), outcome: None };
    let data = (&raw mut call).cast::<()>();
    heap::set_in_program(true);
    // SAFETY: `inside` gets what it expects, and catches every panic.
    unsafe { local_state::call_clean(inside::<F, T>, data) };
    heap::set_in_program(false);
    call.outcome.unwrap_or_else(|| Err(Box::new("the program was not run")))
}

/// Runs `body`, catching its panic.
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> std::thread::Result<T> {
    panic::catch_unwind(AssertUnwindSafe(body))
}

/// What a panic said, and where.
pub(crate) fn take(payload: &(dyn Any + Send)) -> (String, Option<String>) {
    let message = text(payload);
    let site = RECENT.with(|recent| {
        let mut recent = recent.borrow_mut();
        let site =
            recent.iter_mut().rev().find(|said| said.message == message).and_then(|said| said.site.take());
        recent.clear();
        site
    });
    (message, site)
}

fn text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no message)".to_owned())
}
