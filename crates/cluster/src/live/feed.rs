//! A stream as a source.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::{Builtin, Diagnostic, Operation, Symbols};

use super::Message;
use crate::source::{CHUNK, Feed, Pulled};

/// The rows of a stream as they come.
pub struct LiveFeed {
    receiver: Receiver<Message>,
    spec: Builtin,
    symbols: Symbols,
    patience: Duration,
    name: Option<String>,
    floor: i64,
    /// Since when there is no connection, and why.
    gone: Option<(Instant, String)>,
}

impl LiveFeed {
    pub(super) fn new(receiver: Receiver<Message>, spec: Builtin, patience: Duration) -> LiveFeed {
        let gone = Some((Instant::now(), "it never showed up".to_owned()));
        LiveFeed { receiver, spec, symbols: Symbols::new(), patience, name: None, floor: i64::MIN, gone }
    }
}

impl Feed for LiveFeed {
    fn pull(&mut self, rows: &mut Vec<Operation>) -> Result<Pulled, Diagnostic> {
        match self.receiver.try_recv() {
            Ok(Message::Here(name)) => {
                self.name = Some(name);
                self.gone = None;
                Ok(Pulled::Idle)
            }
            Ok(Message::Gone(why)) => {
                self.gone = Some((Instant::now(), why));
                Ok(Pulled::Idle)
            }
            Ok(Message::End) => Ok(Pulled::End),
            Ok(Message::Frame { floor, rows: bytes }) => {
                if !bytes.is_empty() {
                    let name = self.name.clone();
                    let options = ReadOptions {
                        format: Some(Format::Binary),
                        file_name: name,
                        ..ReadOptions::default()
                    };
                    let mut reader = formats::open(&Input::Bytes(bytes), &self.spec, &options)?;
                    while reader.read(&mut self.symbols, rows, CHUNK)? {}
                }
                self.floor = self.floor.max(floor);
                Ok(Pulled::Rows { floor: self.floor.min(i64::MAX - 1) })
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => match &self.gone {
                Some((since, why)) if since.elapsed() > self.patience => {
                    Ok(Pulled::Lost(format!("no connection for {} s: {why}", self.patience.as_secs())))
                }
                _ => Ok(Pulled::Idle),
            },
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}
