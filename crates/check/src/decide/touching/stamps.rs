//! Fine stamps for coarse ones, and one order in time from several.

use linpoint_history::Operation;

use crate::timeline::count_before;

/// The same rows with stamps that say all that the order of the rows does: return i is at 2i+1, and a call is
/// right behind the return that it touches, or else as early as its stamp allows.
pub(super) fn as_logged(rows: &[Operation], completed: usize) -> Vec<Operation> {
    let done = &rows[..completed];
    let mut last: Vec<usize> = Vec::new();
    let refined = rows.iter().enumerate().map(|(index, row)| {
        let process = row.process().0 as usize;
        if process >= last.len() {
            last.resize(process + 1, usize::MAX);
        }
        let before = std::mem::replace(&mut last[process], index);
        let touched = done.get(before).filter(|before| before.ret == row.call).map(|_| before + 1);
        let gap = touched.unwrap_or_else(|| count_before(&done[..index.min(completed)], row.call));
        let mut refined = *row;
        refined.call = 2 * gap as i64;
        refined.ret = if row.is_pending() { row.ret } else { 2 * index as i64 + 1 };
        refined
    });
    refined.collect()
}

/// As [`as_logged`] for a log that was sorted by its coarse stamps, so that operations that began at an
/// earlier stamp stand before those that did not: such an operation may return any time before the next one
/// of its process, and the next one may be called any time at this stamp. That the two follow one another is
/// not said.
pub(super) fn as_sorted(rows: &[Operation], completed: usize) -> Vec<Operation> {
    let done = &rows[..completed];
    let processes = rows.iter().map(|row| row.process().0 as usize + 1).max().unwrap_or(0);
    let (mut next, mut last) = (vec![usize::MAX; processes], vec![usize::MAX; processes]);
    let mut refined = rows.to_vec();
    let mut from = 0;
    for same in done.chunk_by(|a, b| a.ret == b.ret) {
        let mut order: Vec<(usize, bool, usize)> = Vec::with_capacity(same.len());
        for (index, row) in same.iter().enumerate().rev() {
            let later = std::mem::replace(&mut next[row.process().0 as usize], from + index);
            let is_long = row.call < row.ret;
            let later = later.min(from + same.len());
            order.push((if is_long { later } else { from + index }, !is_long, from + index));
        }
        order.sort_unstable();
        for (place, (_, _, index)) in order.into_iter().enumerate() {
            refined[index].ret = 2 * (from + place) as i64 + 1;
        }
        same.iter().for_each(|row| next[row.process().0 as usize] = usize::MAX);
        from += same.len();
    }
    for (index, row) in rows.iter().enumerate() {
        let before = std::mem::replace(&mut last[row.process().0 as usize], index);
        let gap = || 2 * count_before(&done[..index.min(completed)], row.call) as i64;
        refined[index].call = match done.get(before) {
            Some(before_row) if before_row.ret == row.call && before_row.call == before_row.ret => {
                refined[before].ret + 1
            }
            _ => gap(),
        };
    }
    refined
}

/// One plan of several: each order respects stamps, so an operation can take effect at the latest call so
/// far, and by that time they are merged.
pub(super) fn merged(rows: &[Operation], plans: Vec<Vec<u32>>) -> Vec<u32> {
    let mut timed: Vec<(i64, u32)> = Vec::with_capacity(rows.len());
    let several = plans.len() > 1;
    for plan in plans {
        let mut latest = i64::MIN;
        timed.extend(plan.into_iter().map(|row| {
            latest = latest.max(rows[row as usize].call);
            (latest, row)
        }));
    }
    if several {
        timed.sort_by_key(|(time, _)| *time);
    }
    timed.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use linpoint_history::history::{return_order, sort_as_logged};
    use linpoint_history::rng::Rng;
    use linpoint_history::{OpCode, ProcessId};

    use super::*;

    /// What the history says is said by the fine stamps too; where a log was sorted, what its stamps say.
    #[test]
    fn fine_stamps_keep_every_precedence() {
        let mut rng = Rng::new(3);
        for round in 0..2000 {
            let mut rows: Vec<Operation> = Vec::new();
            for process in 0..1 + rng.below(5) as u32 {
                let mut times: Vec<i64> = (0..2 * rng.below(6)).map(|_| rng.below(5) as i64).collect();
                times.sort_unstable();
                for pair in times.chunks(2) {
                    let mut row = Operation::new(ProcessId(process), OpCode(0));
                    (row.call, row.ret) = (pair[0], pair[1]);
                    rows.push(row);
                }
                if let Some(row) = rows.last_mut().filter(|row| row.process().0 == process && rng.chance(0.2))
                {
                    row.ret = Operation::NEVER;
                }
            }
            if round % 2 == 0 {
                rows.sort_by_key(return_order);
            }
            sort_as_logged(&mut rows);
            let completed = rows.partition_point(|row| !row.is_pending());
            let (logged, sorted) = (as_logged(&rows, completed), as_sorted(&rows, completed));
            for (a, b) in
                (0..rows.len()).flat_map(|a| (0..rows.len()).map(move |b| (a, b))).filter(|(a, b)| a != b)
            {
                let in_time = rows[a].ret < rows[b].call;
                let in_process = rows[a].process() == rows[b].process() && a < b;
                assert!(!(in_time || in_process) || logged[a].ret < logged[b].call, "{rows:?} {logged:?}");
                assert!(!in_time || sorted[a].ret < sorted[b].call, "{rows:?} {sorted:?}");
            }
            assert!(logged.iter().chain(&sorted).all(|row| row.call < row.ret));
        }
    }
}
