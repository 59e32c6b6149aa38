//! `linpoint watch`: takes in streams of operations and says how it goes, in the terminal and on a page.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use linpoint_cluster::live::{Listener, LiveFeed, Terms};
use linpoint_cluster::run::{Feeds, Job, Named, Status};
use linpoint_cluster::wire::{About, Wire};
use linpoint_history::confidence;

use crate::args::duration;
use crate::cluster;
use crate::fault::{Exit, Fault};
use crate::input;

/// What `watch` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint watch --spec kv --listen 127.0.0.1:7200 --token token.txt --streams 3
  linpoint collect redis --address 127.0.0.1:6379 --to 127.0.0.1:7200 --token token.txt")]
pub struct WatchArgs {
    /// The specification of the objects (see `linpoint specs`)
    #[arg(long, value_name = "NAME")]
    pub spec: String,
    /// The value, or the list of contents, that objects start with, as JSON
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub initial: Option<String>,
    /// Where streams come in; of this machine alone unless told otherwise
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7200")]
    pub listen: String,
    /// A file with the token that streams must know
    #[arg(long, value_name = "FILE")]
    pub token: PathBuf,
    /// How many streams there will be; nothing is decided before all are here
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub streams: usize,
    /// How far the clocks of the streams may be off, in units of their stamps
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub clock_error: i64,
    /// How long a stream may be without a connection before it is given up
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub patience: Duration,
    /// Serve a status page there; of this machine alone, since it needs no token
    #[arg(long, value_name = "ADDRESS")]
    pub status: Option<String>,
    /// Threads that check
    #[arg(long, value_name = "W", default_value_t = 1)]
    pub workers: usize,
    /// End when an object is violated
    #[arg(long)]
    pub stop_on_violation: bool,
    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(args: &WatchArgs) -> Result<Exit, Fault> {
    let spec = input::spec(&args.spec, args.initial.as_deref())?;
    let token = cluster::token(Some(&args.token))?;
    let terms = Terms { token, spec: args.spec.clone(), streams: args.streams.max(1) };
    let mut listener = Listener::bind(&args.listen, &terms).map_err(|error| {
        Fault::usage(format!("cannot listen at {}: {error}", args.listen), "another --listen")
    })?;
    crate::fault::say!("waiting for {} streams at {}", terms.streams, listener.address());
    let workers = args.workers.max(1);
    let mut shares: Vec<Vec<LiveFeed>> = (0..workers).map(|_| Vec::new()).collect();
    for (number, feed) in listener.feeds(&spec, args.patience).into_iter().enumerate() {
        shares[number % workers].push(feed);
    }
    let shares = Mutex::new(shares);
    let (name, epsilon) = (args.spec.clone(), args.clock_error);
    let initial = args.initial.is_some().then(|| Wire(spec.initial.clone()));
    let feeds: Feeds = Arc::new(move |worker| {
        let own = shares.lock().map(|mut shares| std::mem::take(&mut shares[worker])).unwrap_or_default();
        let named = |(number, feed): (usize, LiveFeed)| Named {
            about: About {
                name: format!("stream {number} of worker {worker}"),
                spec: name.clone(),
                initial: initial.clone(),
                epsilon,
            },
            feed: Box::new(feed),
        };
        Ok(own.into_iter().enumerate().map(named).collect())
    });
    let board = Arc::new(Board::new(terms.streams, Arc::clone(&listener.refused)));
    if let Some(address) = &args.status {
        serve(address, Arc::clone(&board))?;
    }
    let ended = Arc::new(AtomicBool::new(false));
    let (shown, over) = (Arc::clone(&board), Arc::clone(&ended));
    let ticker = std::thread::spawn(move || tick(&shown, &over));
    let told = Arc::clone(&board);
    let job = Job {
        workers,
        specs: cluster::resolve(),
        keep_going: true,
        stop_on_violation: args.stop_on_violation,
        status: Some(Arc::new(move |status| told.hear(status))),
        ..Job::new(feeds)
    };
    let outcome = job.run();
    ended.store(true, Ordering::Release);
    let _ = ticker.join();
    let outcome = outcome.map_err(cluster::fault)?;
    for refused in listener.refused.lock().map(|refused| refused.clone()).unwrap_or_default() {
        crate::fault::say!("refused or broken: {refused}");
    }
    crate::fault::say!("{}", board.line());
    cluster::show_as(&args.spec, args.initial.as_deref(), args.json, &outcome)
}

/// What workers said last.
struct Board {
    started: Instant,
    streams: usize,
    workers: Mutex<BTreeMap<usize, Status>>,
    /// Rows by the last tick, and how many came a second since the one before.
    pace: Mutex<(Instant, u64, f64)>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Board {
    fn new(streams: usize, refused: Arc<Mutex<Vec<String>>>) -> Board {
        let now = Instant::now();
        Board { started: now, streams, workers: Mutex::default(), pace: Mutex::new((now, 0, 0.0)), refused }
    }

    fn hear(&self, status: &Status) {
        if let Ok(mut workers) = self.workers.lock() {
            workers.insert(status.worker, status.clone());
        }
    }

    /// All workers as one.
    fn all(&self) -> Status {
        let mut all = Status::default();
        let workers = self.workers.lock().map(|workers| workers.clone()).unwrap_or_default();
        for status in workers.into_values() {
            all.taken += status.taken;
            all.held += status.held;
            all.objects += status.objects;
            all.waiting += status.waiting;
            all.violations += status.violations;
            all.mark = [all.mark, status.mark].into_iter().flatten().min();
            let count = |hottest: &Option<(String, u64)>| hottest.as_ref().map_or(0, |(_, count)| *count);
            if count(&status.hottest) > count(&all.hottest) {
                all.hottest = status.hottest;
            }
        }
        all
    }

    /// Rows a second, of late.
    fn rate(&self, taken: u64) -> f64 {
        let Ok(mut pace) = self.pace.lock() else { return 0.0 };
        let elapsed = pace.0.elapsed().as_secs_f64();
        if elapsed > 0.5 {
            *pace = (Instant::now(), taken, taken.saturating_sub(pace.1) as f64 / elapsed);
        }
        pace.2
    }

    /// How far the watermark is behind, where stamps are nanoseconds of the clock on the wall.
    fn lag(mark: Option<i64>) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as i64;
        let behind = now.checked_sub(mark?)?;
        (0..86_400_000_000_000).contains(&behind).then(|| Duration::from_nanos(behind as u64))
    }

    fn line(&self) -> String {
        let all = self.all();
        let lag =
            Board::lag(all.mark).map_or(String::new(), |lag| format!("  lag {:.2} s", lag.as_secs_f64()));
        let verdict = match all.violations {
            0 => {
                let bound = confidence::error_rate(all.taken.saturating_sub(all.held), 0.95);
                format!("no violation; rates above {bound:.1e} are excluded at 95 %")
            }
            many => format!("{many} VIOLATED"),
        };
        let hot = all.hottest.filter(|(_, count)| all.objects > 1 && *count * 10 > all.taken);
        let hot = hot.map_or(String::new(), |(name, count)| {
            format!("  hot: {name} ({:.0} %)", 100.0 * count as f64 / all.taken.max(1) as f64)
        });
        format!(
            "{:.0}s  {} streams expected  {:.0} operations/s{lag}  {} operations  {} objects, {} wait  {verdict}{hot}",
            self.started.elapsed().as_secs_f64(),
            self.streams,
            self.rate(all.taken),
            all.taken,
            all.objects,
            all.waiting,
        )
    }

    fn page(&self) -> String {
        let refused = self.refused.lock().map(|refused| refused.join("\n")).unwrap_or_default();
        format!(
            "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2><title>Linpoint watch</title>\
             <style>body{{font:16px system-ui;margin:2em;color-scheme:light dark}}</style><h1>Linpoint watch</h1>\
             <p>{}</p><pre>{}</pre>",
            escape(&self.line()),
            escape(&refused)
        )
    }
}

/// Shows the line: over itself in a terminal, else every ten seconds.
fn tick(board: &Board, over: &AtomicBool) {
    let terminal = std::io::stderr().is_terminal();
    let mut last = Instant::now();
    while !over.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(100));
        let due = Duration::from_secs(if terminal { 1 } else { 10 });
        if last.elapsed() >= due {
            last = Instant::now();
            if terminal {
                crate::fault::say_on!("\r\x1b[K{}", board.line());
            } else {
                crate::fault::say!("{}", board.line());
            }
        }
    }
    if terminal {
        crate::fault::say_on!("\r\x1b[K");
    }
}

/// Serves the page until the process ends: GET only, one connection at a time.
fn serve(address: &str, board: Arc<Board>) -> Result<(), Fault> {
    let listener = TcpListener::bind(address).map_err(|error| {
        Fault::usage(format!("cannot serve the page at {address}: {error}"), "another --status")
    })?;
    // Whoever can reach the page can read it.
    if !listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
        return Err(Fault::usage(
            format!("--status {address}: the page has no token, so it is for this machine alone"),
            "an address such as 127.0.0.1:7201, and a tunnel to it",
        ));
    }
    if let Ok(address) = listener.local_addr() {
        crate::fault::say!("status at http://{address}/");
    }
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // Who misbehaves has the trouble.
            let _ = answer(&connection, &board);
        }
    });
    Ok(())
}

fn answer(mut connection: &TcpStream, board: &Board) -> std::io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    connection.set_write_timeout(Some(Duration::from_secs(1)))?;
    let mut reader = BufReader::new(connection.take(16 << 10));
    let (mut line, mut more) = (String::new(), String::new());
    reader.read_line(&mut line)?;
    while reader.read_line(&mut more)? > 2 {
        more.clear();
    }
    let (status, body) = if line.starts_with("GET / ") {
        ("200 OK", board.page())
    } else {
        ("404 Not Found", "there is /\n".to_owned())
    };
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
