//! The log as a file: written while the program runs, checked later, after a crash too.
//!
//! A head of 16 bytes (`LINPLOG` and a version byte, then the error bound of ticks or zero), then frames. A frame is 16 bytes (kind, number, length
//! of its content in bytes, CRC-32 of these three and the content; all little-endian 32-bit words) and its content, padded to
//! eight bytes:
//!
//! | kind | number | content |
//! |---|---|---|
//! | 1 object | object | name, specification, view, order of commits: four texts, each ended by a zero byte |
//! | 2 thread | thread | its name |
//! | 3 records | thread | records as in [`crate::record`], whole ones |
//! | 4 seal | object | every call that an event with a smaller number could have seen stands above |
//! | 5 lost | object | how many records found no room so far |
//! | 6 end | 0 | nothing: the program closed the log |
//!
//! A file that stops in the middle of a frame, or has a frame whose sum is wrong, is *torn*: what stands before is read, the rest is counted.
//! A file without an end frame was not closed: operations open there are pending, and numbers that are missing were on their way.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;

use thiserror::Error;

use crate::event::{ObjectId, ThreadId};

const MAGIC: &[u8; 7] = b"LINPLOG";
const VERSION: u8 = 1;
/// Longer frames are taken for garbage.
const LONGEST: u32 = 1 << 28;

/// What an object was registered as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What the program calls it.
    pub name: String,
    /// The name of a built-in specification, or `custom`.
    pub spec: String,
    /// `none`, the name of a built-in shadow, or `custom`.
    pub view: String,
    /// `marked` or `intervals`.
    pub commits: String,
}

/// A part of a log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An object takes part.
    Object(ObjectId, Description),
    /// A thread takes part.
    Thread(ThreadId, String),
    /// Records of a thread, as words.
    Records(ThreadId, Vec<u64>),
    /// Every call that an event of this object with a smaller number could have seen stands above.
    Seal(ObjectId, u64),
    /// So many records of this object found no room.
    Lost(ObjectId, u64),
    /// The log was closed.
    End,
}

/// Why a file is no log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The operating system.
    #[error("cannot read the log")]
    Io(#[from] io::Error),
    /// Something else.
    #[error("this is not a log of the monitor: it does not begin with LINPLOG")]
    NotALog,
    /// From another time.
    #[error("this log has version {0}; this program reads version {VERSION}")]
    Version(u8),
}

/// A log file that is being written.
#[derive(Debug)]
pub struct Writer<W = BufWriter<File>> {
    file: W,
    bytes: u64,
    content: Vec<u8>,
}

impl Writer {
    /// Creates the file, or empties it. `error` is the error bound of ticks, 0 for numbers.
    pub fn create(path: &Path, error: u64) -> io::Result<Writer> {
        Writer::new(BufWriter::with_capacity(1 << 20, File::create(path)?), error)
    }
}

impl<W: io::Write> Writer<W> {
    /// Writes the head.
    pub fn new(mut file: W, error: u64) -> io::Result<Writer<W>> {
        file.write_all(MAGIC)?;
        file.write_all(&[VERSION])?;
        file.write_all(&error.to_le_bytes())?;
        Ok(Writer { file, bytes: 16, content: Vec::new() })
    }

    /// Appends a frame.
    pub fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        self.content.clear();
        match frame {
            Frame::Object(object, description) => {
                let Description { name, spec, view, commits } = description;
                for text in [name, spec, view, commits] {
                    self.content.extend(text.bytes().filter(|byte| *byte != 0));
                    self.content.push(0);
                }
                self.write(1, object.0.into())
            }
            Frame::Thread(thread, name) => {
                self.content.extend(name.as_bytes());
                self.write(2, thread.0)
            }
            Frame::Records(thread, words) => self.records(*thread, words),
            Frame::Seal(object, number) => {
                self.content.extend(number.to_le_bytes());
                self.write(4, object.0.into())
            }
            Frame::Lost(object, count) => {
                self.content.extend(count.to_le_bytes());
                self.write(5, object.0.into())
            }
            Frame::End => self.write(6, 0),
        }
    }

    /// Appends records.
    pub fn records(&mut self, thread: ThreadId, words: &[u64]) -> io::Result<()> {
        self.content.clear();
        self.content.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.write(3, thread.0)
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// What it wrote to.
    pub fn into_inner(self) -> W {
        self.file
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn write(&mut self, kind: u32, number: u32) -> io::Result<()> {
        let length = u32::try_from(self.content.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let sum = sum(kind, number, length, &self.content);
        for word in [kind, number, length, sum] {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.content.resize(self.content.len().next_multiple_of(8), 0);
        self.file.write_all(&self.content)?;
        self.bytes += 16 + self.content.len() as u64;
        Ok(())
    }
}

fn sum(kind: u32, number: u32, length: u32, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for word in [kind, number, length] {
        hasher.update(&word.to_le_bytes());
    }
    hasher.update(content);
    hasher.finalize()
}

/// A log file that is being read.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    /// The error bound of ticks; 0 for numbers.
    pub error: u64,
    good: u64,
    torn: bool,
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        Reader::new(BufReader::with_capacity(1 << 20, File::open(path)?))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the head.
    pub fn new(mut from: R) -> Result<Reader<R>, LogError> {
        let mut head = [0; 16];
        let got = fill(&mut from, &mut head)?;
        if got < 8 || head[..7] != MAGIC[..] {
            return Err(LogError::NotALog);
        }
        if head[7] != VERSION {
            return Err(LogError::Version(head[7]));
        }
        if got < 16 {
            // The head itself is torn: there is nothing to read.
            return Ok(Reader { from, error: 0, good: 0, torn: true });
        }
        let error = head[8..].iter().rev().fold(0, |error, byte| error << 8 | u64::from(*byte));
        Ok(Reader { from, error, good: 16, torn: false })
    }

    /// The next frame; `None` at the end, whether it is torn or not.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, LogError> {
        if self.torn {
            // What follows a frame that is broken may look whole, but something before it is missing.
            return Ok(None);
        }
        let mut head = [0; 16];
        let got = fill(&mut self.from, &mut head)?;
        if got < 16 {
            self.torn |= got > 0;
            return Ok(None);
        }
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (kind, number, length, expected) = (word(0), word(4), word(8), word(12));
        let padded = u64::from(length).next_multiple_of(8);
        let mut content = Vec::new();
        let whole = length <= LONGEST
            && (&mut self.from).take(padded).read_to_end(&mut content)? as u64 == padded
            && sum(kind, number, length, &content[..length as usize]) == expected;
        content.truncate(length as usize);
        let frame = if whole { read(kind, number, &content) } else { None };
        match frame {
            Some(frame) => {
                self.good += 16 + padded;
                Ok(Some(frame))
            }
            None => {
                self.torn = true;
                Ok(None)
            }
        }
    }

    /// How many bytes, from the beginning, make sense.
    pub fn good_bytes(&self) -> u64 {
        self.good
    }

    /// Did the file end in the middle of a frame, or in garbage?
    pub fn is_torn(&self) -> bool {
        self.torn
    }
}

fn read(kind: u32, number: u32, content: &[u8]) -> Option<Frame> {
    let object = || u16::try_from(number).ok().map(ObjectId);
    let count = || content.try_into().ok().map(u64::from_le_bytes);
    Some(match kind {
        1 => {
            let text = String::from_utf8(content.to_vec()).ok()?;
            let mut texts = text.split_terminator('\0').map(str::to_owned);
            let (name, spec, view, commits) = (texts.next()?, texts.next()?, texts.next()?, texts.next()?);
            Frame::Object(object()?, Description { name, spec, view, commits })
        }
        2 => Frame::Thread(ThreadId(number), String::from_utf8(content.to_vec()).ok()?),
        3 => {
            let (words, rest) = content.as_chunks::<8>();
            if !rest.is_empty() {
                return None;
            }
            Frame::Records(ThreadId(number), words.iter().map(|word| u64::from_le_bytes(*word)).collect())
        }
        4 => Frame::Seal(object()?, count()?),
        5 => Frame::Lost(object()?, count()?),
        6 => Frame::End,
        _ => return None,
    })
}

/// Reads until `into` is full or nothing is left; how much.
fn fill(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < into.len() {
        match from.read(&mut into[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
