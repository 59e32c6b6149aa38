//! How much memory the process has, where the system tells.

/// Bytes resident now; `None` where it cannot be told.
pub fn resident_bytes() -> Option<usize> {
    let pages: usize = field(&std::fs::read_to_string("/proc/self/statm").ok()?, 1)?;
    Some(pages * 4096)
}

/// Bytes of memory the machine has; `None` where it cannot be told.
pub fn machine_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    Some(field(line, 1)? * 1024)
}

fn field(line: &str, index: usize) -> Option<usize> {
    line.split_whitespace().nth(index)?.parse().ok()
}
