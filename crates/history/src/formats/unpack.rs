//! Packed inputs, recognised by their first bytes: gzip and Zstandard, in pure Rust.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Where bytes come from.
pub(super) type Bytes = Box<dyn Read + Send>;

/// The reader to put on top of `packed`, which begins with `head`; `None` where `head` is not of a packed
/// file.
pub(super) fn unpacker(head: &[u8]) -> Option<fn(Bytes) -> Bytes> {
    match head {
        [0x1f, 0x8b, ..] => {
            Some(|packed| Box::new(GzipMembers { state: Member::Before(BufReader::new(packed)), met: false }))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(|packed| Box::new(ZstdFrames::new(packed))),
        _ => None,
    }
}

type Packed = BufReader<Bytes>;

/// What follows the end of a packed file is nothing packed.
#[derive(Debug, thiserror::Error)]
#[error("bytes that are not packed follow its end")]
pub(super) struct Junk;

fn junk() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Junk)
}

/// Gzip members one after another, as `cat` joins them. What pads the last block of a tape is zeros, and says
/// nothing (RFC 1952 leaves open what follows a member; `gzip` passes over zeros).
struct GzipMembers {
    state: Member,
    /// Was there a member before?
    met: bool,
}

enum Member {
    Before(Packed),
    Inside(Box<GzDecoder<Packed>>),
    Failed,
}

impl Read for GzipMembers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, Member::Failed) {
                Member::Before(mut packed) => match packed.fill_buf()?.first() {
                    None => {
                        self.state = Member::Before(packed);
                        return Ok(0);
                    }
                    Some(0) if self.met => {
                        while !packed.fill_buf()?.is_empty() {
                            let length = packed.buffer().len();
                            if packed.buffer().iter().any(|&byte| byte != 0) {
                                return Err(junk());
                            }
                            packed.consume(length);
                        }
                        self.state = Member::Before(packed);
                    }
                    Some(0x1f) => {
                        self.met = true;
                        self.state = Member::Inside(Box::new(GzDecoder::new(packed)));
                    }
                    Some(_) => return Err(junk()),
                },
                Member::Inside(mut decoder) => {
                    let count = decoder.read(buffer)?;
                    if count > 0 || buffer.is_empty() {
                        self.state = Member::Inside(decoder);
                        return Ok(count);
                    }
                    self.state = Member::Before(decoder.into_inner());
                }
                Member::Failed => return Err(io::Error::new(io::ErrorKind::InvalidData, "damaged member")),
            }
        }
    }
}

/// Zstandard frames one after another, as `zstd` writes them and `cat` joins them.
struct ZstdFrames {
    state: Frame,
    /// Was there a frame before?
    met: bool,
}

enum Frame {
    Before(Packed),
    Inside(Box<StreamingDecoder<Packed, FrameDecoder>>),
    Failed,
}

impl ZstdFrames {
    fn new(packed: Bytes) -> ZstdFrames {
        ZstdFrames { state: Frame::Before(BufReader::new(packed)), met: false }
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, Frame::Failed) {
                Frame::Before(mut packed) => {
                    match packed.fill_buf()?.first() {
                        None => {
                            self.state = Frame::Before(packed);
                            return Ok(0);
                        }
                        // A frame begins with 28, one to be skipped with 50 to 5f.
                        Some(0x28 | 0x50..=0x5f) => self.met = true,
                        Some(_) if self.met => return Err(junk()),
                        Some(_) => {}
                    }
                    let decoder = StreamingDecoder::new(packed)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                    self.state = Frame::Inside(Box::new(decoder));
                }
                Frame::Inside(mut decoder) => {
                    let count = decoder
                        .read(buffer)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                    if count > 0 || buffer.is_empty() {
                        self.state = Frame::Inside(decoder);
                        return Ok(count);
                    }
                    self.state = Frame::Before(decoder.into_parts().0);
                }
                Frame::Failed => return Err(io::Error::new(io::ErrorKind::InvalidData, "damaged frame")),
            }
        }
    }
}
