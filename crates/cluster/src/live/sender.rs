//! The side that sends a stream.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linpoint_history::formats::{self, Format};
use linpoint_history::{History, Operation, Signature, Symbols};

use super::{frame, hear, say};

/// Bytes kept for a connection that may come back; with more, sending waits.
const KEPT: usize = 64 << 20;

/// Sends rows to whoever watches. A connection that breaks is made again, and nothing is lost, as long as it
/// comes back within the patience.
pub struct Sender {
    address: String,
    greeting: [String; 5],
    signature: Signature,
    stream: Option<TcpStream>,
    /// Frames not acknowledged yet, with their numbers.
    unheard: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    next: u64,
    patience: Duration,
    tried: Option<Instant>,
    broken: Option<Instant>,
}

impl Sender {
    /// Connects as source `name` of `spec`.
    pub fn connect(
        address: &str,
        token: &str,
        name: &str,
        spec: &str,
        signature: &Signature,
        patience: Duration,
    ) -> io::Result<Sender> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut sender = Sender {
            address: address.to_owned(),
            greeting: [version, token.to_owned(), name.to_owned(), spec.to_owned(), life()],
            signature: signature.clone(),
            stream: None,
            unheard: VecDeque::new(),
            bytes: 0,
            next: 0,
            patience,
            tried: None,
            broken: None,
        };
        sender.dial()?;
        Ok(sender)
    }

    /// Sends rows, in order of return as far as they are complete; nothing that comes later was called before
    /// `floor`.
    pub fn send(&mut self, rows: Vec<Operation>, symbols: &Symbols, floor: i64) -> io::Result<()> {
        let mut bytes = Vec::new();
        if !rows.is_empty() {
            // Names are sent again with every frame: frames are few, and each can be read alone.
            let history = History { operations: rows, symbols: symbols.clone() };
            formats::write(Format::Binary, &history, &self.signature, &mut bytes)?;
        }
        self.queue(b'R', floor, &bytes)
    }

    /// Says that this was all, and waits until it was heard.
    pub fn finish(mut self) -> io::Result<()> {
        self.queue(b'E', i64::MAX, &[])?;
        while !self.unheard.is_empty() {
            self.listen(Duration::from_millis(100))?;
        }
        Ok(())
    }

    fn queue(&mut self, kind: u8, floor: i64, rows: &[u8]) -> io::Result<()> {
        let bytes = frame(kind, self.next, floor, rows);
        self.bytes += bytes.len();
        self.unheard.push_back((self.next, bytes));
        self.next += 1;
        let sent = match (&mut self.stream, self.unheard.back()) {
            (Some(stream), Some((_, bytes))) => stream.write_all(bytes),
            _ => Ok(()),
        };
        if sent.is_err() {
            self.lose();
        }
        self.listen(Duration::from_millis(1))?;
        while self.bytes > KEPT {
            self.listen(Duration::from_millis(100))?;
        }
        Ok(())
    }

    fn lose(&mut self) {
        self.stream = None;
        self.broken.get_or_insert_with(Instant::now);
    }

    /// Takes acknowledgements that have come, for so long; connects again if need be.
    fn listen(&mut self, wait: Duration) -> io::Result<()> {
        if self.stream.is_none() {
            let soon = self.tried.is_some_and(|tried| tried.elapsed() < Duration::from_millis(100));
            if soon {
                std::thread::sleep(wait);
            } else if let Err(error) = self.dial() {
                let refused = error.kind() == io::ErrorKind::PermissionDenied;
                if refused || self.broken.is_some_and(|since| since.elapsed() > self.patience) {
                    return Err(error);
                }
            }
            return Ok(());
        }
        let Some(stream) = &mut self.stream else { return Ok(()) };
        stream.set_read_timeout(Some(wait.max(Duration::from_millis(1))))?;
        let mut number = [0; 8];
        loop {
            match stream.read_exact(&mut number) {
                Ok(()) => {
                    let heard = u64::from_le_bytes(number);
                    while self.unheard.front().is_some_and(|(number, _)| *number <= heard) {
                        if let Some((_, bytes)) = self.unheard.pop_front() {
                            self.bytes -= bytes.len();
                        }
                    }
                    if self.unheard.is_empty() {
                        return Ok(());
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(());
                }
                Err(_) => {
                    self.lose();
                    return Ok(());
                }
            }
        }
    }

    /// Connects, says who it is, and sends again what was not heard.
    fn dial(&mut self) -> io::Result<()> {
        self.tried = Some(Instant::now());
        let mut last = io::Error::other("no such address");
        for address in std::net::ToSocketAddrs::to_socket_addrs(self.address.as_str())? {
            match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
                Ok(stream) => return self.greet(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn greet(&mut self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(super::GREETING))?;
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        let words: Vec<&str> = self.greeting.iter().map(String::as_str).collect();
        say(&mut stream, &words)?;
        let said = hear(&mut stream)?;
        let wanted = match &said[..] {
            [yes, next] if yes == "yes" => next.parse::<u64>().ok(),
            [_, why] => {
                let why = format!("{} refuses this stream: {why}", self.address);
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "it speaks something else")),
        };
        // What is wanted next must be here, or be the next to come.
        let first = self.unheard.front().map_or(self.next, |(number, _)| *number);
        let Some(wanted) = wanted.filter(|wanted| (first..=self.next).contains(wanted)) else {
            let why = format!("{} asks for a frame that is not here", self.address);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        };
        while self.unheard.front().is_some_and(|(number, _)| *number < wanted) {
            if let Some((_, bytes)) = self.unheard.pop_front() {
                self.bytes -= bytes.len();
            }
        }
        for (_, bytes) in &self.unheard {
            stream.write_all(bytes)?;
        }
        self.stream = Some(stream);
        self.broken = None;
        Ok(())
    }
}

/// A word that no other sender says.
fn life() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}.{since}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
