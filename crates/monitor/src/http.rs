//! A small status page: `/` for people, `/metrics` for Prometheus. One thread, nothing but GET.
//!
//! Connections are looked at in turns and never waited for: one that says nothing holds up neither the others
//! nor the end of the program.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::status::Status;

/// A page that is being served.
#[derive(Debug)]
pub(crate) struct Page {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What the page shows.
pub(crate) type Source = Arc<dyn Fn() -> (Status, Vec<String>) + Send + Sync>;

impl Page {
    /// Serves `source` at `address`.
    pub(crate) fn serve(address: impl ToSocketAddrs, source: Source) -> io::Result<Page> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("linpoint-status".to_owned()).spawn(move || {
            let mut clients: Vec<Client> = Vec::new();
            while !stopped.load(Ordering::Acquire) {
                // A client that misbehaves is its own trouble.
                while let Ok((connection, _)) = listener.accept() {
                    if clients.len() == MOST_CONNECTIONS {
                        clients.remove(0);
                    }
                    clients.extend(Client::new(connection));
                }
                clients.retain_mut(|client| client.go_on(&source).unwrap_or(false));
                std::thread::sleep(if clients.is_empty() { REST } else { PAUSE });
            }
        })?;
        Ok(Page { address, stop, thread: Some(thread) })
    }

    /// Where.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// So many connections are kept; after that the oldest goes.
const MOST_CONNECTIONS: usize = 64;
/// How often connections are looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How often it is looked whether there are any.
const REST: Duration = Duration::from_millis(50);
/// What a request may have in bytes; the rest is not read.
const LONGEST_REQUEST: usize = 16 << 10;

/// How long one client may take, all in all.
const CLIENT_TIME: Duration = Duration::from_secs(2);

/// A connection: what it asked so far, then what is left of the answer.
struct Client {
    connection: TcpStream,
    deadline: Instant,
    request: Vec<u8>,
    answer: Option<Vec<u8>>,
}

impl Client {
    fn new(connection: TcpStream) -> Option<Client> {
        connection.set_nonblocking(true).ok()?;
        let deadline = Instant::now() + CLIENT_TIME;
        Some(Client { connection, deadline, request: Vec::new(), answer: None })
    }

    /// Reads and writes what can be read and written at once. Is there more to come?
    fn go_on(&mut self, source: &Source) -> io::Result<bool> {
        if Instant::now() > self.deadline {
            return Ok(false);
        }
        let mut part = [0; 1024];
        // All of the request is read, or closing the connection would take the answer with it.
        while self.answer.is_none() {
            let whole = self.request.windows(4).any(|bytes| bytes == b"\r\n\r\n");
            if whole || self.request.len() >= LONGEST_REQUEST {
                self.answer = Some(answer(&self.request, source));
                break;
            }
            match self.connection.read(&mut part) {
                Ok(0) => self.answer = Some(answer(&self.request, source)),
                Ok(count) => self.request.extend(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        let Some(left) = &mut self.answer else { return Ok(true) };
        while !left.is_empty() {
            match self.connection.write(left) {
                Ok(0) => return Ok(false),
                Ok(count) => drop(left.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

fn answer(request: &[u8], source: &Source) -> Vec<u8> {
    let request = String::from_utf8_lossy(request);
    let line = request.lines().next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => ("200 OK", "text/plain; version=0.0.4", source().0.metrics()),
        (Some("GET"), Some("/")) => ("200 OK", "text/html; charset=utf-8", page(source())),
        (Some("GET"), Some(_)) => ("404 Not Found", "text/plain", "there is / and /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "GET only\n".to_owned()),
    };
    let length = body.len();
    let head = format!("Content-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close");
    format!("HTTP/1.1 {status}\r\n{head}\r\n\r\n{body}").into_bytes()
}

fn page((status, findings): (Status, Vec<String>)) -> String {
    let mut body = format!("<p>{}</p>", escape(&status.line()));
    for finding in findings {
        body += &format!("<pre>{}</pre>", escape(&finding));
    }
    format!(
        "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2><title>Linpoint monitor</title>\
         <style>body{{font:16px system-ui;margin:2em;color-scheme:light dark}}pre{{white-space:pre-wrap}}</style>\
         <h1>Linpoint monitor</h1>{body}<p><a href=/metrics>metrics</a></p>"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
