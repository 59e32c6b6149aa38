//! `cargo xtask bench monitor`: what logging costs, and how fast it is checked. Processor time, so that other work on the machine disturbs least.

mod cost;
mod verify;

fn main() {
    println!("| a logged operation (call, commit, return), beyond a write to a buffer of the thread's own | one thread | two threads |");
    println!("|---|---|---|");
    cost::all();
    println!();
    println!("| the verification thread, one core | events a second |");
    println!("|---|---|");
    verify::all();
}

/// Processor time of this thread in nanoseconds.
fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills in a structure of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
