//! Hosts that find each other, and clear words where they do not.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use linpoint_cluster::hosts::{Hosts, read_hosts, version};
use linpoint_cluster::progress::Progress;
use linpoint_cluster::report::Outcome;
use linpoint_cluster::run::{Feeds, Job, Named, RunError};
use linpoint_cluster::source::FileFeed;
use linpoint_cluster::wire::About;
use linpoint_history::generate::{self, Plan};
use linpoint_history::{History, Operation, Verdict, specs};

/// Addresses with ports that were free a moment ago.
fn addresses(count: usize) -> Vec<String> {
    let taken: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    taken.iter().map(|listener| listener.local_addr().expect("an address").to_string()).collect()
}

fn hosts(addresses: &[String], own: usize, token: &str) -> Hosts {
    Hosts { addresses: addresses.to_vec(), own, token: token.to_owned(), patience: Duration::from_secs(5) }
}

fn part(history: &History, part: u32, of: u32) -> Feeds {
    let rows: Vec<Operation> =
        history.operations.iter().filter(|row| row.process().0 % of == part).copied().collect();
    let symbols = history.symbols.clone();
    Arc::new(move |_| {
        let spec = specs::parse("kv").expect("a specification");
        let feed = FileFeed::of(rows.clone(), symbols.clone(), &spec)?;
        let about = About { name: format!("part {part}"), spec: "kv".to_owned(), initial: None, epsilon: 0 };
        Ok(vec![Named { about, feed: Box::new(feed) }])
    })
}

fn run(history: &History, hosts: Hosts, number: u32, of: u32) -> Result<Outcome, RunError> {
    Job { hosts: Some(hosts), ..Job::new(part(history, number, of)) }.run()
}

fn history() -> History {
    let mut plan = Plan::new(specs::parse("kv").expect("a specification"));
    (plan.operations, plan.keys, plan.overlap) = (5000, 50, 0.5);
    generate::history(&plan, None).expect("a history").0
}

#[test]
fn three_hosts_check_together() {
    let (history, addresses) = (history(), addresses(3));
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..3)
            .map(|own| {
                let (history, hosts) = (&history, hosts(&addresses, own, "word"));
                scope.spawn(move || run(history, hosts, own as u32, 3).expect("a run"))
            })
            .collect();
        started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for outcome in &outcomes {
        let (answer, _) = outcome.answer();
        assert!(matches!(answer.verdict, Verdict::Holds(_)), "{:?}", answer.verdict);
        assert_eq!((answer.operations, answer.objects), (5000, 50));
    }
}

#[test]
fn what_is_wrong_with_a_hosts_file_is_said() {
    let path =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hosts-{}", std::process::id()));
    let check = |text: &str, expected: &str| {
        std::fs::write(&path, text).expect("a file");
        let said = match read_hosts(&path) {
            Ok(hosts) => format!("{hosts:?}"),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(expected), "{text}: {said}");
    };
    check("a:1 # first\n\nb:2\n", r#"["a:1", "b:2"]"#);
    check("a:1\nb\n", "line 2: `b` is no address");
    check("a:99999\n", "line 1");
    check("", "nothing");
    assert!(read_hosts("/nowhere/at/all".as_ref()).is_err());
}

#[test]
fn a_port_in_use_names_host_and_cause() {
    let addresses = addresses(2);
    let _taken = TcpListener::bind(&addresses[0]).expect("a port");
    let said = run(&history(), hosts(&addresses, 0, ""), 0, 2).expect_err("the port is in use").to_string();
    assert!(said.contains(&format!("host 0 cannot listen at {}", addresses[0])), "{said}");
}

#[test]
fn a_host_that_is_absent_is_named() {
    let addresses = addresses(2);
    let mut hosts = hosts(&addresses, 1, "");
    hosts.patience = Duration::from_millis(300);
    let said = run(&history(), hosts, 0, 2).expect_err("nobody answers").to_string();
    assert!(said.contains(&format!("host 0 ({}) did not answer", addresses[0])), "{said}");
}

/// A greeting by hand.
fn greet(address: &str, words: &[&str]) -> String {
    let mut bytes = b"linpoint-hosts-1".to_vec();
    bytes.push(words.len() as u8);
    for word in words {
        bytes.extend_from_slice(&(word.len() as u16).to_le_bytes());
        bytes.extend_from_slice(word.as_bytes());
    }
    for _ in 0..100 {
        if let Ok(mut stream) = TcpStream::connect(address) {
            stream.write_all(&bytes).expect("sent");
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            return String::from_utf8_lossy(&answer).into_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    String::new()
}

/// They agree on where to go on before they begin: one alone cannot.
#[test]
fn all_hosts_keep_progress_or_none() {
    let (history, addresses) = (history(), addresses(2));
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-keeps");
    let results: Vec<_> = std::thread::scope(|scope| {
        let start = |own: usize| {
            let progress =
                (own == 0).then(|| Progress { dir: dir.clone(), of: "it".to_owned(), every: None });
            let job = Job {
                hosts: Some(hosts(&addresses, own, "word")),
                progress,
                ..Job::new(part(&history, own as u32, 2))
            };
            scope.spawn(move || job.run())
        };
        let started: Vec<_> = (0..2).map(start).collect();
        started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for result in results {
        let said = result.expect_err("they do not agree").to_string();
        assert!(said.contains("--progress"), "{said}");
    }
}

#[test]
fn other_versions_and_tokens_are_refused_on_both_sides() {
    let (history, addresses) = (history(), addresses(2));
    std::thread::scope(|scope| {
        let (first, history) = (hosts(&addresses, 0, "word"), &history);
        let waiting = scope.spawn(move || run(history, first, 0, 2));
        // A stranger does no harm; another version is a mistake that waiting does not mend.
        let shape = "2 hosts of 1 workers";
        assert!(greet(&addresses[0], &[&version(), "1", shape, "guess"]).contains("token"));
        assert!(
            greet(&addresses[0], &["0.0.1", "1", shape, "word"]).contains("versions differ: 0.0.1 there")
        );
        let said = waiting.join().expect("no panic").expect_err("versions differ").to_string();
        assert!(said.contains("host 1") && said.contains("versions differ"), "{said}");
    });
}

#[test]
fn a_token_is_needed_beyond_this_machine() {
    let addresses = ["127.0.0.1:1".to_owned(), "10.255.255.1:1".to_owned()];
    let said = run(&history(), hosts(&addresses, 0, ""), 0, 2).expect_err("no token").to_string();
    assert!(said.contains("10.255.255.1:1") && said.contains("token"), "{said}");
}

/// A host whose file cannot be read on fails; the others must not take what is missing for a violation.
#[test]
fn a_host_that_cannot_read_makes_the_others_unknown() {
    let (history, addresses) = (history(), addresses(2));
    std::thread::scope(|scope| {
        let (second, kept) = (hosts(&addresses, 1, ""), &history);
        let failing = scope.spawn(move || {
            let feeds: Feeds =
                Arc::new(|_| Err(linpoint_history::Diagnostic::new("T000", "no such file", "")));
            let _ = kept;
            Job { hosts: Some(second), ..Job::new(feeds) }.run()
        });
        let outcome = run(&history, hosts(&addresses, 0, ""), 0, 2).expect("the first host goes on");
        let (answer, _) = outcome.answer();
        assert!(matches!(answer.verdict, Verdict::Unknown(_)), "{:?}", outcome.report);
        assert!(
            outcome.report.troubles.iter().any(|text| text.contains("no such file")),
            "{:?}",
            outcome.report
        );
        assert!(failing.join().expect("no panic").is_err());
    });
}

/// A host that is there and says nothing: with a time limit the others do not wait for ever.
#[test]
fn a_host_that_hangs_does_not_outlast_the_time_limit() {
    let (history, addresses) = (history(), addresses(2));
    let (words, address) =
        ([version().as_str(), "1", "2 hosts of 1 workers", ""].map(str::to_owned), addresses[0].clone());
    let mut bytes = b"linpoint-hosts-1".to_vec();
    bytes.push(words.len() as u8);
    for word in words {
        bytes.extend_from_slice(&(word.len() as u16).to_le_bytes());
        bytes.extend_from_slice(word.as_bytes());
    }
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..200 {
                if let Ok(mut stream) = TcpStream::connect(&address) {
                    stream.write_all(&bytes).expect("sent");
                    let _ = stream.read_to_end(&mut Vec::new());
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let hosts = hosts(&addresses, 0, "");
        let deadline = Some(std::time::Instant::now() + Duration::from_secs(1));
        let ran = Job { hosts: Some(hosts), deadline, ..Job::new(part(&history, 0, 2)) }.run();
        let said = ran.expect_err("one host hangs").to_string();
        assert!(said.contains("the time limit passed"), "{said}");
    });
}
