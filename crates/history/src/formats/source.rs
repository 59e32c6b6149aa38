//! The bytes of an input, unpacked if need be, through one buffer that is used again and again.
//!
//! Reading with a buffer rather than through a memory map keeps the resident size the same for any length of
//! file, and serves pipes and packed files alike. The buffer grows only for a record that does not fit into
//! it.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr;

use super::guard::{EVERY, Guard};
use super::problem;
use super::unpack::{self, Bytes};
use super::{Input, ReadOptions};
use crate::diagnostic::Diagnostic;

/// Small enough to stay in the second-level cache, large enough that a system call is lost in the noise.
const BUFFER: usize = 256 << 10;
/// No record is longer than this.
const LONGEST_RECORD_BYTES: usize = 256 << 20;

/// What some editors put before UTF-8; it means nothing.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Bytes to be read, with the place in them.
pub(super) struct Source {
    input: Bytes,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    finished: bool,
    taken: Arc<AtomicU64>,
    total: Option<u64>,
    name: String,
    /// The file, if it is one that is not packed.
    path: Option<PathBuf>,
    /// Is asked for every few MB whether to go on.
    pub guard: Guard,
    /// Bytes taken since it was asked.
    unasked: usize,
    /// Lines before `start`.
    pub lines: u64,
}

/// What diagnostics call an input.
pub(super) fn input_name(input: &Input, options: &ReadOptions) -> String {
    match (&options.file_name, input) {
        (Some(name), _) => name.clone(),
        (None, Input::File(path)) => path.display().to_string(),
        (None, Input::Stdin) => "-".into(),
        (None, Input::Bytes(_)) => String::new(),
    }
}

impl Source {
    /// Opens an input and looks at its first bytes.
    pub fn open(input: &Input, options: &ReadOptions) -> Result<Source, Diagnostic> {
        let name = input_name(input, options);
        let (raw, total): (Bytes, _) = match input {
            Input::File(path) => {
                let unreadable = |error: io::Error| problem::unreadable(&error).in_file(name.clone());
                let file = File::open(path).map_err(unreadable)?;
                let about = file.metadata().map_err(unreadable)?;
                if about.is_dir() {
                    let message = "is a directory";
                    let help = "a file; to check all files of a directory, name them: DIR/*";
                    return Err(Diagnostic::new(problem::DIRECTORY, message, help).in_file(name));
                }
                (Box::new(file), about.is_file().then_some(about.len()))
            }
            Input::Stdin => (Box::new(io::stdin()), None),
            Input::Bytes(bytes) => (Box::new(Cursor::new(bytes.clone())), Some(bytes.len() as u64)),
        };
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted { input: raw, taken: Arc::clone(&taken) };
        let mut source = Source {
            input: Box::new(counted),
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            finished: false,
            taken,
            total,
            name,
            path: match input {
                Input::File(path) => Some(path.clone()),
                _ => None,
            },
            guard: options.guard.clone(),
            unasked: 0,
            lines: 0,
        };
        source.unpack()?;
        source.want(BYTE_ORDER_MARK.len())?;
        if source.bytes().starts_with(BYTE_ORDER_MARK) {
            source.consume(BYTE_ORDER_MARK.len());
        }
        Ok(source)
    }

    /// What diagnostics call this input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is in the buffer and not yet used.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Marks the first `count` of [`Source::bytes`] as used.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Is everything in the buffer that there is?
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Gets more bytes behind those in the buffer; `false` at the end of the input.
    pub fn more(&mut self) -> Result<bool, Diagnostic> {
        if self.finished {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            if self.end >= LONGEST_RECORD_BYTES {
                let message = format!("a record is longer than {} MiB", LONGEST_RECORD_BYTES >> 20);
                return Err(self.place(problem::too_big(message), 0));
            }
            self.guard.ask(self.end)?;
            self.unasked = 0;
            self.buffer.resize(2 * self.end, 0);
        } else if self.buffer.len() > BUFFER && self.end < BUFFER / 2 {
            // The long record is behind us.
            self.buffer.truncate(BUFFER);
            self.buffer.shrink_to_fit();
        }
        if self.unasked >= EVERY {
            self.guard.ask(0)?;
            self.unasked = 0;
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.finished = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.end += count;
                    self.unasked += count;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.place(problem::unreadable(&error), 0)),
            }
        }
    }

    /// Fills the buffer as far as the input gives, until at least `count` bytes are there or the input ends.
    pub fn want(&mut self, count: usize) -> Result<(), Diagnostic> {
        while self.end - self.start < count && self.more()? {}
        Ok(())
    }

    /// Gets twice as much as there is, for a record that does not end in it: one that is read from its
    /// beginning again and again. `false` if there is no more.
    pub fn much_more(&mut self) -> Result<bool, Diagnostic> {
        let had = self.bytes().len();
        self.want(2 * had.max(1))?;
        Ok(self.bytes().len() > had)
    }

    /// The next line, without its end, and how many bytes it takes with it; `None` at the end of the input.
    pub fn line(&mut self) -> Result<Option<(Range<usize>, usize)>, Diagnostic> {
        let mut searched = 0;
        loop {
            let bytes = self.bytes();
            if let Some(at) = memchr(b'\n', &bytes[searched..]) {
                let length = searched + at;
                let text = length - usize::from(length > 0 && bytes[length - 1] == b'\r');
                return Ok(Some((0..text, length + 1)));
            }
            searched = bytes.len();
            if !self.more()? {
                let length = self.bytes().len();
                return Ok((length > 0).then_some((0..length, length)));
            }
        }
    }

    /// The file behind this, if its bytes are as they come out here.
    #[cfg(feature = "parquet")]
    pub fn plain_file(&self) -> Option<&std::path::Path> {
        self.path.as_deref()
    }

    /// Everything that is left.
    #[cfg(feature = "parquet")]
    pub fn rest(&mut self) -> Result<Vec<u8>, Diagnostic> {
        let mut rest = self.bytes().to_vec();
        self.consume(rest.len());
        while self.more()? {
            if rest.len() + self.bytes().len() > rest.capacity() {
                self.guard.ask(rest.len())?;
            }
            rest.extend_from_slice(self.bytes());
            self.consume(self.bytes().len());
        }
        Ok(rest)
    }

    /// Puts a diagnostic at the line that begins at `start`.
    pub fn place(&self, problem: Diagnostic, lines_on: u64) -> Diagnostic {
        let column = problem.column;
        let line =
            self.bytes().split(|byte| *byte == b'\n').nth(usize::try_from(lines_on).unwrap_or(usize::MAX));
        problem
            .showing(line.unwrap_or_default())
            .at(self.lines + 1 + lines_on, column)
            .in_file(self.name.clone())
    }

    pub fn bytes_read(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    pub fn bytes_total(&self) -> Option<u64> {
        self.total
    }

    /// Puts an unpacker in between where the first bytes call for one.
    fn unpack(&mut self) -> Result<(), Diagnostic> {
        self.want(4)?;
        if let Some(unpacker) = unpack::unpacker(self.bytes()) {
            let head = Cursor::new(self.bytes().to_vec());
            let rest = std::mem::replace(&mut self.input, Box::new(io::empty()));
            self.input = unpacker(Box::new(head.chain(rest)));
            (self.start, self.end, self.finished) = (0, 0, false);
            self.path = None;
        }
        Ok(())
    }
}

/// Counts what is taken from the input itself.
struct Counted {
    input: Bytes,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
