//! `mpsc`.

use std::time::Duration;

use linpoint_sched::cell::UnsafeCell;
use linpoint_sched::sync::Arc;
use linpoint_sched::sync::mpsc::{
    Receiver, RecvError, RecvTimeoutError, SendError, SyncSender, TryRecvError, TrySendError, channel,
    sync_channel,
};
use linpoint_sched::{Failure, thread};

use crate::explore::{first_failure, outcomes};

const SOON: Duration = Duration::from_millis(1);

#[test]
fn messages_of_two_senders_come_in_every_order() {
    let found = outcomes(|| {
        let (one, receiver) = channel();
        let two = one.clone();
        let child = thread::spawn(move || {
            two.send(1).unwrap();
            two.send(2).unwrap();
        });
        one.send(10).unwrap();
        drop(one);
        let all: Vec<i32> = receiver.iter().collect();
        child.join().unwrap();
        all
    });
    assert_eq!(found.fine(), [vec![1, 2, 10], vec![1, 10, 2], vec![10, 1, 2]]);
}

#[test]
fn try_recv_sees_everything() {
    let found = outcomes(|| {
        let (sender, receiver) = channel();
        let child = thread::spawn(move || {
            let _ = sender.send(1);
        });
        let seen = receiver.try_recv();
        child.join().unwrap();
        let rest: Vec<i32> = receiver.try_iter().collect();
        assert_eq!(receiver.recv(), Err(RecvError));
        (seen.map_err(|error| error == TryRecvError::Empty), rest)
    });
    assert_eq!(found.fine(), [(Ok(1), vec![]), (Err(true), vec![1])]);
}

#[test]
fn a_receiver_that_goes_gives_messages_back() {
    let found = outcomes(|| {
        let (sender, receiver) = channel();
        let child = thread::spawn(move || drop(receiver));
        let sent = sender.send(1);
        child.join().unwrap();
        assert_eq!(sender.send(2), Err(SendError(2)));
        sent.is_ok()
    });
    assert_eq!(found.fine(), [false, true]);
}

#[test]
fn a_receiver_without_senders_waits_for_ever_only_if_one_is_left() {
    let text = first_failure(|| {
        let (sender, receiver) = channel::<u32>();
        let _ = receiver.recv();
        drop(sender);
    })
    .unwrap()
    .to_string();
    assert!(text.starts_with("deadlock: thread 0 waits to recv at "), "{text}");
}

#[test]
fn a_full_channel_makes_its_sender_wait() {
    let found = outcomes(|| {
        let (sender, receiver) = sync_channel(1);
        let child = thread::spawn(move || {
            let full = sender.try_send(1).and_then(|()| sender.try_send(2));
            let full = matches!(full, Err(TrySendError::Full(2)));
            sender.send(3).unwrap();
            full
        });
        let all: Vec<i32> = receiver.into_iter().collect();
        (child.join().unwrap(), all)
    });
    assert_eq!(found.fine(), [(false, vec![1, 2, 3]), (true, vec![1, 3])]);
}

#[test]
fn without_room_a_message_is_handed_over() {
    use linpoint_sched::atomic::{AtomicBool, Ordering::SeqCst};
    use std::sync::Arc;
    let found = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let received = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&received);
        let child = thread::spawn(move || {
            sender.send(1).unwrap();
            let early = !seen.load(SeqCst);
            sender.send(2).unwrap();
            assert!(seen.load(SeqCst), "the first was received before the second was taken");
            early
        });
        assert_eq!(receiver.recv(), Ok(1));
        received.store(true, SeqCst);
        assert_eq!(receiver.recv(), Ok(2));
        assert_eq!(receiver.recv(), Err(RecvError));
        child.join().unwrap()
    });
    assert_eq!(found.fine(), [false, true]);
}

#[test]
fn try_send_without_room_needs_a_receiver_that_waits() {
    let found = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let child = thread::spawn(move || receiver.recv());
        let sent = sender.try_send(1).is_ok();
        drop(sender);
        let got = child.join().unwrap();
        assert_eq!(got.is_ok(), sent);
        sent
    });
    assert_eq!(found.fine(), [false, true]);
}

#[test]
fn an_offer_comes_back_when_the_receiver_goes() {
    let found = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let child = thread::spawn(move || {
            let got = receiver.try_recv();
            drop(receiver);
            got.is_ok()
        });
        let sent = sender.send(1);
        assert_eq!(child.join().unwrap(), sent.is_ok());
        sent.is_ok()
    });
    assert_eq!(found.fine(), [false, true]);
}

#[test]
fn a_timeout_comes_at_any_time() {
    let run = |make: fn() -> Receiver<i32>| {
        outcomes(move || {
            let receiver = make();
            let mut seen = Vec::new();
            loop {
                match receiver.recv_timeout(SOON) {
                    Ok(value) => seen.push(value),
                    Err(RecvTimeoutError::Timeout) if seen.len() == 1 => return (seen, "timeout"),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return (seen, "disconnected"),
                }
            }
        })
    };
    let expected = [(vec![1], "disconnected"), (vec![1], "timeout")];
    let buffered = run(|| {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(1));
        receiver
    });
    assert_eq!(buffered.fine(), expected);
    let handed = run(|| {
        let (sender, receiver) = sync_channel(0);
        thread::spawn(move || sender.send(1));
        receiver
    });
    assert_eq!(handed.fine(), expected);
}

#[test]
fn a_channel_from_outside_cannot_be_waited_for() {
    let (sender, receiver) = channel();
    let receiver = std::sync::Mutex::new(receiver);
    sender.send(1).unwrap();
    let program = || {
        let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while receiver.recv().is_ok() {}
    };
    let text = first_failure(program).unwrap().to_string();
    assert!(text.starts_with("misuse: a channel that was made outside the exploration is empty"), "{text}");
}

#[test]
fn outside_an_exploration_channels_are_real() {
    let (sender, receiver) = channel();
    let other = sender.clone();
    let child = thread::spawn(move || (0..3).try_for_each(|value| other.send(value)));
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
    child.join().unwrap().unwrap();
    let (sender, receiver) = sync_channel(0);
    let child = thread::spawn(move || receiver.recv_timeout(Duration::from_secs(60)));
    sender.send(7).unwrap();
    assert_eq!(child.join().unwrap(), Ok(7));
    assert_eq!(sender.try_send(8), Err(TrySendError::Disconnected(8)));
    let (sender, receiver) = sync_channel(1);
    sender.try_send(1).unwrap();
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

/// A receiver that begins to wait lets `try_send` succeed: whoever polls sees that.
#[test]
fn try_send_is_polled_until_somebody_waits() {
    for yields in [true, false] {
        let found = outcomes(move || {
            let (sender, receiver) = sync_channel(0);
            let child = thread::spawn(move || {
                while sender.try_send(1).is_err() {
                    if yields {
                        thread::yield_now();
                    }
                }
            });
            let received = receiver.recv().unwrap();
            child.join().unwrap();
            received
        });
        assert_eq!(found.fine(), [1], "{yields}");
    }
}

#[test]
fn try_send_is_polled_until_a_receiver_waits_that_may_give_up() {
    let found = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let child = thread::spawn(move || while sender.try_send(1).is_err() {});
        let first = receiver.recv_timeout(SOON).is_ok();
        if !first {
            receiver.recv().unwrap();
        }
        child.join().unwrap();
        first
    });
    assert_eq!(found.fine(), [false, true]);
}

struct Shared(UnsafeCell<u32>);

// SAFETY: who touches it when is what is explored.
unsafe impl Sync for Shared {}

impl Shared {
    fn set(&self) {
        // SAFETY: a race is told, and this is one OS thread.
        self.0.with_mut(|value| unsafe { *value = 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }
}

/// Whoever hands a message to a receiver that waits knows what that one did before it came, and not what it does then.
#[test]
fn a_receiver_that_waits_tells_what_it_did() {
    let program = |sends: fn(&SyncSender<u32>) -> bool, before: bool| {
        let cell = Arc::new(Shared(UnsafeCell::new(0)));
        let other = Arc::clone(&cell);
        let (sender, receiver) = sync_channel(0);
        let child = thread::spawn(move || {
            if before {
                other.set();
            }
            let received = receiver.recv();
            if !before {
                other.set();
            }
            received.is_ok()
        });
        let sent = sends(&sender);
        if sent {
            cell.get();
        }
        drop(sender);
        assert_eq!(child.join().unwrap(), sent);
        sent
    };
    let sends: fn(&SyncSender<u32>) -> bool = |sender| sender.send(1).is_ok();
    let tries: fn(&SyncSender<u32>) -> bool = |sender| sender.try_send(1).is_ok();
    assert_eq!(outcomes(|| program(sends, true)).fine(), [true]);
    assert_eq!(outcomes(|| program(tries, true)).fine(), [false, true]);
    for how in [sends, tries] {
        let failure = first_failure(|| _ = program(how, false));
        assert!(matches!(failure, Some(Failure::DataRace { .. })), "{failure:?}");
    }
}
