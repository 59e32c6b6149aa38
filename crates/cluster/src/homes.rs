//! Where objects live: the worker that checks an object, which all its operations travel to.
//!
//! Any choice is right as long as all sources make the same. Two are made here:
//!
//! - **By name**: a hash of specification and key. It needs to know nothing, so it serves streams, whose keys
//!   nobody knows beforehand.
//! - **Where they are read**: files are read twice, so after the first reading all keys are known. The
//!   workers tell each other which they have: each key to its *clerk*, the worker that has it by name. A key
//!   that the sources of one worker have to themselves stays there, and its rows do not travel; one that
//!   several have goes to its home by name. A fleet whose servers log each their own part of the keys
//!   exchanges next to nothing.
//!
//! **Balance.** A worker that reads more than its part of all rows keeps only that part of its own keys, and
//! gives the others, by their hash, to those that read less.
//!
//! **All sources agree.** What a clerk says of a key depends on the key's hash, on who has it and on how many
//! rows each worker reads, and is said to all who have it. Two keys with one hash share their fate, which
//! does no harm. The object without a name, and a key called null, which is the same, always live by name. If
//! a single source of a run does not know its keys, all objects live by name. A file that has another key
//! when it is read again has changed, and cannot be read on.

use linpoint_history::rng::mix;
use linpoint_history::{KeyId, Symbols, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use timely::worker::Worker;

use crate::everyone;
use crate::run::Named;
use crate::wire::write_value;

/// The home of an object by name: the same on every machine.
pub fn by_name(spec: &str, key: &Value, workers: usize) -> u64 {
    home_of(hash(spec, key, &mut Vec::new()), workers)
}

fn home_of(hash: u64, workers: usize) -> u64 {
    (hash ^ hash >> 32) % workers.max(1) as u64
}

/// FNV-1a; `bytes` is room for it.
fn hash(spec: &str, key: &Value, bytes: &mut Vec<u8>) -> u64 {
    bytes.clear();
    bytes.extend_from_slice(spec.as_bytes());
    write_value(key, bytes);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The homes of the keys of a worker's sources.
#[derive(Default)]
pub(crate) struct Assigned {
    /// For each source, by key; none: by name.
    pub homes: Vec<Option<Vec<u16>>>,
    /// Of what is checked, all keys and who has them: a run that goes on must have the same, or objects were
    /// elsewhere, and others.
    pub basis: u64,
}

/// What a worker tells a clerk, in parts: Timely's buffers stay as large as the largest message was.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Claim {
    worker: u64,
    part: u64,
    /// Are all keys of its sources known?
    known: bool,
    /// Rows that its sources have.
    rows: u64,
    /// Of what it checks: the files, and all their keys.
    digest: u64,
    /// Keys of its sources that this is the clerk of.
    hashes: Vec<u64>,
}

/// What a clerk answers to a claim: who, to which part, and the homes of those keys.
type Answer = (u64, u64, Vec<u16>);

/// The hashes of a source's keys; none of one called null.
type Keys = Vec<Option<u64>>;

/// Keys in a part.
const PART: usize = 1 << 13;

/// The keys of each source, and what their clerks are told. Everyone hears of everyone, whether there are
/// keys or not.
fn claims(own: u64, peers: usize, feeds: &[Named], of: &str) -> (Vec<Keys>, Vec<(u64, Claim)>) {
    let known = feeds.iter().all(|named| named.feed.knows_keys());
    let rows = feeds.iter().filter_map(|named| named.feed.total()).sum();
    let keys: Vec<Keys> =
        if known { feeds.iter().map(|named| hashes(named).collect()).collect() } else { Vec::new() };
    let mut claimed = vec![Vec::new(); peers];
    let mut digest = hash(of, &Value::Null, &mut Vec::new());
    for hash in keys.iter().flatten().flatten() {
        claimed[home_of(*hash, peers) as usize].push(*hash);
        digest = digest.wrapping_add(mix(*hash));
    }
    let mut claims = Vec::new();
    for (clerk, hashes) in (0..).zip(&claimed) {
        let parts = if hashes.is_empty() { vec![[].as_slice()] } else { hashes.chunks(PART).collect() };
        for (part, hashes) in (0..).zip(parts) {
            let hashes = hashes.to_vec();
            claims.push((clerk, Claim { worker: own, part, known, rows, digest, hashes }));
        }
    }
    (keys, claims)
}

/// Assigns homes to all keys, together with all other workers; `of` says what this one checks.
pub(crate) fn assign(worker: &mut Worker, feeds: &[Named], of: &str) -> Assigned {
    let (own, peers) = (worker.index() as u64, worker.peers());
    let by_name = |basis| Assigned { homes: feeds.iter().map(|_| None).collect(), basis };
    if peers == 1 {
        return by_name(0);
    }
    let (keys, claims) = claims(own, peers, feeds, of);
    let mut claims = everyone::exchange(worker, claims);
    claims.sort_by_key(|claim| (claim.worker, claim.part));
    let firsts = || claims.iter().filter(|claim| claim.part == 0);
    let known = firsts().all(|claim| claim.known);
    let basis = firsts().fold(u64::from(known), |basis, claim| mix(mix(basis ^ claim.rows) ^ claim.digest));
    if !known {
        return by_name(basis);
    }
    let rows: Vec<u64> = firsts().map(|claim| claim.rows).collect();
    let answers = answers(&claims, &Balance::new(&rows), own as u16);
    let answers = claims.iter().zip(answers).map(|(claim, homes)| (claim.worker, (own, claim.part, homes)));
    let mut answers = everyone::exchange(worker, answers.collect::<Vec<(u64, Answer)>>());
    answers.sort_by_key(|&(clerk, part, _)| (clerk, part));
    let mut told = vec![Vec::new(); peers];
    for (clerk, _, homes) in answers {
        told[clerk as usize].extend(homes);
    }
    let mut told: Vec<_> = told.into_iter().map(Vec::into_iter).collect();
    let mut home = |hash: &Option<u64>, spec: &str| match *hash {
        Some(hash) => told[home_of(hash, peers) as usize].next(),
        None => Some(self::by_name(spec, &Value::Null, peers) as u16),
    };
    let homes = feeds.iter().zip(&keys).map(|(named, keys)| {
        keys.iter().map(|hash| home(hash, &named.about.spec)).collect::<Option<Vec<u16>>>()
    });
    let homes: Option<Vec<_>> = homes.collect();
    let homes = homes.expect("every key was claimed, and every claim is answered");
    Assigned { homes: homes.into_iter().map(Some).collect(), basis }
}

/// See [`Keys`].
fn hashes(named: &Named) -> impl Iterator<Item = Option<u64>> {
    let symbols: &Symbols = named.feed.symbols();
    let mut bytes = Vec::new();
    (0..symbols.key_count()).map(move |key| {
        let name = symbols.key_name(KeyId(key as u32));
        (name != Value::Null).then(|| hash(&named.about.spec, &name, &mut bytes))
    })
}

/// What a clerk answers to each claim.
fn answers(claims: &[Claim], balance: &Balance, clerk: u16) -> Vec<Vec<u16>> {
    // The only worker that has a key, if there is only one.
    let all: usize = claims.iter().map(|claim| claim.hashes.len()).sum();
    let mut owners: FxHashMap<u64, Option<u16>> =
        FxHashMap::with_capacity_and_hasher(all, Default::default());
    for claim in claims {
        let owner = claim.worker as u16;
        for &hash in &claim.hashes {
            let only = owners.entry(hash).or_insert(Some(owner));
            *only = only.filter(|only| *only == owner);
        }
    }
    let home = |hash: &u64| match owners[hash] {
        Some(only) => balance.home(*hash, only),
        None => clerk,
    };
    claims.iter().map(|claim| claim.hashes.iter().map(home).collect()).collect()
}

/// Which part of the keys that a worker has to itself stays with it, and where the others go.
struct Balance {
    /// Of 2^32.
    stays: Vec<u64>,
    /// What the workers up to this one could take.
    room: Vec<u64>,
}

impl Balance {
    /// Workers read so many rows each.
    fn new(rows: &[u64]) -> Balance {
        let all: u128 = rows.iter().map(|&rows| u128::from(rows)).sum();
        let fair = (all / rows.len().max(1) as u128) as u64;
        let stays = |&own: &u64| match own {
            // A little more is not worth a journey.
            own if own <= fair.saturating_add(fair / 16) => 1 << 32,
            own => ((u128::from(fair) << 32) / u128::from(own)) as u64,
        };
        let mut all = 0u64;
        let room = rows.iter().map(|&own| {
            all = all.saturating_add(fair.saturating_sub(own));
            all
        });
        Balance { stays: rows.iter().map(stays).collect(), room: room.collect() }
    }

    /// The home of a key that only this worker has.
    fn home(&self, hash: u64, only: u16) -> u16 {
        let (draw, stays) = (mix(hash) >> 32, self.stays[usize::from(only)]);
        let room = self.room.last().copied().unwrap_or_default();
        if draw < stays || room == 0 {
            return only;
        }
        let point = u128::from(draw - stays) * u128::from(room) / u128::from((1 << 32) - stays);
        self.room.partition_point(|&upto| u128::from(upto) <= point) as u16
    }
}

/// The worker of each key, in as few bits as the number of workers needs: it is asked for with every row, for
/// keys all over it.
pub(crate) struct Table {
    words: Vec<u64>,
    /// A power of two, so that no key is in two words; its logarithm.
    bits: u32,
    count: usize,
    /// The home of all, while they have the same.
    only: Option<usize>,
}

impl Table {
    /// Of a run with so many workers.
    pub fn new(workers: usize) -> Table {
        let needed = usize::BITS - workers.saturating_sub(1).leading_zeros();
        Table { words: Vec::new(), bits: needed.max(1).next_power_of_two().ilog2(), count: 0, only: None }
    }

    /// Keys so far.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The home of all keys, if they have the same.
    pub fn only(&self) -> Option<usize> {
        self.only
    }

    /// The home of the next key.
    pub fn push(&mut self, home: usize) {
        let (word, shift) = self.place(self.count);
        if word == self.words.len() {
            self.words.push(0);
        }
        self.words[word] |= (home as u64) << shift;
        self.only = if self.count == 0 { Some(home) } else { self.only.filter(|&only| only == home) };
        self.count += 1;
    }

    /// The home of a key.
    #[inline]
    pub fn of(&self, key: usize) -> usize {
        let (word, shift) = self.place(key);
        (self.words[word] >> shift & ((1 << (1 << self.bits)) - 1)) as usize
    }

    #[inline]
    fn place(&self, key: usize) -> (usize, u32) {
        let each = 6 - self.bits;
        (key >> each, ((key & ((1 << each) - 1)) as u32) << self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Feed, FileFeed, Unreadable};
    use crate::wire::About;
    use linpoint_history::rng::Rng;
    use linpoint_history::specs::codes;
    use linpoint_history::{Diagnostic, Operation, specs};

    #[test]
    fn a_home_comes_back_for_any_number_of_workers() {
        let mut rng = Rng::new(3);
        for workers in [1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 1 << 16] {
            let mut homes = Table::new(workers);
            let wanted: Vec<usize> = (0..500).map(|_| rng.below(workers as u64) as usize).collect();
            wanted.iter().for_each(|&home| homes.push(home));
            assert!((0..500).all(|key| homes.of(key) == wanted[key]), "{workers} workers");
            assert_eq!(homes.only(), (workers == 1).then_some(0));
        }
    }

    /// The keys of each worker, as numbers; how many live where.
    fn counts(rows: &[u64], keys: &[Vec<u64>]) -> Vec<usize> {
        let claim = |worker: usize| Claim {
            worker: worker as u64,
            part: 0,
            known: true,
            rows: rows[worker],
            digest: 0,
            hashes: keys[worker].iter().map(|&key| mix(key)).collect(),
        };
        let claims: Vec<Claim> = (0..rows.len()).map(claim).collect();
        let mut homes: FxHashMap<u64, u16> = FxHashMap::default();
        for clerk in 0..rows.len() {
            let own = |hash: &u64| home_of(*hash, rows.len()) == clerk as u64;
            let part = |claim: &Claim| Claim {
                hashes: claim.hashes.iter().copied().filter(own).collect(),
                ..claim.clone()
            };
            let part: Vec<Claim> = claims.iter().map(part).collect();
            for (answered, claim) in answers(&part, &Balance::new(rows), clerk as u16).iter().zip(&part) {
                for (&hash, &home) in claim.hashes.iter().zip(answered) {
                    assert_eq!(*homes.entry(hash).or_insert(home), home, "all hear the same of a key");
                }
            }
        }
        let mut counts = vec![0; rows.len()];
        homes.values().for_each(|&home| counts[usize::from(home)] += 1);
        counts
    }

    #[test]
    fn keys_stay_where_they_are_read_as_far_as_all_have_the_same_to_do() {
        let keys = |range: std::ops::Range<u64>| range.collect::<Vec<_>>();
        assert_eq!(counts(&[500, 510], &[keys(0..1_000), keys(1_000..1_500)]), [1_000, 500]);
        let near = |counts: Vec<usize>, wanted: &[usize]| {
            let close = counts.iter().zip(wanted).all(|(count, wanted)| count.abs_diff(*wanted) < 300);
            assert!(close, "{counts:?}, {wanted:?}");
        };
        // One reads everything, or three times as much.
        near(counts(&[900, 0, 0], &[keys(0..9_000), vec![], vec![]]), &[3_000; 3]);
        near(counts(&[750, 250], &[keys(0..7_500), keys(7_500..10_000)]), &[5_000; 2]);
        // Who has no room gets nothing.
        near(counts(&[1_000, 500, 0], &[keys(0..10_000), keys(10_000..15_000), vec![]]), &[5_000; 3]);
        // Keys of several go by name.
        near(counts(&[10, 990], &[keys(0..10_000), keys(0..10_000)]), &[5_000; 2]);
        near(counts(&[0; 2], &[keys(0..10_000), keys(10_000..20_000)]), &[10_000; 2]);
    }

    /// The homes of two keys each of two workers, which check what `of` says; and by what.
    fn assigned(of: [&'static str; 2], keys: [[i64; 2]; 2], know: bool) -> Vec<(Vec<Option<Vec<u16>>>, u64)> {
        let work = move |worker: &mut Worker| {
            let own = worker.index();
            let mut symbols = Symbols::new();
            let rows = keys[own].iter().map(|&key| {
                let process = symbols.process(&Value::Int(0));
                let mut row = Operation::new(process, codes::register::READ);
                (row.call, row.ret, row.key) = (key, key, symbols.key(&Value::Int(key)));
                row
            });
            let rows: Vec<Operation> = rows.collect();
            let spec = specs::parse("register").expect("a specification");
            let about = About { name: String::new(), spec: "register".to_owned(), initial: None, epsilon: 0 };
            let feed: Box<dyn Feed> = match know {
                true => Box::new(FileFeed::of(rows, symbols, &spec).expect("rows")),
                false => Unreadable::source(&Diagnostic::new("T000", "", "")).feed,
            };
            let Assigned { homes, basis } = assign(worker, &[Named { about, feed }], of[own]);
            (homes, basis)
        };
        let guards = timely::execute(timely::Config::process(2), work).expect("two workers");
        guards.join().into_iter().map(|result| result.expect("no panic")).collect()
    }

    #[test]
    fn what_homes_are_assigned_by_is_the_same_for_all_and_no_other_runs() {
        let usual = assigned(["a", "b"], [[1, 2], [3, 4]], true);
        assert_eq!(usual[0].0, [Some(vec![0, 0])]);
        assert_eq!(usual[1].0, [Some(vec![1, 1])]);
        assert_eq!(usual[0].1, usual[1].1);
        assert_eq!(assigned(["a", "b"], [[1, 2], [3, 4]], true), usual);
        // One that both have.
        let shared = assigned(["a", "b"], [[1, 2], [2, 4]], true);
        let home = by_name("register", &Value::Int(2), 2) as u16;
        assert_eq!((&shared[0].0, &shared[1].0), (&vec![Some(vec![0, home])], &vec![Some(vec![home, 1])]));
        let unknown = assigned(["a", "b"], [[1, 2], [3, 4]], false);
        assert_eq!(unknown[0].0, [None]);
        let others = [
            shared,
            assigned(["a", "c"], [[1, 2], [3, 4]], true),
            assigned(["a", "c"], [[1, 2], [3, 4]], false),
            unknown,
            assigned(["a", "b"], [[1, 2], [3, 5]], true),
            usual,
        ];
        let bases: std::collections::BTreeSet<u64> = others.iter().map(|both| both[0].1).collect();
        assert_eq!(bases.len(), others.len());
    }
}
