//! Streams over TCP: the same verdicts; cut connections lose nothing; strangers are sent away.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linpoint_cluster::live::{Listener, LiveFeed, Sender, Terms};
use linpoint_cluster::report::Outcome;
use linpoint_cluster::run::{Feeds, Job, Named};
use linpoint_cluster::wire::About;
use linpoint_history::generate::{self, Plan, Spoil};
use linpoint_history::history::return_order;
use linpoint_history::{History, Operation, Spec, Verdict, specs};

fn terms(streams: usize) -> Terms {
    Terms { token: "secret".to_owned(), spec: "kv".to_owned(), streams }
}

fn history(seed: u64, spoiled: bool) -> History {
    let mut plan = Plan::new(specs::parse("kv").expect("a specification"));
    (plan.operations, plan.seed, plan.keys, plan.overlap) = (3000, seed, 20, 0.5);
    let spoil = spoiled.then_some(Spoil { at: 0.6, flaw: None });
    generate::history(&plan, spoil).expect("a history").0
}

/// Watches what comes in at the listener, in a thread of its own.
fn watch(mut listener: Listener, patience: Duration) -> std::thread::JoinHandle<Outcome> {
    let spec = specs::parse("kv").expect("a specification");
    let feeds: Mutex<Vec<LiveFeed>> = Mutex::new(listener.feeds(&spec, patience));
    let feeds: Feeds = Arc::new(move |_| {
        let named = |feed: LiveFeed| Named {
            about: About { name: "stream".to_owned(), spec: "kv".to_owned(), initial: None, epsilon: 0 },
            feed: Box::new(feed),
        };
        Ok(feeds.lock().expect("no panic").drain(..).map(named).collect())
    });
    std::thread::spawn(move || {
        let outcome = Job { keep_going: true, ..Job::new(feeds) }.run().expect("a run");
        drop(listener);
        outcome
    })
}

/// Sends the rows of some processes, a few at a time.
fn send(address: &str, name: &str, history: &History, part: u32, of: u32) {
    let spec = specs::parse("kv").expect("a specification");
    let mut sender =
        Sender::connect(address, "secret", name, "kv", spec.signature(), Duration::from_secs(60))
            .expect("a connection");
    let own = |row: &&Operation| row.process().0 % of == part;
    let mut rows: Vec<Operation> = history.operations.iter().filter(own).copied().collect();
    rows.sort_by_key(return_order);
    for chunk in 0..rows.len().div_ceil(50) {
        let floor =
            rows[rows.len().min(50 * (chunk + 1))..].iter().map(|row| row.call).min().unwrap_or(i64::MAX - 1);
        let sent = rows[50 * chunk..rows.len().min(50 * (chunk + 1))].to_vec();
        sender.send(sent, &history.symbols, floor).expect("sent");
        std::thread::sleep(Duration::from_millis(2));
    }
    sender.finish().expect("heard");
}

#[test]
fn streams_have_the_verdict_of_the_whole() {
    for spoiled in [false, true] {
        let history = history(3, spoiled);
        let listener = Listener::bind("127.0.0.1:0", &terms(3)).expect("a port");
        let address = listener.address().to_string();
        let watching = watch(listener, Duration::from_secs(20));
        std::thread::scope(|scope| {
            for part in 0..3 {
                let (address, history) = (&address, &history);
                scope.spawn(move || send(address, &format!("part {part}"), history, part, 3));
            }
        });
        let outcome = watching.join().expect("it ends");
        let (answer, _) = outcome.answer();
        assert_eq!(matches!(answer.verdict, Verdict::Violated(_)), spoiled, "{:?}", outcome.report.troubles);
        assert_eq!(matches!(answer.verdict, Verdict::Holds(_)), !spoiled, "{:?}", outcome.report.troubles);
        assert_eq!(answer.operations, 3000);
    }
}

/// Passes connections on, and cuts them now and then.
fn proxy(to: String, over: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        // Each lives twice as long as the one before, so that even a busy machine gets through.
        let mut life = Duration::from_millis(60);
        for near in listener.incoming().flatten() {
            if over.load(Ordering::Acquire) {
                break;
            }
            let Ok(far) = TcpStream::connect(&to) else { continue };
            let pipe = |mut from: TcpStream, mut into: TcpStream| {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut into);
                    let _ = into.shutdown(std::net::Shutdown::Both);
                })
            };
            pipe(near.try_clone().expect("a handle"), far.try_clone().expect("a handle"));
            pipe(far.try_clone().expect("a handle"), near.try_clone().expect("a handle"));
            std::thread::sleep(life);
            life *= 2;
            let _ = near.shutdown(std::net::Shutdown::Both);
            let _ = far.shutdown(std::net::Shutdown::Both);
        }
    });
    address
}

#[test]
fn a_connection_that_is_cut_and_healed_loses_nothing() {
    let history = history(4, false);
    let listener = Listener::bind("127.0.0.1:0", &terms(1)).expect("a port");
    let over = Arc::new(AtomicBool::new(false));
    let address = proxy(listener.address().to_string(), Arc::clone(&over));
    let refused = Arc::clone(&listener.refused);
    let watching = watch(listener, Duration::from_secs(60));
    send(&address, "cut", &history, 0, 1);
    let (answer, _) = watching.join().expect("it ends").answer();
    over.store(true, Ordering::Release);
    assert!(matches!(answer.verdict, Verdict::Holds(_)), "{:?}", answer.verdict);
    assert_eq!(answer.operations, 3000);
    assert!(!refused.lock().expect("no panic").is_empty(), "it was cut");
}

#[test]
fn a_stream_that_never_comes_back_is_unknown() {
    let history = history(5, false);
    let listener = Listener::bind("127.0.0.1:0", &terms(2)).expect("a port");
    let address = listener.address().to_string();
    let watching = watch(listener, Duration::from_millis(500));
    send(&address, "here", &history, 0, 2);
    let spec = specs::parse("kv").expect("a specification");
    let mut gone =
        Sender::connect(&address, "secret", "gone", "kv", spec.signature(), Duration::from_secs(1))
            .expect("a connection");
    let first = history.operations.iter().map(|row| row.call).min().expect("rows");
    gone.send(Vec::new(), &history.symbols, first).expect("sent");
    drop(gone);
    let outcome = watching.join().expect("it ends");
    let (answer, _) = outcome.answer();
    assert!(matches!(answer.verdict, Verdict::Unknown(_)), "{:?}", answer.verdict);
    assert!(
        outcome.report.troubles.iter().any(|text| text.contains("source gone broke off")),
        "{:?}",
        outcome.report
    );
    assert_eq!(outcome.report.explained, 0);
}

#[test]
fn strangers_are_sent_away_with_the_reason() {
    let listener = Listener::bind("127.0.0.1:0", &terms(1)).expect("a port");
    let address = listener.address().to_string();
    let spec = specs::parse("kv").expect("a specification");
    let connect = |token: &str, spec_name: &str| {
        let made =
            Sender::connect(&address, token, "me", spec_name, spec.signature(), Duration::from_secs(1));
        made.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(connect("guess", "kv").contains("token"));
    assert!(connect("secret", "queue").contains("`queue`"));
    // Neither a greeting of something else nor a frame that is too long does harm.
    TcpStream::connect(&address)
        .and_then(|mut stream| stream.write_all(b"GET / HTTP/1.1\r\n\r\n...."))
        .expect("sent");
    std::thread::sleep(Duration::from_millis(200));
    let refused = listener.refused.lock().expect("no panic").join("\n");
    assert!(refused.contains("no greeting of a stream"), "{refused}");
    assert!(connect("secret", "kv").is_empty());
}
