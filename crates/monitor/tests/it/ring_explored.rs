//! The ring under every schedule.

use linpoint::thread;

use crate::ring::{Consumer, Full, ring};

/// Takes what is there.
fn take(consumer: &mut Consumer, into: &mut Vec<u64>) {
    let waiting = consumer.waiting();
    into.extend((0..waiting).map(|at| consumer.word(at)));
    consumer.free(waiting);
}

/// Two records of two words through a ring of two: the writer has to wait for the reader, words are reused,
/// and everything arrives in order, whole.
#[test]
fn records_arrive_whole_and_in_order() {
    let explored = linpoint::exploration().run(|| {
        let (producer, mut consumer) = ring(2);
        let writer = thread::spawn(move || {
            for number in [1, 2] {
                while !producer.fits(2) && producer.reserve(2) == Err(Full::Now) {
                    linpoint::hint::spin_loop();
                }
                let place = producer.place();
                place.put(0, number);
                place.put(1, 10 * number);
                producer.publish(place, 2);
            }
        });
        let mut got = Vec::new();
        while got.len() < 4 {
            let before = got.len();
            take(&mut consumer, &mut got);
            assert!(got.len() % 2 == 0, "half a record came out: {got:?}");
            if got.len() == before {
                linpoint::hint::spin_loop();
            }
        }
        assert_eq!(got, [1, 10, 2, 20]);
        writer.join().expect("the writer does not panic");
    });
    assert!(explored.verdict() == "holds", "{explored}");
}

/// A reader that sees the writer gone, and nothing waiting, has everything.
#[test]
fn a_finished_ring_has_nothing_left() {
    let explored = linpoint::exploration().run(|| {
        let (producer, mut consumer) = ring(4);
        let writer = thread::spawn(move || {
            assert!(producer.fits(1));
            let place = producer.place();
            place.put(0, 7);
            producer.publish(place, 1);
        });
        let mut got = Vec::new();
        take(&mut consumer, &mut got);
        if consumer.is_finished() {
            assert_eq!(got, [7]);
        }
        writer.join().expect("the writer does not panic");
    });
    assert!(explored.verdict() == "holds", "{explored}");
}

/// A writer whose reader has gone is told so, and does not wait for ever.
#[test]
fn a_writer_alone_is_told() {
    let explored = linpoint::exploration().run(|| {
        let (producer, consumer) = ring(2);
        let reader = thread::spawn(move || drop(consumer));
        assert!(producer.fits(2));
        producer.publish(producer.place(), 2);
        reader.join().expect("the reader does not panic");
        assert_eq!(producer.reserve(1), Err(Full::Closed));
        assert_eq!(producer.reserve(3), Err(Full::Ever));
    });
    assert!(explored.verdict() == "holds", "{explored}");
}
