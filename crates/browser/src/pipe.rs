//! Questions and answers over two pipes, and events in between.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::BrowserError;

/// So long the browser may take over one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Both directions.
#[derive(Debug)]
pub(crate) struct Pipe(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    to: ChildStdin,
    from: Receiver<Json>,
    next: u64,
    /// What was told and not asked for: session, method, parameters.
    events: Vec<Json>,
}

impl Pipe {
    pub(crate) fn new(to: ChildStdin, from: ChildStdout) -> Pipe {
        let (tell, heard) = channel();
        // Ends when the browser does.
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut message = Vec::new();
            while from.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop_if(|last| *last == 0);
                let parsed = serde_json::from_slice(&message).unwrap_or(Json::Null);
                message.clear();
                if tell.send(parsed).is_err() {
                    break;
                }
            }
        });
        Pipe(Mutex::new(Inner { to, from: heard, next: 1, events: Vec::new() }))
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(
        &self,
        method: &str,
        params: Json,
        session: Option<&str>,
    ) -> Result<Json, BrowserError> {
        let silent = || BrowserError::Silent { method: method.to_owned() };
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = inner.next;
        inner.next += 1;
        let mut question = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            question["sessionId"] = json!(session);
        }
        let mut bytes = question.to_string().into_bytes();
        bytes.push(0);
        inner.to.write_all(&bytes)?;
        inner.to.flush()?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let heard = inner.from.recv_timeout(left).map_err(|_| silent())?;
            if heard["id"] != json!(id) {
                if heard.get("method").is_some() {
                    inner.events.push(heard);
                }
                continue;
            }
            return match heard.get("error") {
                Some(error) => Err(BrowserError::Refused {
                    method: method.to_owned(),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                }),
                None => Ok(heard["result"].clone()),
            };
        }
    }

    /// The events of a session so far; those of others stay.
    pub(crate) fn events(&self, session: &str) -> Vec<Json> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(heard) = inner.from.try_recv() {
            inner.events.push(heard);
        }
        let all = std::mem::take(&mut inner.events);
        let (own, others) = all.into_iter().partition(|event| event["sessionId"] == json!(session));
        inner.events = others;
        own
    }
}
