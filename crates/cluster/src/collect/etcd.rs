//! A client of etcd: its JSON gateway over HTTP, by hand.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::redis::{line, open};
use super::{Store, Trouble};

/// A connection to etcd.
pub struct Etcd {
    reader: BufReader<TcpStream>,
    host: String,
}

impl Etcd {
    /// Connects; answers are waited for no longer than `timeout`.
    pub fn connect(address: &str, timeout: Duration) -> io::Result<Etcd> {
        let stream = open(address, timeout)?;
        Ok(Etcd { reader: BufReader::new(stream), host: address.to_owned() })
    }

    fn post(&mut self, path: &str, body: &str) -> Result<String, Trouble> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.reader.get_mut().write_all(request.as_bytes()).map_err(Trouble::Unanswered)?;
        let (status, body) = self.answer().map_err(Trouble::Unanswered)?;
        if status == 200 {
            return Ok(body);
        }
        // A leader that was lost may have passed the request on: only what is refused as a request did not
        // happen.
        let error = io::Error::other(format!("status {status}: {body}"));
        Err(if (400..500).contains(&status) {
            Trouble::Refused(error.to_string())
        } else {
            Trouble::Unanswered(error)
        })
    }

    fn answer(&mut self) -> io::Result<(u16, String)> {
        let wrong =
            |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("not an answer of etcd: {what}"));
        let first = line(&mut self.reader)?;
        let status =
            first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| wrong(&first))?;
        let (mut length, mut chunked) = (0usize, false);
        loop {
            let header = line(&mut self.reader)?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(text) = header.strip_prefix("content-length:") {
                length = text.trim().parse().map_err(|_| wrong(&header))?;
            }
            chunked |= header.starts_with("transfer-encoding:") && header.contains("chunked");
        }
        let mut body = Vec::new();
        if chunked {
            loop {
                let size = line(&mut self.reader)?;
                let size = usize::from_str_radix(size.trim(), 16).map_err(|_| wrong(&size))?;
                self.read(size, &mut body)?;
                line(&mut self.reader)?;
                if size == 0 {
                    break;
                }
            }
        } else {
            self.read(length, &mut body)?;
        }
        Ok((status, String::from_utf8(body).map_err(|_| wrong("not text"))?))
    }

    fn read(&mut self, count: usize, body: &mut Vec<u8>) -> io::Result<()> {
        if count + body.len() > 1 << 20 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of more than a megabyte"));
        }
        let from = body.len();
        body.resize(from + count, 0);
        self.reader.read_exact(&mut body[from..])
    }
}

impl Store for Etcd {
    fn put(&mut self, key: &str, value: u32) -> Result<(), Trouble> {
        let (key, value) = (base64(key), base64(&value.to_string()));
        self.post("/v3/kv/put", &format!("{{\"key\":\"{key}\",\"value\":\"{value}\"}}")).map(|_| ())
    }

    fn get(&mut self, key: &str) -> Result<Option<u32>, Trouble> {
        let key = base64(key);
        let body = self.post("/v3/kv/range", &format!("{{\"key\":\"{key}\"}}"))?;
        let Some((_, rest)) = body.split_once("\"value\":\"") else { return Ok(None) };
        let text = rest.split('"').next().and_then(unbase64);
        let wrong = || {
            Trouble::Unanswered(io::Error::new(io::ErrorKind::InvalidData, "not a number that was written"))
        };
        text.and_then(|text| text.parse().ok()).map(Some).ok_or_else(wrong)
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 4648.
fn base64(text: &str) -> String {
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

fn unbase64(text: &str) -> Option<String> {
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        bits = bits << 6 | LETTERS.iter().position(|&letter| letter == byte)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_goes_both_ways() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain), coded);
            assert_eq!(unbase64(coded).as_deref(), Some(plain));
        }
    }
}
