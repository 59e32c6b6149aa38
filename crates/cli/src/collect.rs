//! `linpoint collect`: clients of a real store that record what they did, with faults on the way.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use linpoint_cluster::collect::postgres::{Login, Postgres};
use linpoint_cluster::collect::{Dial, Plan, Recording, etcd::Etcd, redis::Redis};
use linpoint_cluster::live::Sender;
use linpoint_history::formats::{self, Format};
use linpoint_history::rng::Rng;
use linpoint_history::{Spec, specs};

use crate::args::duration;
use crate::cluster;
use crate::fault::{Exit, Fault};

/// What `collect` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint collect redis --address 127.0.0.1:6379 --clients 3 --operations 100000 --out h.bin
  linpoint collect redis --address 127.0.0.1:7001 --server 'redis-server --port 7001 --appendonly yes --appendfsync always' \\
      --faults kill,pause --to 127.0.0.1:7200 --token token.txt
  linpoint check h.bin --spec kv

Keys begin with `linpoint:`, are of this run alone, and are not removed. An operation without an answer is recorded as pending.")]
pub struct CollectArgs {
    /// Which store
    #[arg(value_enum)]
    pub store: StoreArg,
    /// Where it listens; several, separated by commas, are used in turn
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', required = true)]
    pub address: Vec<String>,
    /// The role to log in as (PostgreSQL)
    #[arg(long, value_name = "NAME", default_value = "postgres")]
    pub user: String,
    /// A file with its password (PostgreSQL)
    #[arg(long, value_name = "FILE")]
    pub password: Option<PathBuf>,
    /// The database (PostgreSQL)
    #[arg(long, value_name = "NAME", default_value = "postgres")]
    pub database: String,
    /// Clients at the same time
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub clients: u32,
    /// Operations in all
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub operations: u64,
    /// Keys they use
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub keys: u32,
    /// The share of writes
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub writes: f64,
    /// At most so many operations a second
    #[arg(long, value_name = "N")]
    pub rate: Option<u64>,
    /// Names the choice of operations
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// How long to wait for an answer
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "500ms")]
    pub timeout: Duration,
    /// The file to write
    #[arg(long, value_name = "FILE", required_unless_present = "to")]
    pub out: Option<PathBuf>,
    /// Send what is recorded to `linpoint watch` at this address
    #[arg(long, value_name = "ADDRESS", requires = "token")]
    pub to: Option<String>,
    /// A file with the token of the watch
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// What keys begin with; those who record together must have the same, and a --seed each; of this run
    /// alone if not given
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prefix: Option<String>,
    /// What this stream is called
    #[arg(long, value_name = "NAME", default_value = "collect")]
    pub name: String,
    /// The command that starts the store; it is run, and stopped at the end
    #[arg(long, value_name = "COMMAND")]
    pub server: Option<String>,
    /// What goes wrong on the way: `kill` (kill -9 and start again) and `pause` (stopped for a while) need
    /// --server, `cut` needs --cut and --heal
    #[arg(long, value_enum, value_delimiter = ',')]
    pub faults: Vec<FaultArg>,
    /// The time between two faults
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2s")]
    pub fault_every: Duration,
    /// The command that cuts the store off, such as `ip link set veth0 down`
    #[arg(long, value_name = "COMMAND", requires = "heal")]
    pub cut: Option<String>,
    /// The command that heals the cut
    #[arg(long, value_name = "COMMAND", requires = "cut")]
    pub heal: Option<String>,
}

/// The stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreArg {
    /// Redis: SET and GET
    Redis,
    /// etcd: put and range over its JSON gateway
    Etcd,
    /// PostgreSQL: one row a key of the table `linpoint`, which is made if it is not there
    Postgres,
}

/// The faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FaultArg {
    /// kill -9, and start again
    Kill,
    /// Stopped for a while
    Pause,
    /// Cut off for a while
    Cut,
}

/// Runs the command.
pub fn run(args: &CollectArgs) -> Result<Exit, Fault> {
    let needs_server = args.faults.iter().any(|fault| *fault != FaultArg::Cut);
    if needs_server && args.server.is_none() {
        return Err(Fault::usage(
            "--faults kill and pause need --server",
            "the command that starts the store",
        ));
    }
    if args.faults.contains(&FaultArg::Cut) && args.cut.is_none() {
        return Err(Fault::usage(
            "--faults cut needs --cut and --heal",
            "commands that cut the store off and heal it",
        ));
    }
    let token = cluster::token(args.token.as_deref())?;
    let dial = dial(args)?;
    let spec = specs::parse("kv").map_err(|error| Fault::usage(error.to_string(), ""))?;
    let mut sender = match &args.to {
        Some(address) => {
            let patience = Duration::from_secs(60);
            let made = Sender::connect(address, &token, &args.name, "kv", spec.signature(), patience);
            Some(made.map_err(|error| Fault::usage(format!("cannot stream to {address}: {error}"), ""))?)
        }
        None => None,
    };
    let mut server = args.server.as_deref().map(Server::start).transpose()?;
    wait_for(args, &dial, server.as_mut())?;
    let plan = Plan {
        clients: args.clients.max(1),
        operations: args.operations,
        keys: args.keys,
        writes: args.writes,
        seed: args.seed,
        name: format!("{}/", args.name),
        prefix: args.prefix.clone().unwrap_or_else(own_prefix),
        rate: args.rate,
    };
    let over = Arc::new(AtomicBool::new(false));
    let breaker = breaker(args, server, &over);
    let mut recording = Recording::start(&plan, &dial);
    let (mut all, mut last) = (Vec::new(), false);
    let mut failed = None;
    while !last && failed.is_none() {
        std::thread::sleep(Duration::from_millis(20));
        let taken = recording.take();
        last = taken.last;
        if let Some(sender) = &mut sender {
            let symbols = recording.symbols.lock().map(|symbols| symbols.clone()).unwrap_or_default();
            let floor = taken.floor.min(i64::MAX - 1);
            failed = sender.send(taken.rows.clone(), &symbols, floor).err();
        }
        if args.out.is_some() {
            all.extend(taken.rows);
        }
    }
    over.store(true, Ordering::Release);
    let faults = breaker.join().unwrap_or_default();
    let done = recording.done();
    if let Some(error) = failed.or_else(|| sender.and_then(|sender| sender.finish().err())) {
        return Err(Fault::usage(format!("the stream broke: {error}"), ""));
    }
    crate::fault::say!("{done} operations of {} clients; faults: {faults}", plan.clients);
    if let Some(path) = &args.out {
        let symbols = recording.symbols.lock().map(|symbols| symbols.clone()).unwrap_or_default();
        let history = Recording::history(all, symbols);
        let ending = path.extension().and_then(|ending| ending.to_str()).and_then(Format::find);
        let write = || {
            let mut out = BufWriter::new(File::create(path)?);
            formats::write(ending.unwrap_or(Format::Binary), &history, spec.signature(), &mut out)?;
            out.flush()
        };
        write().map_err(|error| Fault::Output(path.clone(), error))?;
    }
    Ok(Exit::Holds)
}

/// Keys that no earlier run used.
fn own_prefix() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("linpoint:{}:{since}:", std::process::id())
}

fn dial(args: &CollectArgs) -> Result<Dial, Fault> {
    let (store, addresses, timeout) = (args.store, args.address.clone(), args.timeout);
    let password = match &args.password {
        Some(path) => cluster::secret("password", path)?,
        None => String::new(),
    };
    let login = Login { user: args.user.clone(), password, database: args.database.clone() };
    let turn = std::sync::atomic::AtomicUsize::new(0);
    Ok(Arc::new(move || {
        let address = &addresses[turn.fetch_add(1, Ordering::Relaxed) % addresses.len()];
        Ok(match store {
            StoreArg::Redis => Box::new(Redis::connect(address, timeout)?),
            StoreArg::Etcd => Box::new(Etcd::connect(address, timeout)?),
            StoreArg::Postgres => Box::new(Postgres::connect(address, &login, timeout)?),
        })
    }))
}

/// Waits until the store answers.
fn wait_for(args: &CollectArgs, dial: &Dial, mut server: Option<&mut Server>) -> Result<(), Fault> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let tried = dial().and_then(|mut store| {
            store.get("linpoint").map_err(|trouble| std::io::Error::other(format!("{trouble:?}")))
        });
        let ended = server.as_mut().and_then(|server| server.child.try_wait().ok().flatten());
        match tried {
            Ok(_) if ended.is_none() => return Ok(()),
            _ if ended.is_some() => {
                let status = ended.map(|status| status.to_string()).unwrap_or_default();
                let command = args.server.as_deref().unwrap_or_default();
                return Err(Fault::usage(
                    format!("the store that `{command}` starts has ended: {status}"),
                    "a command that stays, and an address that nobody else has; try it in a terminal",
                ));
            }
            Ok(_) => {}
            Err(error) if Instant::now() > end => {
                let message = format!("no store answers at {}: {error}", args.address.join(", "));
                return Err(Fault::usage(message, "the address of a store that runs"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// A store that was started here.
struct Server {
    command: String,
    child: Child,
}

impl Server {
    fn start(command: &str) -> Result<Server, Fault> {
        let child =
            spawn(command).map_err(|error| Fault::usage(format!("cannot start `{command}`: {error}"), ""))?;
        Ok(Server { command: command.to_owned(), child })
    }

    /// Sends a signal to the store and to all that it started: some stores are many processes.
    fn signal(&self, signal: &str) {
        let mut all = vec![self.child.id()];
        let mut next = 0;
        while let Some(&parent) = all.get(next) {
            all.extend(children(parent));
            next += 1;
        }
        let ids = all.iter().map(u32::to_string);
        let _ = Command::new("kill").arg(signal).args(ids).stderr(Stdio::null()).status();
    }

    fn kill(&mut self) {
        self.signal("-KILL");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again if it has ended: it may find what the last one left behind in its way, for a while.
    fn revive(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_)))
            && let Ok(child) = spawn(&self.command)
        {
            self.child = child;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The processes that a process started; none where the system does not say.
fn children(parent: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let listed = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children")).ok();
    let texts: Vec<String> = threads.filter_map(Result::ok).filter_map(listed).collect();
    texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

fn spawn(command: &str) -> std::io::Result<Child> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Breaks things now and then, until it is over; what it did.
fn breaker(
    args: &CollectArgs,
    server: Option<Server>,
    over: &Arc<AtomicBool>,
) -> std::thread::JoinHandle<String> {
    let (faults, every) = (args.faults.clone(), args.fault_every);
    let (cut, heal) = (args.cut.clone(), args.heal.clone());
    let over = Arc::clone(over);
    let mut rng = Rng::new(args.seed);
    std::thread::spawn(move || {
        let mut server = server;
        let (mut kills, mut pauses, mut cuts) = (0, 0, 0);
        let sleep = |time: Duration| {
            let end = Instant::now() + time;
            while Instant::now() < end && !over.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        while !over.load(Ordering::Acquire) {
            let end = Instant::now() + every;
            while Instant::now() < end && !over.load(Ordering::Acquire) {
                sleep(Duration::from_millis(100).min(every));
                server.iter_mut().for_each(Server::revive);
            }
            if over.load(Ordering::Acquire) || faults.is_empty() {
                continue;
            }
            match (*rng.pick(&faults), &mut server) {
                (FaultArg::Kill, Some(server)) => {
                    server.kill();
                    sleep(Duration::from_millis(200));
                    server.revive();
                    kills += 1;
                }
                (FaultArg::Pause, Some(server)) => {
                    server.signal("-STOP");
                    sleep(Duration::from_millis(700));
                    server.signal("-CONT");
                    pauses += 1;
                }
                (FaultArg::Cut, _) => {
                    let shell = |command: &Option<String>| {
                        command.as_ref().map(|command| Command::new("sh").args(["-c", command]).status())
                    };
                    shell(&cut);
                    sleep(Duration::from_millis(1500));
                    shell(&heal);
                    cuts += 1;
                }
                _ => {}
            }
        }
        format!("{kills} kills, {pauses} pauses, {cuts} cuts")
    })
}
