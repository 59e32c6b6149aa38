//! A pacer for real threads: outside explorations it is told of every access through a shim before it happens, and may let the thread wait there.
//!
//! The explorer decides every step of a small program. A long run with real threads is left to the machine, whose threads hardly ever stop between two
//! instructions that matter. A pacer is what lies between: the threads are real, and one of them now and then is held up at a place that somebody chose. Only atomics and locks
//! tell, since between two of them nothing of a program that is free of data races can be seen by others.
//!
//! Where no pacer is installed the shims read the flag that they read anyway (`stranger.rs`).

use std::cell::RefCell;
use std::panic::Location;

use crate::stranger;

/// An access that is about to happen.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Of what is accessed.
    pub address: usize,
    /// Where the program does it.
    pub site: &'static Location<'static>,
}

type Pacer = Box<dyn FnMut(Point)>;

thread_local! {
    /// The pacer of this OS thread. While it runs it is not here, so it is not told of its own accesses.
    static PACER: RefCell<Option<Pacer>> = const { RefCell::new(None) };
}

/// Runs `body` with a pacer for the calling thread, in place of one that there was.
pub fn paced<T>(pacer: impl FnMut(Point) + 'static, body: impl FnOnce() -> T) -> T {
    let _told = Summons::new();
    on_call(pacer, body)
}

/// As [`paced`], but the pacer is told only while there is a [`Summons`]. It may end what the thread is at by unwinding; it is not told again then.
pub fn on_call<T>(pacer: impl FnMut(Point) + 'static, body: impl FnOnce() -> T) -> T {
    struct Installed(Option<Pacer>);
    impl Drop for Installed {
        fn drop(&mut self) {
            PACER.set(self.0.take());
        }
    }
    let _installed = Installed(PACER.replace(Some(Box::new(pacer))));
    body()
}

/// While there is one, every pacer of the process is told.
#[derive(Debug)]
pub struct Summons(());

impl Summons {
    /// From now on.
    #[expect(clippy::new_without_default, reason = "it is an act, not a value")]
    pub fn new() -> Summons {
        stranger::paced(true);
        Summons(())
    }
}

impl Drop for Summons {
    fn drop(&mut self) {
        stranger::paced(false);
    }
}

/// Tells the calling thread's pacer, if it has one.
pub(crate) fn tell(address: usize, site: &'static Location<'static>) {
    // A thread that is ending has no pacer any more.
    let pacer = PACER.try_with(|pacer| pacer.try_borrow_mut().ok()?.take()).ok().flatten();
    if let Some(mut pacer) = pacer {
        pacer(Point { address, site });
        let _ = PACER.try_with(|place| *place.borrow_mut() = Some(pacer));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::{Summons, on_call, paced};
    use crate::atomic::{AtomicU32, Ordering};
    use crate::sync::{Mutex, RwLock};

    #[test]
    fn every_access_is_told_and_none_of_the_pacers_own() {
        let (seen, own) = (Rc::new(Cell::new(0)), AtomicU32::new(0));
        let (number, lock, shared) = (AtomicU32::new(0), Mutex::new(0), RwLock::new(0));
        let counted = Rc::clone(&seen);
        let pacer = move |_| {
            own.fetch_add(1, Ordering::Relaxed);
            counted.set(counted.get() + 1);
        };
        paced(pacer, || {
            number.store(1, Ordering::Relaxed);
            let _ = number.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed);
            drop(lock.lock());
            drop(shared.read());
            drop(shared.write());
        });
        assert_eq!(seen.get(), 5);
        number.store(3, Ordering::Relaxed);
        assert_eq!(seen.get(), 5);
    }

    #[test]
    fn the_place_is_the_programs() {
        let lines = Rc::new(Cell::new(0));
        let line = Rc::clone(&lines);
        let number = AtomicU32::new(0);
        let expected = paced(
            move |point| line.set(point.site.line()),
            || {
                number.load(Ordering::Relaxed);
                line!() - 1
            },
        );
        assert_eq!(lines.get(), expected);
    }

    #[test]
    fn a_pacer_on_call_may_end_what_is_done() {
        let seen = Rc::new(Cell::new(0));
        let (counted, number) = (Rc::clone(&seen), AtomicU32::new(0));
        let pacer = move |_| {
            counted.set(counted.get() + 1);
            if counted.get() == 2 {
                std::panic::resume_unwind(Box::new("enough"));
            }
        };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            on_call(pacer, || {
                let _told = Summons::new();
                loop {
                    number.fetch_add(1, Ordering::Relaxed);
                }
            })
        }));
        assert!(ended.is_err());
        assert_eq!((seen.get(), number.load(Ordering::Relaxed)), (2, 1));
    }
}
