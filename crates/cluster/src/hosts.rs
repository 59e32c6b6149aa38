//! The processes of a run, and how they find each other.
//!
//! A hosts file has one address a line, `name:port`; the line number is the host's number. Every host listens
//! at its own address and connects to those before it. Before Timely gets a connection, both sides say who
//! they are: what they speak, their version, their number, how many hosts and workers they expect, and the
//! run's token. A side that does not agree says why, to both.

use std::any::Any;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};
use thiserror::Error;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::communication::{Hooks, WorkerGuards};

/// What the hosts of a run speak.
const MAGIC: &[u8; 16] = b"linpoint-hosts-1";
/// How long after its time limit a run may take to come to an end on all hosts.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// Longest word of a greeting.
const LONGEST_GREETING: usize = 4096;

/// The hosts of a run.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Their addresses.
    pub addresses: Vec<String>,
    /// Which of them this is.
    pub own: usize,
    /// What all of them know.
    pub token: String,
    /// How long to wait for the others, at the start and when one falls silent.
    pub patience: Duration,
}

/// What hosts expect of each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Workers of each.
    pub workers: usize,
    /// Do they keep progress? Then they agree on where to go on before they begin, which one alone cannot.
    pub keeps_progress: bool,
}

/// Why hosts do not come together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HostsError {
    /// The file cannot be read.
    #[error("cannot read the hosts file {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// A line is no address.
    #[error("hosts file {path}, line {line}: `{text}` is no address; expected name:port")]
    Address {
        /// The file.
        path: String,
        /// The line.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// There is no such host.
    #[error("host {own} is not in the hosts file: it has {count} hosts, numbered from 0")]
    NoSuchHost {
        /// The number asked for.
        own: usize,
        /// How many there are.
        count: usize,
    },
    /// A token is needed.
    #[error(
        "address {address} is not of this machine alone, so the hosts need a shared token (--token FILE)"
    )]
    NoToken {
        /// The address.
        address: String,
    },
    /// The own address cannot be listened at.
    #[error("host {own} cannot listen at {address}: {error}")]
    Listen {
        /// The own number.
        own: usize,
        /// The own address.
        address: String,
        /// Why, such as a port in use.
        error: io::Error,
    },
    /// A host did not show up.
    #[error("host {host} ({address}) did not answer within {seconds} s: {error}")]
    Absent {
        /// Which.
        host: usize,
        /// Where.
        address: String,
        /// How long.
        seconds: u64,
        /// The last thing that went wrong.
        error: String,
    },
    /// A host does not agree.
    #[error("host {host} ({address}): {why}")]
    Disagrees {
        /// Which.
        host: String,
        /// Where.
        address: String,
        /// About what.
        why: String,
    },
}

/// Reads a hosts file: one address a line; `#` begins a comment.
pub fn read_hosts(path: &Path) -> Result<Vec<String>, HostsError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| HostsError::Unreadable { path: shown.clone(), error })?;
    let mut addresses = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let address = line.split('#').next().unwrap_or_default().trim();
        if address.is_empty() {
            continue;
        }
        let port = address
            .rsplit_once(':')
            .and_then(|(name, port)| port.parse::<u16>().ok().filter(|_| !name.is_empty()));
        if port.is_none_or(|port| port == 0) {
            let (line, text) = (number + 1, address.to_owned());
            return Err(HostsError::Address { path: shown, line, text });
        }
        addresses.push(address.to_owned());
    }
    if addresses.is_empty() {
        return Err(HostsError::Address { path: shown, line: 0, text: "nothing".to_owned() });
    }
    Ok(addresses)
}

/// Workers of one process alone.
pub(crate) fn alone(workers: usize) -> (Vec<AllocatorBuilder>, Box<dyn Any + Send>) {
    let hooks = Hooks::default();
    let builders = ProcessBuilder::new_typed_vector(workers, hooks.refill, hooks.spill);
    (builders.into_iter().map(AllocatorBuilder::Process).collect(), Box::new(()))
}

impl Hosts {
    /// Connects to all others.
    pub(crate) fn connect(
        &self,
        shape: Shape,
        deadline: Option<Instant>,
    ) -> Result<(Vec<AllocatorBuilder>, Box<dyn Any + Send>), HostsError> {
        let count = self.addresses.len();
        let own = self.own;
        let Some(address) = self.addresses.get(own) else {
            return Err(HostsError::NoSuchHost { own, count });
        };
        if self.token.is_empty()
            && let Some(address) = self.addresses.iter().find(|address| !is_loopback(address))
        {
            return Err(HostsError::NoToken { address: address.clone() });
        }
        let listener = TcpListener::bind(address.as_str()).map_err(|error| HostsError::Listen {
            own,
            address: address.clone(),
            error,
        })?;
        let end = Instant::now() + self.patience;
        let mut sockets: Vec<Option<TcpStream>> = Vec::new();
        for host in 0..own {
            sockets.push(Some(self.call(host, shape, end)?));
        }
        sockets.resize_with(count, || None);
        self.answer(&listener, shape, end, &mut sockets)?;
        let workers = shape.workers;
        for socket in sockets.iter().flatten() {
            self.guard(socket).map_err(|error| HostsError::Listen {
                own,
                address: address.clone(),
                error,
            })?;
        }
        let running = Arc::new(());
        if let Some(deadline) = deadline {
            hang_up_after(deadline + GRACE, &sockets, Arc::downgrade(&running));
        }
        let hooks = Hooks::default();
        let builders = ProcessBuilder::new_typed_vector(workers, hooks.refill.clone(), hooks.spill.clone());
        let (builders, guard) = initialize_networking_from_sockets(builders, sockets, own, workers, hooks)
            .map_err(|error| HostsError::Listen { own, address: address.clone(), error })?;
        watch_panics();
        Ok((builders.into_iter().map(AllocatorBuilder::Tcp).collect(), Box::new((guard, running))))
    }

    /// A host that is cut off says nothing, not even that it is gone: after the patience without a sign of
    /// life its connections count as broken. A shorter cut loses nothing.
    fn guard(&self, socket: &TcpStream) -> io::Result<()> {
        let every = (self.patience / 4).max(Duration::from_secs(1));
        let alive = TcpKeepalive::new().with_time(every).with_interval(every);
        let socket = SockRef::from(socket);
        socket.set_tcp_keepalive(&alive)?;
        #[cfg(target_os = "linux")]
        socket.set_tcp_user_timeout(Some(self.patience))?;
        Ok(())
    }

    fn greeting(&self, shape: Shape) -> Vec<String> {
        let progress = if shape.keeps_progress { ", with --progress" } else { "" };
        let shape = format!("{} hosts of {} workers{progress}", self.addresses.len(), shape.workers);
        vec![version(), self.own.to_string(), shape, self.token.clone()]
    }

    /// Connects to a host before this one.
    fn call(&self, host: usize, shape: Shape, end: Instant) -> Result<TcpStream, HostsError> {
        let address = &self.addresses[host];
        let absent = |error: String| HostsError::Absent {
            host,
            address: address.clone(),
            seconds: self.patience.as_secs(),
            error,
        };
        loop {
            match TcpStream::connect(address.as_str()) {
                Ok(mut stream) => {
                    let said = exchange(&mut stream, &self.greeting(shape))
                        .map_err(|error| absent(error.to_string()))?;
                    let host = host.to_string();
                    let why = if said.first().is_some_and(|word| word == "no") {
                        said.get(1).cloned()
                    } else {
                        self.objection(&said, shape)
                    };
                    match why {
                        Some(why) => {
                            return Err(HostsError::Disagrees { host, address: address.clone(), why });
                        }
                        None => return Ok(stream),
                    }
                }
                Err(error) if Instant::now() > end => return Err(absent(error.to_string())),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Waits for the hosts behind this one. Somebody who is none of them is sent away, and does no harm.
    fn answer(
        &self,
        listener: &TcpListener,
        shape: Shape,
        end: Instant,
        sockets: &mut [Option<TcpStream>],
    ) -> Result<(), HostsError> {
        let own = self.own;
        let failed = |error| HostsError::Listen { own, address: self.addresses[own].clone(), error };
        listener.set_nonblocking(true).map_err(failed)?;
        let mut last = String::from("nobody called");
        while let Some(missing) = (own + 1..sockets.len()).find(|&host| sockets[host].is_none()) {
            if Instant::now() > end {
                let (host, address) = (missing, self.addresses[missing].clone());
                return Err(HostsError::Absent {
                    host,
                    address,
                    seconds: self.patience.as_secs(),
                    error: last,
                });
            }
            let (mut stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                Err(error) => return Err(failed(error)),
            };
            let heard = stream.set_nonblocking(false).and_then(|()| hear(&mut stream));
            let said = match heard {
                Ok(said) => said,
                Err(error) => {
                    last = format!("{from} spoke something else: {error}");
                    continue;
                }
            };
            let host = said.get(1).and_then(|host| host.parse::<usize>().ok());
            let why = self.objection(&said, shape);
            match (why, host.filter(|&host| host > own && host < sockets.len())) {
                (None, Some(host)) => {
                    let _ = say(&mut stream, &self.greeting(shape));
                    sockets[host] = Some(stream);
                }
                (why, host) => {
                    let why = why.unwrap_or_else(|| "no host with this number is waited for".to_owned());
                    let _ = say(&mut stream, &["no".to_owned(), why.clone()]);
                    let host = host.map_or("?".to_owned(), |host| host.to_string());
                    // A token that is wrong is a stranger's; the rest are mistakes of ours that waiting does
                    // not mend.
                    if why == WRONG_TOKEN {
                        last = format!("{from} has a wrong token");
                        continue;
                    }
                    return Err(HostsError::Disagrees { host, address: from.to_string(), why });
                }
            }
        }
        Ok(())
    }

    /// What is wrong with a greeting.
    fn objection(&self, said: &[String], shape: Shape) -> Option<String> {
        let own = self.greeting(shape);
        let [version, _, expected, token] = said else { return Some("it speaks something else".to_owned()) };
        if *version != own[0] {
            return Some(format!("versions differ: {version} there, {} here", own[0]));
        }
        if *token != own[3] {
            return Some(WRONG_TOKEN.to_owned());
        }
        (*expected != own[2]).then(|| format!("it expects {expected}, this one {}", own[2]))
    }
}

/// Breaks all connections then, unless the run has ended: a host that hangs would hold up the others for
/// ever.
fn hang_up_after(then: Instant, sockets: &[Option<TcpStream>], running: Weak<()>) {
    let handles: Vec<TcpStream> =
        sockets.iter().flatten().filter_map(|socket| socket.try_clone().ok()).collect();
    let wait = move || {
        while Instant::now() < then {
            std::thread::sleep(Duration::from_millis(100));
            if running.strong_count() == 0 {
                return;
            }
        }
        for handle in &handles {
            let _ = handle.shutdown(std::net::Shutdown::Both);
        }
    };
    // Without it a limit is only kept by hosts that answer.
    let _ = std::thread::Builder::new().name("linpoint-limit".to_owned()).spawn(wait);
}

/// What hosts must have in common. What travels has a version of its own: it changes between two that are
/// published.
pub fn version() -> String {
    format!("{}, wire {}", env!("CARGO_PKG_VERSION"), crate::wire::VERSION)
}

const WRONG_TOKEN: &str = "its token is another one";

fn is_loopback(address: &str) -> bool {
    address.to_socket_addrs().is_ok_and(|mut found| found.all(|address| address.ip().is_loopback()))
}

fn exchange(stream: &mut TcpStream, words: &[String]) -> io::Result<Vec<String>> {
    say(stream, words)?;
    hear(stream)
}

fn say(stream: &mut TcpStream, words: &[String]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = MAGIC.to_vec();
    bytes.push(words.len() as u8);
    for word in words {
        bytes.extend_from_slice(&(word.len() as u16).to_le_bytes());
        bytes.extend_from_slice(word.as_bytes());
    }
    stream.write_all(&bytes)
}

fn hear(stream: &mut TcpStream) -> io::Result<Vec<String>> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut head = [0; MAGIC.len() + 1];
    stream.read_exact(&mut head)?;
    if head[..MAGIC.len()] != MAGIC[..] {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no host of linpoint"));
    }
    let mut words = Vec::new();
    for _ in 0..head[MAGIC.len()] {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let length = usize::from(u16::from_le_bytes(length));
        if length > LONGEST_GREETING {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a word is too long"));
        }
        let mut word = vec![0; length];
        stream.read_exact(&mut word)?;
        let word = String::from_utf8(word);
        words.push(word.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a word is not text"))?);
    }
    stream.set_read_timeout(None)?;
    Ok(words)
}

/// What Timely's threads said when they panicked: that is how it tells of a connection that broke.
static BROKEN: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Keeps what threads of Timely say when they panic, instead of printing it.
fn watch_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let thread = std::thread::current().name().unwrap_or_default().to_owned();
            if !thread.starts_with("timely:") {
                return before(info);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
            if let Ok(mut broken) = BROKEN.lock() {
                broken.push((thread, text.unwrap_or_default()));
            }
        }));
    });
}

/// Waits for the workers; names the host that went away, if one did.
pub(crate) fn joined<T: Send + 'static>(
    guards: WorkerGuards<T>,
    hosts: Option<&Hosts>,
) -> Result<Vec<T>, String> {
    let finish = || guards.join();
    // Timely joins its threads when this goes, and panics if one of them did.
    let results = std::panic::catch_unwind(std::panic::AssertUnwindSafe(finish));
    let broken = BROKEN.lock().map(|broken| broken.clone()).unwrap_or_default();
    let host_of = |thread: &str| thread.rsplit_once('-').and_then(|(_, host)| host.parse::<usize>().ok());
    let network = broken.iter().find(|(_, text)| text.contains("timely communication error"));
    let why = match (network, hosts) {
        (Some((thread, text)), Some(hosts)) => {
            let host = host_of(thread).unwrap_or_default();
            let address = hosts.addresses.get(host).cloned().unwrap_or_default();
            let text = text.rsplit("error: ").next().unwrap_or_default();
            format!("host {host} ({address}) went away: {text}")
        }
        _ => broken
            .first()
            .map_or("a worker panicked".to_owned(), |(thread, text)| format!("{thread}: {text}")),
    };
    match results {
        Ok(results) => results.into_iter().collect::<Result<Vec<T>, String>>().map_err(|_| why),
        Err(_) => Err(why),
    }
}
