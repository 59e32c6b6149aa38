//! The log as a file: written while the program runs, checked later, after a crash too.
//!
//! A head of 24 bytes (`LINPLOG` and a version byte, the error bound of ticks (all ones for a bound of zero)
//! or zero for numbers, the CRC-32 of these 16 bytes, four zeros), then frames. A frame is 16 bytes (kind,
//! number, length of its content in bytes, sum; all little-endian 32-bit words) and its content, padded with
//! zeros to eight bytes. The sum is the CRC-32 of the sum before (of the head, for the first frame), of kind,
//! number and length, and of the content: so a frame that is changed, missing, in another place or there
//! twice breaks the chain, and what stands before the break is what was written, from the beginning, with
//! nothing left out.
//!
//! | kind | number | content |
//! |---|---|---|
//! | 1 object | object | name, specification, view, order of commits, then the names of the operations: texts, each ended by a zero byte |
//! | 2 thread | thread | its name |
//! | 3 records | thread | records as in [`crate::record`], whole ones |
//! | 4 seal | object | every call that an event with a smaller number could have seen stands above |
//! | 5 lost | object | how many records found no room so far |
//! | 7 counts | object | how many records of it stand above, how many of them took a number, one more than the largest number, how many came after the end and were left out |
//! | 8 running | thread | nothing: the thread had not ended when the end was asked for |
//! | 6 end | 0 | how many objects there are: the program closed the log |
//!
//! A file that stops in the middle of a frame, or has a frame whose sum is wrong, is *torn*: what stands
//! before is read, the rest is counted. A file without an end frame was not closed: operations open there are
//! pending, and numbers that are missing were on their way. Only a log that was closed, whose counts are
//! those of what was read, is a whole one; of any other the best that can be said is that nothing wrong was
//! found in what there is.

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub(crate) use create::Back;

use crate::event::{Event, ObjectId, ThreadId};

mod create;

const MAGIC: &[u8; 7] = b"LINPLOG";
const VERSION: u8 = 2;
const HEAD: usize = 24;
/// Stands for an error bound of zero, since zero stands for numbers.
const NO_ERROR: u64 = u64::MAX;
/// Longer frames are taken for garbage.
const LONGEST_FRAME_BYTES: u32 = 1 << 28;

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
    /// The names of its operations, which records know by their positions; none in older logs.
    pub operations: Vec<String>,
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
    /// What stands above of this object, all in all.
    Counts(ObjectId, Counts),
    /// The log was closed; so many objects there are.
    End(u64),
    /// This thread had not ended then.
    Running(ThreadId),
}

/// How much was logged of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records.
    pub records: u64,
    /// Those of them that took a number.
    pub numbers: u64,
    /// One more than the largest number.
    pub top: u64,
    /// Records that came after the end was asked for, or after the object was no longer logged, and were left
    /// out.
    pub left_out: u64,
}

impl Counts {
    /// One more.
    #[inline]
    pub fn count(&mut self, event: &Event) {
        self.records += 1;
        if event.what.takes_number() {
            self.numbers += 1;
            self.top = self.top.max(event.stamp.saturating_add(1));
        }
    }
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
    /// The sum of the frame before.
    sum: u32,
}

impl Writer {
    /// Creates the file. `error` is the error bound of ticks, none for numbers. A file that is there is moved
    /// aside: it may be all that is left of a run that was killed. Says where to, and gives another way to
    /// the file, to read it back, if it is one.
    pub(crate) fn create(
        path: &Path,
        error: Option<u64>,
    ) -> io::Result<(Writer, Option<PathBuf>, Option<Back>)> {
        let create::Created { file, regular, moved } = create::create(path)?;
        let back = if regular { Some(Back::new(file.try_clone()?)) } else { None };
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, file), error)?;
        // So that nobody takes it for an empty one. A disk that is full is told when there is something to
        // write.
        let _ = writer.flush();
        Ok((writer, moved, back))
    }
}

impl<W: io::Write> Writer<W> {
    /// Writes the head. `error` is the error bound of ticks, none for numbers.
    pub fn new(mut file: W, error: Option<u64>) -> io::Result<Writer<W>> {
        let error = match error {
            None => 0,
            Some(0) => NO_ERROR,
            Some(error) => error.min(NO_ERROR - 1),
        };
        let mut head = [0; HEAD];
        head[..7].copy_from_slice(MAGIC);
        head[7] = VERSION;
        head[8..16].copy_from_slice(&error.to_le_bytes());
        let sum = crc32fast::hash(&head[..16]);
        head[16..20].copy_from_slice(&sum.to_le_bytes());
        file.write_all(&head)?;
        Ok(Writer { file, bytes: HEAD as u64, content: Vec::new(), sum })
    }

    /// Appends a frame.
    pub fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        self.content.clear();
        match frame {
            Frame::Object(object, description) => {
                let Description { name, spec, view, commits, operations } = description;
                for text in [name, spec, view, commits].into_iter().chain(operations) {
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
            Frame::Counts(object, counts) => {
                let Counts { records, numbers, top, left_out } = counts;
                self.content.extend([records, numbers, top, left_out].iter().flat_map(|n| n.to_le_bytes()));
                self.write(7, object.0.into())
            }
            Frame::Running(thread) => self.write(8, thread.0),
            Frame::End(objects) => {
                self.content.extend(objects.to_le_bytes());
                self.write(6, 0)
            }
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
        self.sum = sum([self.sum, kind, number, length], &self.content);
        for word in [kind, number, length, self.sum] {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.content.resize(self.content.len().next_multiple_of(8), 0);
        self.file.write_all(&self.content)?;
        self.bytes += 16 + self.content.len() as u64;
        Ok(())
    }
}

fn sum(words: [u32; 4], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for word in words {
        hasher.update(&word.to_le_bytes());
    }
    hasher.update(content);
    hasher.finalize()
}

/// A log file that is being read.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    /// The error bound of ticks; none for numbers.
    pub error: Option<u64>,
    good: u64,
    torn: bool,
    /// The sum of the frame before.
    sum: u32,
}

impl<R: Read> Reader<R> {
    /// Reads the head.
    pub fn new(mut from: R) -> Result<Reader<R>, LogError> {
        let mut head = [0; HEAD];
        let got = fill(&mut from, &mut head)?;
        if got < 8 || head[..7] != MAGIC[..] {
            return Err(LogError::NotALog);
        }
        if head[7] != VERSION {
            return Err(LogError::Version(head[7]));
        }
        let sum = crc32fast::hash(&head[..16]);
        if got < HEAD || head[16..20] != sum.to_le_bytes() || head[20..] != [0; 4] {
            // The head itself is torn: there is nothing to read.
            return Ok(Reader { from, error: None, good: 0, torn: true, sum });
        }
        let error = head[8..16].iter().rev().fold(0, |error, byte| error << 8 | u64::from(*byte));
        let error = match error {
            0 => None,
            NO_ERROR => Some(0),
            error => Some(error),
        };
        Ok(Reader { from, error, good: HEAD as u64, torn: false, sum })
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
        let whole = length <= LONGEST_FRAME_BYTES
            && (&mut self.from).take(padded).read_to_end(&mut content)? as u64 == padded
            && sum([self.sum, kind, number, length], &content[..length as usize]) == expected
            && content[length as usize..].iter().all(|byte| *byte == 0);
        self.sum = expected;
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
            let operations = texts.collect();
            Frame::Object(object()?, Description { name, spec, view, commits, operations })
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
        6 => Frame::End(count()?),
        8 if content.is_empty() => Frame::Running(ThreadId(number)),
        7 => {
            let (words, []) = content.as_chunks::<8>() else { return None };
            let [records, numbers, top, left_out] =
                <[u64; 4]>::try_from(words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>())
                    .ok()?;
            Frame::Counts(object()?, Counts { records, numbers, top, left_out })
        }
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
