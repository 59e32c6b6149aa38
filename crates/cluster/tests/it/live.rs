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

fn watch(listener: Listener, patience: Duration) -> std::thread::JoinHandle<Outcome> {
    watch_spec("kv", listener, patience)
}

/// Watches what comes in at the listener, in a thread of its own.
pub fn watch_spec(
    name: &'static str,
    mut listener: Listener,
    patience: Duration,
) -> std::thread::JoinHandle<Outcome> {
    let spec = specs::parse(name).expect("a specification");
    let feeds: Mutex<Vec<LiveFeed>> = Mutex::new(listener.feeds(&spec, patience));
    let feeds: Feeds = Arc::new(move |_| {
        let named = |feed: LiveFeed| Named {
            about: About { name: "stream".to_owned(), spec: name.to_owned(), initial: None, epsilon: 0 },
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

/// Another process under the name of one that was here: its frames are not taken for those of the first, and
/// the first stays lost.
#[test]
fn another_life_of_a_stream_is_refused() {
    let history = history(6, false);
    let listener = Listener::bind("127.0.0.1:0", &terms(1)).expect("a port");
    let address = listener.address().to_string();
    let watching = watch(listener, Duration::from_millis(800));
    let spec = specs::parse("kv").expect("a specification");
    let connect =
        || Sender::connect(&address, "secret", "me", "kv", spec.signature(), Duration::from_secs(1));
    let mut first = connect().expect("a connection");
    let floor = history.operations.iter().map(|row| row.call).min().expect("rows");
    first.send(Vec::new(), &history.symbols, floor).expect("sent");
    drop(first);
    let said = connect().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("was here before"), "{said}");
    let (answer, _) = watching.join().expect("it ends").answer();
    assert!(matches!(answer.verdict, Verdict::Unknown(_)), "{:?}", answer.verdict);
}

/// A connection that is open and silent, as after a cut of the network, is not waited for longer than one
/// that is closed.
#[test]
fn a_silent_stream_is_unknown() {
    let listener = Listener::bind("127.0.0.1:0", &terms(1)).expect("a port");
    let address = listener.address().to_string();
    let watching = watch(listener, Duration::from_millis(500));
    let spec = specs::parse("kv").expect("a specification");
    let silent = Sender::connect(&address, "secret", "mute", "kv", spec.signature(), Duration::from_secs(1));
    let outcome = watching.join().expect("it ends");
    drop(silent.expect("a connection"));
    assert!(matches!(outcome.answer().0.verdict, Verdict::Unknown(_)));
    let told = outcome.report.troubles.join("; ");
    assert!(told.contains("source mute broke off") && told.contains("nothing was heard"), "{told}");
}

/// Frames that are torn, damaged, too long or out of turn cut their stream, with the cause; the same sender
/// may come back.
#[test]
fn bad_frames_name_their_cause() {
    use std::io::Read as _;
    let listener = Listener::bind("127.0.0.1:0", &terms(1)).expect("a port");
    let (address, refused) = (listener.address().to_string(), Arc::clone(&listener.refused));
    let greeting = || {
        let words = [env!("CARGO_PKG_VERSION"), "secret", "bad", "kv", "one life"];
        let mut bytes = b"linpoint-stream1".to_vec();
        bytes.push(words.len() as u8);
        for word in words {
            bytes.extend_from_slice(&(word.len() as u16).to_le_bytes());
            bytes.extend_from_slice(word.as_bytes());
        }
        bytes
    };
    let frame = |number: u64| {
        let mut inner = vec![b'R'];
        inner.extend_from_slice(&number.to_le_bytes());
        inner.extend_from_slice(&0i64.to_le_bytes());
        let mut bytes = (inner.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&crc32fast::hash(&inner).to_le_bytes());
        bytes.extend_from_slice(&inner);
        bytes
    };
    let mut damaged = frame(0);
    damaged[10] ^= 1;
    let long = [u32::MAX.to_le_bytes(), [0; 4]].concat();
    let cases = [
        (frame(0)[..12].to_vec(), "torn frame"),
        (damaged, "checksum is wrong"),
        (long, "at most 16777216 are taken"),
        (frame(7), "frame 7 came where 0 is wanted"),
    ];
    for (bytes, cause) in cases {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.write_all(&greeting()).and_then(|()| stream.write_all(&bytes)).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("closed");
        let _ = stream.read_to_end(&mut Vec::new());
        for _ in 0..100 {
            if refused.lock().expect("no panic").iter().any(|why| why.contains(cause)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let told = refused.lock().expect("no panic").join("; ");
        assert!(told.contains(cause) && told.contains("127.0.0.1:"), "{cause}: {told}");
    }
}
