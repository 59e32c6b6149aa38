//! A new log file, and what becomes of the one that is in its place.
//!
//! Several threads and processes may begin a log under one name at the same time. What each of them writes is
//! kept: a file is made only where there is none (the operating system says so, in one step), and what is in
//! the way is moved to a name that nobody else has, in steps that replace nothing. Whoever was writing to it
//! goes on, under its new name. So an empty file is treated like any other: somebody may have made it just
//! now.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that was just made.
#[derive(Debug)]
pub(super) struct Created {
    pub file: File,
    /// Is it a file that can be read back?
    pub regular: bool,
    /// Where the one went that was in its place.
    pub moved: Option<PathBuf>,
}

/// A new file.
pub(super) fn create(path: &Path) -> io::Result<Created> {
    let mut moved = None;
    loop {
        match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
            Ok(file) => return Ok(Created { file, regular: true, moved }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        // A link that leads nowhere is in the way as well, and is moved itself.
        if let Ok(found) = fs::metadata(path)
            && !found.is_file()
        {
            return Ok(Created { file: device(path, &found)?, regular: false, moved });
        }
        moved = move_aside(path)?.or(moved);
    }
}

/// A device or a pipe keeps nothing.
fn device(path: &Path, found: &fs::Metadata) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if found.file_type().is_fifo() {
            // To open a pipe is to wait for its reader. Where there is none, that is said instead.
            let reader = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
            reader
                .map_err(|error| io::Error::new(error.kind(), format!("nobody reads this pipe: {error}")))?;
        }
    }
    let _ = found;
    OpenOptions::new().write(true).open(path)
}

/// Moves what is there to the first of `log.1`, `log.2`, … that is not there; `None` where it is gone
/// already.
fn move_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    // From the shared name to one of our own first: what is moved from there on is one file, whatever others
    // do.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let own = loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = with_ending(path, &format!("moved-{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&own) {
            Ok(_) => break own,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    };
    if let Err(error) = fs::rename(path, &own) {
        fs::remove_file(&own)?;
        let gone = error.kind() == io::ErrorKind::NotFound;
        return if gone { Ok(None) } else { Err(error) };
    }
    let mut number = 1u64;
    loop {
        let aside = with_ending(path, &number.to_string());
        match fs::hard_link(&own, &aside) {
            Ok(()) => {
                fs::remove_file(&own)?;
                return Ok(Some(aside));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            // Some file systems have no links: it keeps the name it has.
            Err(_) => return Ok(Some(own)),
        }
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

/// A file that is read from its beginning while it is written: by its handle, since its name may be somebody
/// else's by now.
#[derive(Debug)]
pub(crate) struct Back {
    file: File,
    at: u64,
}

impl Back {
    pub(super) fn new(file: File) -> Back {
        Back { file, at: 0 }
    }

    /// From the beginning, once more.
    pub(crate) fn again(&self) -> io::Result<Back> {
        Ok(Back::new(self.file.try_clone()?))
    }
}

impl io::Read for Back {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let got = std::os::unix::fs::FileExt::read_at(&self.file, into, self.at)?;
        #[cfg(windows)]
        let got = std::os::windows::fs::FileExt::seek_read(&self.file, into, self.at)?;
        #[cfg(not(any(unix, windows)))]
        let got = return Err(io::ErrorKind::Unsupported.into());
        self.at += got as u64;
        Ok(got)
    }
}
