//! A small status page: `/` for people, `/metrics` for Prometheus. One thread, one connection at a time, nothing but GET.

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
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("linpoint-status".to_owned()).spawn(move || {
            for connection in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    break;
                }
                // A client that misbehaves is its own trouble.
                let _ = connection.and_then(|connection| answer(&connection, &source));
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
        // Wakes the thread up.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_millis(200)).is_ok();
        if let Some(thread) = self.thread.take()
            && woken
        {
            let _ = thread.join();
        }
    }
}

/// What a request may have in bytes; the rest is not read.
const LONGEST_REQUEST: usize = 16 << 10;

/// How long one client may take, all in all: the page is no reason for a program not to end.
const PATIENCE: Duration = Duration::from_secs(2);

fn answer(mut connection: &TcpStream, source: &Source) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    connection.set_write_timeout(Some(PATIENCE))?;
    // All of the request is read, or closing the connection would take the answer with it.
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut part)? {
            0 => break,
            count => request.extend(&part[..count]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let line = request.lines().next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => ("200 OK", "text/plain; version=0.0.4", source().0.metrics()),
        (Some("GET"), Some("/")) => ("200 OK", "text/html; charset=utf-8", page(source())),
        (Some("GET"), Some(_)) => ("404 Not Found", "text/plain", "there is / and /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "GET only\n".to_owned()),
    };
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
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
