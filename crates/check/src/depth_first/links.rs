//! Lists of what is missing, from which operations are taken and to which they are given back in reverse
//! order: a link that is cut out remembers its neighbours (the dancing links of Knuth 2000).

/// Missing operations in order of call.
#[derive(Clone, Debug)]
pub(crate) struct Calls(Links);

/// Missing completed operations in order of return; their number is one past the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Returns(Links);

impl Calls {
    /// All that are `wanted`.
    pub(crate) fn new(earliest: &[u32], wanted: impl Fn(u32) -> bool) -> Calls {
        let mut order: Vec<u32> = (0..earliest.len() as u32).filter(|&op| wanted(op)).collect();
        order.sort_by_key(|&op| earliest[op as usize]);
        Calls(Links::new(earliest.len() as u32, &order))
    }

    /// Those of `order`, of operations below `end`, as they stand there.
    pub(crate) fn in_order(end: u32, order: &[u32]) -> Calls {
        Calls(Links::new(end, order))
    }

    pub(crate) fn first(&self) -> Option<u32> {
        self.after(self.0.end())
    }

    pub(crate) fn after(&self, op: u32) -> Option<u32> {
        Some(self.0.next[op as usize]).filter(|&next| next != self.0.end())
    }

    pub(crate) fn remove(&mut self, op: u32) {
        self.0.remove(op);
    }

    pub(crate) fn put_back(&mut self, op: u32) {
        self.0.put_back(op);
    }
}

impl Returns {
    pub(crate) fn new(completed: u32) -> Returns {
        Returns(Links::new(completed, &(0..completed).collect::<Vec<u32>>()))
    }

    /// The first missing return; one past the last if none is missing.
    pub(crate) fn first(&self) -> u32 {
        self.0.next[self.0.end() as usize]
    }

    pub(crate) fn remove(&mut self, op: u32) {
        self.0.remove(op);
    }

    pub(crate) fn put_back(&mut self, op: u32) {
        self.0.put_back(op);
    }
}

/// A ring with one link that is always there, the end.
#[derive(Clone, Debug)]
struct Links {
    next: Vec<u32>,
    before: Vec<u32>,
}

impl Links {
    fn new(end: u32, order: &[u32]) -> Links {
        let size = end as usize + 1;
        let mut links = Links { next: vec![end; size], before: vec![end; size] };
        let mut last = end;
        for &op in order {
            links.next[last as usize] = op;
            links.before[op as usize] = last;
            last = op;
        }
        links.next[last as usize] = end;
        links.before[end as usize] = last;
        links
    }

    fn end(&self) -> u32 {
        self.next.len() as u32 - 1
    }

    fn remove(&mut self, op: u32) {
        let (before, next) = (self.before[op as usize], self.next[op as usize]);
        self.next[before as usize] = next;
        self.before[next as usize] = before;
    }

    fn put_back(&mut self, op: u32) {
        let (before, next) = (self.before[op as usize], self.next[op as usize]);
        self.next[before as usize] = op;
        self.before[next as usize] = op;
    }
}
