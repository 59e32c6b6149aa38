//! One of two hosts is killed, again and again, and the run goes on.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use linpoint_cluster::source::{Feed, FileFeed, Pulled};
use linpoint_history::rng::Rng;
use linpoint_history::{Diagnostic, Operation, Symbols};

/// How many rows were read, in a file, so that it is known even of a process that was killed.
#[derive(Clone)]
pub struct Count {
    file: Rc<File>,
    rows: Rc<Cell<u64>>,
}

impl Count {
    pub fn new(path: &str) -> Count {
        Count { file: Rc::new(File::create(path).expect("a file")), rows: Rc::default() }
    }
}

/// A file that counts.
pub struct Counting {
    pub feed: FileFeed,
    pub count: Count,
}

impl Feed for Counting {
    fn pull(&mut self, rows: &mut Vec<Operation>) -> Result<Pulled, Diagnostic> {
        let pulled = self.feed.pull(rows);
        self.count.rows.set(self.count.rows.get() + rows.len() as u64);
        self.count.file.write_at(&self.count.rows.get().to_le_bytes(), 0).expect("written");
        pulled
    }

    fn symbols(&self) -> &Symbols {
        self.feed.symbols()
    }

    fn touches_across(&self) -> bool {
        self.feed.touches_across()
    }

    fn total(&self) -> Option<u64> {
        self.feed.total()
    }

    fn knows_keys(&self) -> bool {
        self.feed.knows_keys()
    }
}

fn counted(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap_or_default();
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The two hosts of a run.
struct Pair {
    dir: PathBuf,
}

impl Pair {
    fn start(&self, host: usize) -> Child {
        let files =
            ["register", "kv", "queue"].map(|spec| self.dir.join(format!("{spec}-{host}.bin@{spec}")));
        Command::new(std::env::current_exe().expect("this program"))
            .args(["run", "--hosts"])
            .arg(self.dir.join("hosts"))
            .args(["--host", &host.to_string(), "--progress"])
            .arg(self.dir.join("progress"))
            .arg("--count")
            .arg(self.count(host))
            .args(files)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process")
    }

    fn count(&self, host: usize) -> PathBuf {
        self.dir.join(format!("count-{host}"))
    }

    /// Rows that both have read.
    fn read(&self) -> u64 {
        counted(&self.count(0)) + counted(&self.count(1))
    }

    fn forget_counts(&self) {
        for host in [0, 1] {
            std::fs::remove_file(self.count(host)).ok();
        }
    }
}

/// What a run says: the verdict with its counts, and the number after a word.
fn said(child: Child) -> (String, impl Fn(&str) -> u64) {
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let verdict = text.split(" resumed").next().unwrap_or_default().to_owned();
    let number = move |word: &str| {
        let mut words = text.split_whitespace().skip_while(|other| *other != word);
        words.nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    (verdict, number)
}

pub fn kills(args: &[String]) {
    let number = |index: usize, otherwise: u64| {
        args.get(index).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (dir, times, seed) = (PathBuf::from(&args[0]), number(1, 50), number(2, 1));
    let mut rng = Rng::new(seed);
    // Both hosts have all keys, so that half of the rows travel.
    super::make(&[args[0].as_str(), "3000000", "30000", "2", "0", "together"].map(str::to_owned));
    std::fs::write(dir.join("hosts"), "127.0.0.1:7421\n127.0.0.1:7422\n").expect("written");
    let pair = Pair { dir: dir.clone() };
    let undisturbed = || {
        std::fs::remove_dir_all(dir.join("progress")).ok();
        pair.forget_counts();
        let other = pair.start(1);
        let first = said(pair.start(0));
        assert_eq!(first.0, said(other).0, "both hosts say the same");
        (first.0, pair.read())
    };
    let (expected, total) = undisturbed();
    println!("undisturbed: {expected}, {total} operations read");
    let (mut twice, mut most, mut whole) = (0.0, 0.0f64, 0);
    for turn in 0..times {
        std::fs::remove_dir_all(dir.join("progress")).ok();
        pair.forget_counts();
        let mut children = [pair.start(0), pair.start(1)];
        let (moment, victim) = (rng.below(total), rng.below(2) as usize);
        while pair.read() < moment && children[victim].try_wait().expect("a state").is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        children[victim].kill().ok();
        for child in children {
            child.wait_with_output().ok();
        }
        let before = pair.read();
        pair.forget_counts();
        let other = pair.start(1);
        let (verdict, told) = said(pair.start(0));
        assert_eq!(said(other).0, verdict, "both hosts say the same");
        assert_eq!(verdict, expected, "turn {turn}: killed after {before} operations");
        let again = (before + told("read")).saturating_sub(total) as f64 / total as f64;
        whole += usize::from(told("resumed") == 0);
        (twice, most) = (twice + again, most.max(again));
        println!(
            "{turn}: host {victim} killed after {before}, went on from {}, {:.1} % done twice",
            told("resumed"),
            100.0 * again
        );
    }
    println!(
        "{times} kills: the same verdict every time; done twice {:.1} % on average, {:.1} % at most; {whole} began again from the start",
        100.0 * twice / times as f64,
        100.0 * most
    );
}
