//! Monitors of several processes' objects feed one watch: the same verdicts, and a stream of a monitor that
//! lost something never holds.

use std::sync::Mutex;
use std::time::Duration;

use linpoint_cluster::live::{Listener, Sender, Terms};
use linpoint_history::{Spec, Value, Verdict, specs};
use linpoint_monitor::{Monitor, Streamed};

use crate::live::watch_spec;

/// A program with a register that some threads use, watched by a monitor that streams. `stale`: one read in
/// the middle answers what was there at first.
fn program(address: &str, name: &str, stale: bool) {
    let spec = specs::parse("register").expect("a specification");
    let connected =
        Sender::connect(address, "secret", name, "register", spec.signature(), Duration::from_secs(30));
    let mut sender = Some(connected.expect("a connection"));
    let monitor = Monitor::builder().stream(move |part: Streamed<'_>| {
        let Some(mut open) = sender.take() else { return };
        // What found no room is not the whole: the stream breaks off.
        if part.lost > 0 {
            return;
        }
        open.send(part.rows, part.symbols, part.floor).expect("sent");
        match part.last {
            true => open.finish().expect("heard"),
            false => sender = Some(open),
        }
    });
    let monitor = monitor.start().expect("a monitor");
    let object = monitor.object(&format!("{name}'s register"), "register").expect("a specification");
    let object = object.without_commits().watch().expect("an object");
    let (write, read) = (object.op("write"), object.op("read"));
    let held: Mutex<Option<u64>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (object, held) = (&object, &held);
            scope.spawn(move || {
                for turn in 0..400u64 {
                    if turn % 3 == 0 {
                        let value = 1 + thread * 1000 + turn;
                        let operation = object.call(write, value);
                        *held.lock().expect("no panic") = Some(value);
                        operation.returns(());
                    } else {
                        let operation = object.call(read, ());
                        let found = *held.lock().expect("no panic");
                        operation.returns(if stale && thread == 1 && turn == 200 { None } else { found });
                    }
                }
            });
        }
    });
    monitor.finish();
}

#[test]
fn monitors_of_several_programs_feed_one_watch() {
    for stale in [false, true] {
        let terms = Terms { token: "secret".to_owned(), spec: "register".to_owned(), streams: 2 };
        let listener = Listener::bind("127.0.0.1:0", &terms).expect("a port");
        let address = listener.address().to_string();
        let watching = watch_spec("register", listener, Duration::from_secs(30));
        std::thread::scope(|scope| {
            let address = &address;
            scope.spawn(move || program(address, "one", false));
            scope.spawn(move || program(address, "two", stale));
        });
        let outcome = watching.join().expect("it ends");
        let (answer, _) = outcome.answer();
        assert_eq!(matches!(answer.verdict, Verdict::Violated(_)), stale, "{:?}", outcome.report);
        assert_eq!(matches!(answer.verdict, Verdict::Holds(_)), !stale, "{:?}", outcome.report);
        assert_eq!((answer.operations, answer.objects), (2400, 2));
        if stale {
            assert_eq!(answer.object, Some(Value::text("two's register")));
        }
    }
}
