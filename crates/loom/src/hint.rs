//! What a thread tells the compiler or the processor.

pub use linpoint_sched::hint::spin_loop;

/// Says that this place is never reached. In a model that is checked.
///
/// # Safety
/// None here; outside a model, as for std's function of the same name.
///
/// # Panics
/// If it is reached.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("unreachable_unchecked was reached!")
}
