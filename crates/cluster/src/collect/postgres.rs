//! A client of PostgreSQL: one row a key of one table, one statement an operation.
//!
//! Each statement is a transaction of its own. A read takes its snapshot after it was called; a write is seen
//! by others only after it is on disk and before it is answered (unless the server was told not to wait,
//! `synchronous_commit`), so a single server should be linearizable in single rows. Whether it is, a check
//! says.
//!
//! What the server calls an error was rolled back: it did not happen. What ends the connection, or leaves the
//! outcome open (SQLSTATE 08, 40003, 57), may have happened.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::{backend, frontend};

use super::redis::open;
use super::{Store, Trouble};

/// The table that keys and values are kept in.
const TABLE: &str = "linpoint";
/// Most bytes of an answer.
const LONGEST_ANSWER_BYTES: usize = 1 << 20;

/// Who asks, and for what.
#[derive(Clone, Debug)]
pub struct Login {
    /// The role.
    pub user: String,
    /// Its password, where one is needed.
    pub password: String,
    /// The database.
    pub database: String,
}

/// A connection to PostgreSQL.
pub struct Postgres {
    stream: TcpStream,
    buffer: BytesMut,
}

/// What a statement came to.
enum Answer {
    /// The first column of its first row, if there is one.
    Row(Option<String>),
    /// An error: its SQLSTATE and its message.
    Error(String, String),
}

impl Postgres {
    /// Connects, and makes the table if it is not there; answers are waited for no longer than `timeout`.
    pub fn connect(address: &str, login: &Login, timeout: Duration) -> io::Result<Postgres> {
        let stream = open(address, timeout)?;
        let mut connection = Postgres { stream, buffer: BytesMut::new() };
        connection.log_in(login)?;
        let make =
            format!("CREATE TABLE IF NOT EXISTS {TABLE} (key text PRIMARY KEY, value bigint NOT NULL)");
        match connection.ask(&make)? {
            Answer::Row(_) => Ok(connection),
            // Somebody else makes it at this very moment.
            Answer::Error(code, _) if code == "23505" || code == "42P07" => Ok(connection),
            Answer::Error(code, why) => Err(io::Error::other(format!("{why} ({code})"))),
        }
    }

    fn log_in(&mut self, login: &Login) -> io::Result<()> {
        let words =
            [("user", login.user.as_str()), ("database", &login.database), ("client_encoding", "UTF8")];
        self.say(|out| frontend::startup_message(words, out))?;
        loop {
            match self.hear()? {
                backend::Message::AuthenticationOk => {}
                backend::Message::AuthenticationCleartextPassword => {
                    self.say(|out| frontend::password_message(login.password.as_bytes(), out))?;
                }
                backend::Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(login.user.as_bytes(), login.password.as_bytes(), body.salt());
                    self.say(|out| frontend::password_message(hash.as_bytes(), out))?;
                }
                backend::Message::AuthenticationSasl(body) => {
                    let offered = body.mechanisms().any(|name| Ok(name == sasl::SCRAM_SHA_256))?;
                    if !offered {
                        return Err(io::Error::other("it offers no way to log in that is known here"));
                    }
                    self.scram(login)?;
                }
                backend::Message::ReadyForQuery(_) => return Ok(()),
                backend::Message::ErrorResponse(body) => {
                    let (code, why) = reason(&body)?;
                    return Err(io::Error::other(format!("{why} ({code})")));
                }
                // Parameters, keys to cancel with, notices.
                _ => {}
            }
        }
    }

    fn scram(&mut self, login: &Login) -> io::Result<()> {
        let none = sasl::ChannelBinding::unsupported();
        let mut scram = sasl::ScramSha256::new(login.password.as_bytes(), none);
        self.say(|out| frontend::sasl_initial_response(sasl::SCRAM_SHA_256, scram.message(), out))?;
        loop {
            match self.hear()? {
                backend::Message::AuthenticationSaslContinue(body) => {
                    scram.update(body.data())?;
                    self.say(|out| frontend::sasl_response(scram.message(), out))?;
                }
                backend::Message::AuthenticationSaslFinal(body) => return scram.finish(body.data()),
                backend::Message::ErrorResponse(body) => {
                    let (code, why) = reason(&body)?;
                    return Err(io::Error::other(format!("{why} ({code})")));
                }
                _ => return Err(wrong("something else than a step of the log-in")),
            }
        }
    }

    /// One statement, one answer.
    fn ask(&mut self, statement: &str) -> io::Result<Answer> {
        self.say(|out| frontend::query(statement, out))?;
        let mut answer = Answer::Row(None);
        loop {
            match self.hear()? {
                backend::Message::DataRow(body) => {
                    let range = body.ranges().next()?.flatten();
                    let text = range.and_then(|range| body.buffer().get(range));
                    let text = text.and_then(|text| std::str::from_utf8(text).ok()).map(str::to_owned);
                    answer = Answer::Row(Some(text.ok_or_else(|| wrong("a row without a value"))?));
                }
                backend::Message::ErrorResponse(body) => {
                    let (code, why) = reason(&body)?;
                    answer = Answer::Error(code, why);
                }
                backend::Message::ReadyForQuery(_) => return Ok(answer),
                _ => {}
            }
        }
    }

    /// As [`Postgres::ask`], for one of the operations that are recorded.
    fn operate(&mut self, statement: &str) -> Result<Option<String>, Trouble> {
        match self.ask(statement).map_err(Trouble::Unanswered)? {
            Answer::Row(row) => Ok(row),
            Answer::Error(code, why) => {
                let open = ["08", "57", "40003"].iter().any(|class| code.starts_with(class));
                let why = format!("{why} ({code})");
                Err(if open { Trouble::Unanswered(io::Error::other(why)) } else { Trouble::Refused(why) })
            }
        }
    }

    fn say(&mut self, write: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> io::Result<()> {
        let mut out = BytesMut::new();
        write(&mut out)?;
        self.stream.write_all(&out)
    }

    fn hear(&mut self) -> io::Result<backend::Message> {
        loop {
            if let Some(message) = backend::Message::parse(&mut self.buffer)? {
                return Ok(message);
            }
            if self.buffer.len() > LONGEST_ANSWER_BYTES {
                return Err(wrong("more than a megabyte"));
            }
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes)?;
            if count == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
            }
            self.buffer.extend_from_slice(&bytes[..count]);
        }
    }
}

impl Store for Postgres {
    fn put(&mut self, key: &str, value: u32) -> Result<(), Trouble> {
        let key = quoted(key);
        self.operate(&format!(
            "INSERT INTO {TABLE} VALUES ({key}, {value}) ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value"
        ))
        .map(|_| ())
    }

    fn get(&mut self, key: &str) -> Result<Option<u32>, Trouble> {
        let key = quoted(key);
        let Some(text) = self.operate(&format!("SELECT value FROM {TABLE} WHERE key = {key}"))? else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| Trouble::Unanswered(wrong("not a number that was written")))
    }
}

/// A text in a statement.
fn quoted(text: &str) -> String {
    // Written as an escape string, so that it means the same whatever the server is set to.
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\0', ""))
}

fn reason(body: &backend::ErrorResponseBody) -> io::Result<(String, String)> {
    let (mut code, mut why) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Some(field) = fields.next()? {
        let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => code = text,
            b'M' => why = text,
            _ => {}
        }
    }
    Ok((code, why))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not an answer of PostgreSQL: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a'b\\c"), "E'a\\'b\\\\c'");
    }
}
