//! Packed inputs, recognised by their first bytes: gzip and Zstandard, in pure Rust.

use std::io::{self, BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Where bytes come from.
pub(super) type Bytes = Box<dyn Read + Send>;

/// The reader to put on top of `packed`, which begins with `head`; `None` where `head` is not of a packed
/// file.
pub(super) fn unpacker(head: &[u8]) -> Option<fn(Bytes) -> Bytes> {
    match head {
        [0x1f, 0x8b, ..] => Some(|packed| Box::new(MultiGzDecoder::new(BufReader::new(packed)))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(|packed| Box::new(ZstdFrames::new(packed))),
        _ => None,
    }
}

type Packed = BufReader<Bytes>;

/// Zstandard frames one after another, as `zstd` writes them and `cat` joins them.
struct ZstdFrames {
    state: Frame,
}

enum Frame {
    Before(Packed),
    Inside(Box<StreamingDecoder<Packed, FrameDecoder>>),
    Failed,
}

impl ZstdFrames {
    fn new(packed: Bytes) -> ZstdFrames {
        ZstdFrames { state: Frame::Before(BufReader::new(packed)) }
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, Frame::Failed) {
                Frame::Before(mut packed) => {
                    if packed.fill_buf()?.is_empty() {
                        self.state = Frame::Before(packed);
                        return Ok(0);
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
