//! Streams over TCP: those who record operations send them while they happen.
//!
//! A stream begins with a greeting (what is spoken, the version, the token, the source's name, its
//! specification) and goes on in *frames*: a length of at most [`LONGEST`], a checksum, a number, a floor,
//! and rows in the native binary form. Every frame is acknowledged when it was taken; a sender that lost its
//! connection comes back, says who it is, hears which frame is wanted next and sends again from there. So a
//! cut connection loses nothing, and while it lasts the floor stands still and with it the watermark: what is
//! not known is not judged.
//!
//! **Lives.** A sender says with its name which *life* of that name it is, a word of its own. The same life
//! may come back, and takes the place of a connection that only this side still believes in. Another life
//! under a known name is refused: what the first had recorded and not sent died with it, and frames of the
//! two must never be taken for one another.
//!
//! [`Listener`] takes streams in, [`LiveFeed`] hands them to a worker, [`Sender`] is the other side.

mod feed;
mod sender;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use feed::LiveFeed;
pub use sender::Sender;

const MAGIC: &[u8; 16] = b"linpoint-stream1";
/// Most bytes of a frame.
pub const LONGEST: usize = 16 << 20;
/// Frames that wait for a worker; a stream with more has to wait itself.
const WAITING: usize = 64;
/// How long a greeting may take.
const GREETING: Duration = Duration::from_secs(5);

/// What a listener takes in.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What senders must know.
    pub token: String,
    /// The specification that all streams are of.
    pub spec: String,
    /// How many streams there will be.
    pub streams: usize,
}

/// Something that happened to a stream.
pub(crate) enum Message {
    /// It connected, again perhaps.
    Here(String),
    /// A frame with rows, or none, and the floor after it.
    Frame { floor: i64, rows: Vec<u8> },
    /// It ended as it should.
    End,
    /// The connection broke.
    Gone(String),
}

/// A stream that showed up.
struct Slot {
    /// Its place among the sources.
    place: usize,
    /// Which life of its name it is.
    life: String,
    /// Its newest connection, and which one that is.
    connection: Option<TcpStream>,
    turn: u64,
}

/// Takes in streams.
pub struct Listener {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// What went wrong with those who called.
    pub refused: Arc<Mutex<Vec<String>>>,
    feeds: Vec<Receiver<Message>>,
}

impl Listener {
    /// Listens at `address` for as many streams as the terms say.
    pub fn bind(address: &str, terms: &Terms) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (mut senders, mut feeds) = (Vec::new(), Vec::new());
        for _ in 0..terms.streams {
            let (sender, receiver) = sync_channel(WAITING);
            senders.push(sender);
            feeds.push(receiver);
        }
        let intakes =
            senders.into_iter().map(|sender| Mutex::new(Intake { sender, next: 0, turn: 0 })).collect();
        let shared = Arc::new(Shared { terms: terms.clone(), slots: Mutex::default(), intakes });
        let stop = Arc::new(AtomicBool::new(false));
        let refused: Arc<Mutex<Vec<String>>> = Arc::default();
        let (stopped, complaints) = (Arc::clone(&stop), Arc::clone(&refused));
        std::thread::Builder::new().name("linpoint-listen".to_owned()).spawn(move || {
            for connection in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    break;
                }
                let Ok(stream) = connection else { continue };
                let (shared, complaints) = (Arc::clone(&shared), Arc::clone(&complaints));
                let handle = move || {
                    let from = stream.peer_addr().map_or("?".to_owned(), |address| address.to_string());
                    if let Err(why) = shared.serve(stream)
                        && let Ok(mut complaints) = complaints.lock()
                    {
                        complaints.push(format!("{from}: {why}"));
                    }
                };
                let _ = std::thread::Builder::new().name("linpoint-stream".to_owned()).spawn(handle);
            }
        })?;
        Ok(Listener { address, stop, refused, feeds })
    }

    /// Where.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The streams as sources: lost after `patience` without a connection.
    pub fn feeds(&mut self, spec: &linpoint_history::Builtin, patience: Duration) -> Vec<LiveFeed> {
        self.feeds.drain(..).map(|receiver| LiveFeed::new(receiver, spec.clone(), patience)).collect()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(200));
    }
}

struct Shared {
    terms: Terms,
    /// Streams by their names.
    slots: Mutex<HashMap<String, Slot>>,
    intakes: Vec<Mutex<Intake>>,
}

/// Where the frames of a stream go. It is locked while one is taken, so that no frame is taken twice where
/// two connections of one stream meet.
struct Intake {
    sender: SyncSender<Message>,
    /// The number of the next frame wanted.
    next: u64,
    /// The connection that frames are taken from.
    turn: u64,
}

impl Shared {
    /// One connection, from its greeting to its end; what was wrong with it.
    fn serve(&self, mut stream: TcpStream) -> Result<(), String> {
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(GREETING)))
            .map_err(|e| e.to_string())?;
        let (place, turn) = match self.greet(&mut stream) {
            Ok(found) => found,
            Err(why) => {
                let _ = say(&mut stream, &["no", &why]);
                return Err(why);
            }
        };
        let _ = stream.set_read_timeout(None);
        let ended = self.frames(&mut stream, place, turn);
        // A handle of it is kept for those who come after, so it is not closed by being dropped.
        let _ = stream.shutdown(std::net::Shutdown::Both);
        ended.inspect_err(|why| {
            if let Ok(intake) = self.intakes[place].lock()
                && intake.turn == turn
            {
                let _ = intake.sender.send(Message::Gone(why.clone()));
            }
        })
    }

    /// Hears who it is: the place of the stream, and which connection of it this is.
    fn greet(&self, stream: &mut TcpStream) -> Result<(usize, u64), String> {
        let words = hear(stream).map_err(|error| format!("no greeting of a stream: {error}"))?;
        let [version, token, name, spec, life] = &words[..] else {
            return Err("a greeting of five words is expected".to_owned());
        };
        let own = env!("CARGO_PKG_VERSION");
        if version != own {
            return Err(format!("versions differ: {version} there, {own} here"));
        }
        if *token != self.terms.token {
            return Err("its token is another one".to_owned());
        }
        if *spec != self.terms.spec {
            return Err(format!("stream {name} is of `{spec}`, and `{}` is watched", self.terms.spec));
        }
        let ours = |_| "a mistake of ours".to_owned();
        let (place, turn) = {
            let mut slots = self.slots.lock().map_err(|_| ours(()))?;
            let count = slots.len();
            if !slots.contains_key(name) && count >= self.terms.streams {
                return Err(format!("stream {name} is one too many: {} are expected", self.terms.streams));
            }
            let slot = slots.entry(name.clone()).or_insert_with(|| Slot {
                place: count,
                life: life.clone(),
                connection: None,
                turn: 0,
            });
            if slot.life != *life {
                return Err(format!(
                    "stream {name} was here before, sent by another process: what that one had not sent is lost, and this one cannot go on for it"
                ));
            }
            // Whatever connection there was, its sender has given it up.
            if let Some(old) = slot.connection.take() {
                let _ = old.shutdown(std::net::Shutdown::Both);
            }
            slot.connection = stream.try_clone().ok();
            slot.turn += 1;
            (slot.place, slot.turn)
        };
        let mut intake = self.intakes[place].lock().map_err(|_| ours(()))?;
        intake.turn = intake.turn.max(turn);
        let _ = intake.sender.send(Message::Here(name.clone()));
        say(stream, &["yes", &intake.next.to_string()]).map_err(|error| error.to_string())?;
        Ok((place, turn))
    }

    fn frames(&self, stream: &mut TcpStream, place: usize, turn: u64) -> Result<(), String> {
        loop {
            let frame = read_frame(stream).map_err(|error| error.to_string())?;
            let Some((&kind, mut rest)) = frame.split_first() else {
                return Err("an empty frame".to_owned());
            };
            let number = crate::wire::take::<8>(&mut rest).map(|bytes| u64::from_le_bytes(*bytes));
            let floor = crate::wire::take::<8>(&mut rest).map(|bytes| i64::from_le_bytes(*bytes));
            let (Some(number), Some(floor)) = (number, floor) else { return Err("a torn frame".to_owned()) };
            let message = match kind {
                b'R' => Message::Frame { floor, rows: rest.to_vec() },
                b'E' => Message::End,
                other => return Err(format!("a frame of an unknown kind, {other}")),
            };
            let mut intake = self.intakes[place].lock().map_err(|_| "a mistake of ours".to_owned())?;
            if intake.turn != turn {
                return Err("a newer connection of the same stream took its place".to_owned());
            }
            if number > intake.next {
                return Err(format!("frame {number} came where {} is wanted", intake.next));
            }
            if number == intake.next {
                // Waits while the worker has enough: that is felt by the sender.
                intake.sender.send(message).map_err(|_| "the run has ended".to_owned())?;
                intake.next += 1;
            }
            drop(intake);
            stream.write_all(&number.to_le_bytes()).map_err(|error| error.to_string())?;
            if kind == b'E' {
                return Ok(());
            }
        }
    }
}

/// Writes a greeting.
fn say(stream: &mut TcpStream, words: &[&str]) -> io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    bytes.push(words.len() as u8);
    for word in words {
        bytes.extend_from_slice(&(word.len() as u16).to_le_bytes());
        bytes.extend_from_slice(word.as_bytes());
    }
    stream.write_all(&bytes)
}

/// Reads a greeting of at most eight words.
fn hear(stream: &mut TcpStream) -> io::Result<Vec<String>> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut head = [0; MAGIC.len() + 1];
    stream.read_exact(&mut head)?;
    if head[..MAGIC.len()] != MAGIC[..] {
        return Err(wrong("it begins with something else"));
    }
    if head[MAGIC.len()] > 8 {
        return Err(wrong("too many words"));
    }
    let mut words = Vec::new();
    for _ in 0..head[MAGIC.len()] {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let length = usize::from(u16::from_le_bytes(length));
        if length > 4096 {
            return Err(wrong("a word is too long"));
        }
        let mut word = vec![0; length];
        stream.read_exact(&mut word)?;
        words.push(String::from_utf8(word).map_err(|_| wrong("a word is not text"))?);
    }
    Ok(words)
}

/// Reads a frame whose checksum is right.
fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut head = [0; 8];
    stream.read_exact(&mut head).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong("the connection was closed before the stream's end".to_owned()),
        _ => error,
    })?;
    let [a, b, c, d, sum @ ..] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > LONGEST {
        return Err(wrong(format!("a frame of {length} bytes: at most {LONGEST} are taken")));
    }
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            wrong("a torn frame: the connection was closed in its middle".to_owned())
        }
        _ => error,
    })?;
    if crc32fast::hash(&frame).to_le_bytes() != sum {
        return Err(wrong("a damaged frame: its checksum is wrong".to_owned()));
    }
    Ok(frame)
}

/// A frame, ready to be sent.
fn frame(kind: u8, number: u64, floor: i64, rows: &[u8]) -> Vec<u8> {
    let mut inner = Vec::with_capacity(rows.len() + 17);
    inner.push(kind);
    inner.extend_from_slice(&number.to_le_bytes());
    inner.extend_from_slice(&floor.to_le_bytes());
    inner.extend_from_slice(rows);
    let mut bytes = (inner.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&crc32fast::hash(&inner).to_le_bytes());
    bytes.extend_from_slice(&inner);
    bytes
}
