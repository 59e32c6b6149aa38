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
    /// When it was last heard of.
    heard: Instant,
    /// Why there is no connection, if there is none.
    gone: Option<String>,
}

impl LiveFeed {
    pub(super) fn new(receiver: Receiver<Message>, spec: Builtin, patience: Duration) -> LiveFeed {
        let gone = Some("it never showed up".to_owned());
        let (heard, floor) = (Instant::now(), i64::MIN);
        LiveFeed { receiver, spec, symbols: Symbols::new(), patience, name: None, floor, heard, gone }
    }
}

impl Feed for LiveFeed {
    fn pull(&mut self, rows: &mut Vec<Operation>) -> Result<Pulled, Diagnostic> {
        let message = self.receiver.try_recv();
        if message.is_ok() {
            self.heard = Instant::now();
        }
        match message {
            Ok(Message::Here(name)) => {
                self.name = Some(name);
                self.gone = None;
                Ok(Pulled::Idle)
            }
            Ok(Message::Gone(why)) => {
                self.gone = Some(why);
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
            Err(TryRecvError::Empty | TryRecvError::Disconnected) if self.heard.elapsed() > self.patience => {
                let silent = self.patience.as_secs_f64();
                // A connection may be dead without either side being told, as after a cut of the network.
                let why = self.gone.as_deref().unwrap_or("its connection is open, and silent");
                Ok(Pulled::Lost(format!("nothing was heard of it for {silent} s: {why}")))
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Ok(Pulled::Idle),
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}
