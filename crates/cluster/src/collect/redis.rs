//! A client of Redis: RESP, by hand.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::{Store, Trouble};

/// A connection to Redis.
pub struct Redis {
    reader: BufReader<TcpStream>,
}

impl Redis {
    /// Connects; answers are waited for no longer than `timeout`.
    pub fn connect(address: &str, timeout: Duration) -> io::Result<Redis> {
        let stream = open(address, timeout)?;
        Ok(Redis { reader: BufReader::new(stream) })
    }

    fn ask(&mut self, words: &[&str]) -> Result<Reply, Trouble> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request += &format!("${}\r\n{word}\r\n", word.len());
        }
        // A part may have been sent: whether it was understood nobody knows.
        self.reader.get_mut().write_all(request.as_bytes()).map_err(Trouble::Unanswered)?;
        match self.reply().map_err(Trouble::Unanswered)? {
            Reply::Error(why) => Err(Trouble::Refused(why)),
            reply => Ok(reply),
        }
    }

    fn reply(&mut self) -> io::Result<Reply> {
        let wrong = |what: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("not an answer of Redis: {what}"))
        };
        let line = line(&mut self.reader)?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| wrong(&line))?;
        match kind {
            "+" | ":" => Ok(Reply::Text(Some(rest.to_owned()))),
            "-" => Ok(Reply::Error(rest.to_owned())),
            "$" if rest == "-1" => Ok(Reply::Text(None)),
            "$" => {
                let length: usize = rest.parse().map_err(|_| wrong(&line))?;
                let text = self::line(&mut self.reader)?;
                if text.len() == length { Ok(Reply::Text(Some(text))) } else { Err(wrong(&text)) }
            }
            _ => Err(wrong(&line)),
        }
    }
}

enum Reply {
    Text(Option<String>),
    Error(String),
}

impl Store for Redis {
    fn put(&mut self, key: &str, value: u32) -> Result<(), Trouble> {
        self.ask(&["SET", key, &value.to_string()]).map(|_| ())
    }

    fn get(&mut self, key: &str) -> Result<Option<u32>, Trouble> {
        match self.ask(&["GET", key])? {
            Reply::Text(Some(text)) => text.parse().map(Some).map_err(|_| {
                Trouble::Unanswered(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "not a number that was written",
                ))
            }),
            _ => Ok(None),
        }
    }
}

/// Opens a connection with timeouts.
pub(super) fn open(address: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::other("no such address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A line without its end, of at most 64 KiB.
pub(super) fn line(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut text = String::new();
    io::Read::take(reader.by_ref(), 1 << 16).read_line(&mut text)?;
    if !text.ends_with('\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
    }
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}

use std::io::Read as _;
