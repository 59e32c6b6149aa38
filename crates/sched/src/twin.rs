//! Does a loop leave everything as it was? A twin of the process finds out.
//!
//! That a loop finds the same values turn after turn does not say that it goes on for ever: it may count its turns in a local variable, on the
//! heap or in a static, or look at the clock. It does go on for ever if after a turn *every byte that it could look at* is what it was before:
//! a machine that comes back to its state, and hears nothing from outside, does what it did then. So the process is copied (`fork`); the copy has
//! one thread, so nobody else writes to its memory, and it is cut off from the outside: it may make no system call, and must not
//! look at the clock (`seccomp`, `PR_SET_TSC`). There the loop goes on, while the explorer writes nothing, and after each turn all writable memory
//! is compared with what it was before: after 1, 2, 4, … turns, as Brent's algorithm finds a cycle of any length. Not compared is what
//! lies dead on the stacks. The original waits for the answer. It is never moved by the twin: they share no memory.
//!
//! This is Linux's only. Elsewhere, and where the kernel does not allow it, the answer is that it cannot be seen.

/// What a twin found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// After some turns all memory is what it was before them, and nothing was asked for outside.
    Repeats,
    /// It is not, or the loop came to its end.
    Changes,
    /// The loop looks at the clock.
    Clock,
    /// It cannot be seen: the loop asks the system for something else, or there is no twin.
    Unseen,
}

/// Who comes back from [`split`].
pub(crate) enum Half {
    /// The process there was, with the answer of its twin.
    Original(Answer),
    /// The twin, with the memory that it compares. It must not return to where there is more to do than its loop.
    Twin(Memory),
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{Memory, leave, split, upper_half};

/// Elsewhere there is none.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Memory(std::convert::Infallible);

#[cfg(not(target_os = "linux"))]
impl Memory {
    /// Has nothing to be compared.
    pub(crate) fn compare(&mut self, _dead: &[(usize, usize)], _may_be: bool) -> bool {
        match self.0 {}
    }

    /// There is nothing to be cut off.
    pub(crate) fn seal(&self) {
        match self.0 {}
    }
}

/// Elsewhere nobody can look.
///
/// # Safety
/// None asked.
#[cfg(not(target_os = "linux"))]
pub(crate) unsafe fn split() -> Half {
    Half::Original(Answer::Unseen)
}

/// There is no twin that could.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leave(_answer: Answer) -> ! {
    std::process::abort()
}

/// Nobody asks for it here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn upper_half<T>() -> *mut T {
    std::ptr::null_mut()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ptr::null_mut;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use libc::{c_int, c_long, c_void, siginfo_t};

    use super::{Answer, Half};
    use crate::overflow::page_size;

    /// The codes with which a twin ends.
    const REPEATS: c_int = 40;
    const CHANGES: c_int = 41;
    const CLOCK: c_int = 42;
    const UNSEEN: c_int = 43;

    /// Longer than this no twin lives, in seconds.
    const LONGEST: u32 = 20;

    /// So many turns are made before it is said that memory changes.
    const TURNS: u32 = 40;

    /// Most pages that are compared.
    const MOST: usize = 1 << 17;

    /// Most pieces of memory.
    const RANGES: usize = 4096;

    /// Room for the list of them.
    const LIST: usize = 1 << 20;

    /// All writable memory of a twin, and what it held after some turn. It lies outside what is compared.
    #[derive(Clone, Copy)]
    pub(crate) struct Memory {
        ranges: *const (usize, usize),
        count: usize,
        /// Which pages there were when it was copied, and what they held.
        pages: *mut usize,
        copies: *mut u8,
        copied: usize,
        /// The kernel's table of pages.
        table: c_int,
        page: usize,
        turns: u32,
        /// The turn after which it is copied next.
        next: u32,
    }

    /// Ends the twin with its answer.
    pub(crate) fn leave(answer: Answer) -> ! {
        let code = match answer {
            Answer::Repeats => REPEATS,
            Answer::Changes => CHANGES,
            Answer::Clock => CLOCK,
            Answer::Unseen => UNSEEN,
        };
        exit(code)
    }

    /// Ends the process, which has one thread, without anything that is done at its end.
    fn exit(code: c_int) -> ! {
        // SAFETY: it does not return.
        unsafe { libc::syscall(libc::SYS_exit, c_long::from(code)) };
        std::process::abort()
    }

    /// New memory of the twin's own.
    fn map(size: usize) -> *mut u8 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new memory is asked for, which overlaps nothing.
        let memory =
            unsafe { libc::mmap(null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            exit(UNSEEN);
        }
        memory.cast()
    }

    /// Memory for a value that is not compared. It is zero. To be asked for by a twin before it is sealed, that is in [`split`].
    pub(crate) fn upper_half<T>() -> *mut T {
        map(size_of::<T>()).cast()
    }

    /// Makes a twin. The original waits until that has ended.
    ///
    /// # Safety
    /// The twin must go on without what other threads of the process do, and end by [`leave`].
    pub(crate) unsafe fn split() -> Half {
        // SAFETY: as the caller promises; what the twin does until it is sealed is allowed after a fork.
        unsafe {
            let twin = libc::fork();
            if twin == 0 {
                return Half::Twin(become_twin());
            }
            if twin < 0 {
                return Half::Original(Answer::Unseen);
            }
            let mut status = 0;
            while libc::waitpid(twin, &raw mut status, 0) < 0 {
                if *libc::__errno_location() != libc::EINTR {
                    return Half::Original(Answer::Unseen);
                }
            }
            Half::Original(match libc::WEXITSTATUS(status) {
                REPEATS if libc::WIFEXITED(status) => Answer::Repeats,
                CHANGES if libc::WIFEXITED(status) => Answer::Changes,
                CLOCK if libc::WIFEXITED(status) => Answer::Clock,
                _ => Answer::Unseen,
            })
        }
    }

    /// The signal of a fault: the processor's clock may not be read, and where the kernel keeps the time nothing is left.
    extern "C" fn faulted(_signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
        /// The kernel says so of what is no access to memory.
        const NO_ADDRESS: c_int = 0x80;
        // SAFETY: the kernel passes what belongs to the signal.
        let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
        let clock =
            CLOCKS.chunks(2).any(|pair| (pair[0].load(Relaxed)..pair[1].load(Relaxed)).contains(&address));
        exit(if code == NO_ADDRESS || clock { CLOCK } else { UNSEEN });
    }

    /// The signal of a system call that is not allowed.
    extern "C" fn asked(_signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
        // The number of the call comes after three numbers, the padding, and an address.
        const AT: usize = 16 + size_of::<usize>();
        // SAFETY: as above; the information is larger than that.
        let call = unsafe { info.cast::<u8>().add(AT).cast::<c_int>().read_unaligned() };
        let clocks = [libc::SYS_clock_gettime, libc::SYS_gettimeofday];
        exit(if clocks.contains(&c_long::from(call)) { CLOCK } else { UNSEEN });
    }

    /// The twin finds its memory, and is cut off from all else.
    fn become_twin() -> Memory {
        // SAFETY: plain system calls on what is the twin's own.
        unsafe {
            libc::signal(libc::SIGALRM, libc::SIG_DFL);
            let mut alarm: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut alarm);
            for signal in [libc::SIGALRM, libc::SIGSYS, libc::SIGSEGV] {
                libc::sigaddset(&raw mut alarm, signal);
            }
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const alarm, null_mut());
            libc::alarm(LONGEST);
            on_signal(libc::SIGSEGV, faulted);
            on_signal(libc::SIGBUS, faulted);
            on_signal(libc::SIGSYS, asked);
        }
        let (ranges, count) = find_memory();
        let page = page_size().max(1);
        let pages = map(MOST * size_of::<usize>()).cast();
        let copies = map(MOST * page);
        // SAFETY: as above.
        let table = unsafe { libc::open(c"/proc/self/pagemap".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if table < 0 {
            exit(UNSEEN);
        }
        Memory { ranges, count, pages, copies, copied: 0, table, page, turns: 0, next: 1 }
    }

    unsafe fn on_signal(signal: c_int, handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void)) {
        // SAFETY: a whole action, with a handler of the kind that its flags say.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &raw const action, null_mut());
        }
    }

    /// The writable memory of the process, as the kernel lists it. Where some of it is shared with others the twin ends.
    fn find_memory() -> (*const (usize, usize), usize) {
        let list = map(LIST);
        let ranges: *mut (usize, usize) = map(RANGES * size_of::<(usize, usize)>()).cast();
        let mut length = 0;
        // SAFETY: a file that is read into memory of that size.
        unsafe {
            let file = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            loop {
                let read = libc::read(file, list.add(length).cast(), LIST - length);
                match usize::try_from(read) {
                    Ok(0) => break,
                    Ok(read) => length += read,
                    Err(_) => exit(UNSEEN),
                }
            }
            libc::close(file);
        }
        // SAFETY: so much was read.
        let text = unsafe { std::slice::from_raw_parts(list, length) };
        let size = RANGES * size_of::<(usize, usize)>();
        let own = [(list.addr(), list.addr() + LIST), (ranges.addr(), ranges.addr() + size)];
        let mut count = 0;
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let mut words = line.split(|&byte| byte == b' ');
            let (Some(addresses), Some(rights)) = (words.next(), words.next()) else { exit(UNSEEN) };
            let mut ends = addresses.split(|&byte| byte == b'-').map(number);
            let (Some(Some(from)), Some(Some(to))) = (ends.next(), ends.next()) else { exit(UNSEEN) };
            if line.ends_with(b"[vvar]") || line.ends_with(b"[vvar_vclock]") {
                take_clock(from, to);
            }
            if rights.get(1) != Some(&b'w') {
                continue;
            }
            if rights.get(3) == Some(&b's') || count + own.len() >= RANGES || length == LIST {
                exit(UNSEEN);
            }
            // What the twin made for itself is not the loop's. It may have come to lie beside other memory.
            let mut from = from;
            while let Some((start, end)) =
                own.iter().filter(|own| from < own.1 && own.0 < to).min_by_key(|own| own.0)
            {
                if from < *start {
                    // SAFETY: there is room, as was just seen.
                    unsafe { ranges.add(count).write((from, *start)) };
                    count += 1;
                }
                from = *end;
            }
            if from < to {
                // SAFETY: as above.
                unsafe { ranges.add(count).write((from, to)) };
                count += 1;
            }
        }
        (ranges, count)
    }

    /// Where the kernel let the clock be seen without a call, until that was taken away.
    static CLOCKS: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

    /// Takes away a part of memory in which the kernel keeps the time.
    fn take_clock(from: usize, to: usize) {
        let pair = CLOCKS.chunks(2).find(|pair| pair[0].load(Relaxed) == 0);
        let Some([start, end]) = pair else { exit(UNSEEN) };
        start.store(from, Relaxed);
        end.store(to, Relaxed);
        // SAFETY: nothing but the kernel's functions for the clock reads there, and to these it is a fault that is expected.
        if unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(from), to - from) } != 0 {
            exit(UNSEEN);
        }
    }

    /// A number in base 16.
    fn number(digits: &[u8]) -> Option<usize> {
        digits.iter().try_fold(0_usize, |sum, &digit| {
            let digit = char::from(digit).to_digit(16)?;
            Some(sum << 4 | digit as usize)
        })
    }

    /// One line of the filter of system calls.
    const fn statement(code: u32, k: u32) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
    }

    /// The next `skipped` lines are for the value `k` only.
    const fn unless(k: u32, skipped: u8) -> libc::sock_filter {
        let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        libc::sock_filter { code: code as u16, jt: 0, jf: skipped, k }
    }

    impl Memory {
        /// From here on the twin can ask for nothing outside but its own pages: not even what time it is.
        pub(crate) fn seal(&self) {
            const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
            const SAY: u32 = libc::BPF_RET | libc::BPF_K;
            /// Where the filter sees the first argument.
            const FIRST: u32 = 16;
            let mut filter = [
                statement(LOAD, 0),
                unless(libc::SYS_exit as u32, 1),
                statement(SAY, libc::SECCOMP_RET_ALLOW),
                // Nobody else is there to go, and nothing changes while it sleeps.
                unless(libc::SYS_sched_yield as u32, 1),
                statement(SAY, libc::SECCOMP_RET_ERRNO),
                unless(libc::SYS_nanosleep as u32, 1),
                statement(SAY, libc::SECCOMP_RET_ERRNO),
                unless(libc::SYS_clock_nanosleep as u32, 1),
                statement(SAY, libc::SECCOMP_RET_ERRNO),
                unless(libc::SYS_pread64 as u32, 3),
                statement(LOAD, FIRST),
                unless(self.table as u32, 1),
                statement(SAY, libc::SECCOMP_RET_ALLOW),
                statement(SAY, libc::SECCOMP_RET_TRAP),
            ];
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            // SAFETY: the filter is whole, and read before the call returns.
            let sealed = unsafe {
                (libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) == 0
                    || !cfg!(target_arch = "x86_64"))
                    && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0)
                        == 0
            };
            if !sealed {
                exit(UNSEEN);
            }
        }

        /// A turn is over: ends the twin if all memory is as it was after an earlier one, which it can be only if that
        /// `may_be`, or if there were enough turns. What is `dead` does not count. Returns whether memory was copied.
        pub(crate) fn compare(&mut self, dead: &[(usize, usize)], may_be: bool) -> bool {
            if self.turns > 0 && may_be && self.is_as_it_was(dead) {
                exit(REPEATS);
            }
            if self.turns >= TURNS {
                exit(CHANGES);
            }
            self.turns += 1;
            let copies = self.turns == self.next;
            if copies {
                self.next *= 2;
                self.copied = 0;
                if !self.each_page(dead, |memory, page| memory.copy(page)) {
                    exit(UNSEEN);
                }
            }
            copies
        }

        /// Is every page that is there what it was, and no page new?
        fn is_as_it_was(&mut self, dead: &[(usize, usize)]) -> bool {
            let mut at = 0;
            let same = self.each_page(dead, |memory, page| {
                // SAFETY: as many were noted.
                let noted = at < memory.copied && unsafe { memory.pages.add(at).read() } == page;
                at += 1;
                noted && memory.is_same(at - 1, page, dead)
            });
            same && at == self.copied
        }

        /// Does the page hold what it held, but for what is dead?
        fn is_same(&self, at: usize, page: usize, dead: &[(usize, usize)]) -> bool {
            let mut from = page;
            let end = page + self.page;
            while from < end {
                // The next piece that is dead, or the end.
                if let Some(inside) = dead.iter().find(|dead| dead.0 <= from && from < dead.1) {
                    from = inside.1;
                    continue;
                }
                let to = dead.iter().map(|dead| dead.0).filter(|&start| start > from).fold(end, usize::min);
                let now: *const c_void = std::ptr::with_exposed_provenance(from);
                // SAFETY: both are there, and nobody writes meanwhile.
                let same = unsafe {
                    let before = self.copies.add(at * self.page + (from - page));
                    libc::memcmp(now, before.cast(), to - from) == 0
                };
                if !same {
                    return false;
                }
                from = to;
            }
            true
        }

        fn copy(&mut self, page: usize) -> bool {
            if self.copied == MOST {
                return false;
            }
            let from: *const u8 = std::ptr::with_exposed_provenance(page);
            // SAFETY: the page is there, and there is room for its copy.
            unsafe {
                self.pages.add(self.copied).write(page);
                from.copy_to_nonoverlapping(self.copies.add(self.copied * self.page), self.page);
            }
            self.copied += 1;
            true
        }

        /// Looks at every page that is there and not dead, until `look` says no.
        fn each_page(
            &mut self,
            dead: &[(usize, usize)],
            mut look: impl FnMut(&mut Memory, usize) -> bool,
        ) -> bool {
            const AT_ONCE: usize = 256;
            let mut entries = [0_u64; AT_ONCE];
            for range in 0..self.count {
                // SAFETY: so many were noted.
                let (from, to) = unsafe { self.ranges.add(range).read() };
                let mut page = from;
                while page < to {
                    let several = ((to - page) / self.page).min(AT_ONCE);
                    let (size, offset) = (several * 8, (page / self.page * 8) as libc::off_t);
                    // SAFETY: there is room for so many.
                    let read = unsafe { libc::pread(self.table, entries.as_mut_ptr().cast(), size, offset) };
                    if usize::try_from(read) != Ok(size) {
                        exit(UNSEEN);
                    }
                    for (at, entry) in entries[..several].iter().enumerate() {
                        let this = page + at * self.page;
                        let is_dead = || dead.iter().any(|dead| dead.0 <= this && this + self.page <= dead.1);
                        // In memory, or put out of it for now.
                        let is_there = entry >> 62 != 0;
                        if is_there && !is_dead() && !look(self, this) {
                            return false;
                        }
                    }
                    page += several * self.page;
                }
            }
            true
        }
    }
}
