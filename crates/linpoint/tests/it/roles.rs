//! Operations that belong to one thread: scenarios respect that.

use linpoint::check;
use linpoint::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Fifo(std::collections::VecDeque<u32>);

#[linpoint::spec]
impl Fifo {
    fn send(&mut self, value: u32) {
        self.0.push_back(value);
    }

    fn receive(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

/// A queue without end for one sender and one receiver.
#[derive(Default)]
struct Pipe {
    sent: AtomicUsize,
    received: AtomicUsize,
    values: [AtomicU32; 8],
}

impl Pipe {
    fn put(&self, value: u32) {
        let at = self.sent.load(SeqCst);
        self.values[at].store(value, SeqCst);
        self.sent.store(at + 1, SeqCst);
    }

    fn take(&self) -> Option<u32> {
        let at = self.received.load(SeqCst);
        if at == self.sent.load(SeqCst) {
            return None;
        }
        self.received.store(at + 1, SeqCst);
        Some(self.values[at].load(SeqCst))
    }
}

/// With roles.
#[derive(Default)]
struct Single(Pipe);

#[linpoint::object(spec = Fifo)]
impl Single {
    #[role(sender)]
    fn send(&self, value: u32) {
        self.0.put(value);
    }

    #[role(receiver)]
    fn receive(&self) -> Option<u32> {
        self.0.take()
    }
}

/// With a role for one side only.
#[derive(Default)]
struct ManySenders(Pipe);

#[linpoint::object(spec = Fifo)]
impl ManySenders {
    fn send(&self, value: u32) {
        self.0.put(value);
    }

    #[role(receiver)]
    fn receive(&self) -> Option<u32> {
        self.0.take()
    }
}

/// One thread may have both roles.
#[derive(Default)]
struct Alone(Pipe);

#[linpoint::object(spec = Fifo)]
impl Alone {
    #[role(owner)]
    fn send(&self, value: u32) {
        self.0.put(value);
    }

    #[role(owner)]
    fn receive(&self) -> Option<u32> {
        self.0.take()
    }
}

#[test]
fn one_sender_and_one_receiver() {
    check::<Single>().threads(3).ops(2).after(1).run();
    let report = check::<ManySenders>().after(1).report();
    let scenario = report.counterexample.expect("two senders are one too many").scenario;
    assert!(scenario.matches("send").count() >= 2, "{scenario}");
}

#[test]
fn a_role_that_nobody_can_share_leaves_no_scenario_with_two_threads() {
    let report = check::<Alone>().report();
    assert_eq!(report.verdict(), "unknown", "{report}");
    assert_eq!(report.coverage.scenarios, 0, "{report}");
    check::<Alone>().threads(1).ops(3).run();
}
