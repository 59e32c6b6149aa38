//! Near misses: what a name that nothing has was probably meant to be.

/// `did you mean `top`?`, or nothing if nothing is near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |best| format!("did you mean `{best}`?"))
}

/// The known name nearest to `name`, if any is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| {
            let length = candidate.chars().count();
            *distance <= (length.max(2) / 2).min(3) && *distance < length.max(name.chars().count())
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits between two names; swapping two neighbours is one.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let known = ["top", "push", "Node", "next"];
        assert_eq!(nearest("tpo", known), Some("top"));
        assert_eq!(nearest("node", known), Some("Node"));
        assert_eq!(nearest("nxt", known), Some("next"));
        assert_eq!(nearest("elephant", known), None);
        assert_eq!(nearest("z", ["f"]), None);
    }
}
