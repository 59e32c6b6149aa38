//! Every ordering of the data structures weakened alone: what the clients see is pinned. A number that
//! changes is a lost graph, a wrong verdict, or another client.

use linpoint_memory::structures::{Structure, Tally, weaker};
use linpoint_memory::{Model, Ordering};

/// Site, new ordering; complete graphs, failed assertions, graphs with a race, graphs that are not
/// linearizable for some client, and those of them without a race.
const TABLE: &str = "
Treiber
    as given           -            79     0      0    0    0
    push load          Relaxed      79     0      0    0    0
    push cas ok        Relaxed     517     0    984  170    0
    pop load           Relaxed     517     0    984  170    0
    pop cas ok         Relaxed      79     0      0    0    0
MichaelScott
    as given           -          2383     0      0    0    0
    enq tail load      Relaxed    3179     0   4024    0    0
    enq next load      Relaxed    3275   300   4892    0    0
    enq tail recheck   Relaxed    2383     0      0    0    0
    enq next cas ok    Relaxed   12575  2252  35560  440    0
    enq help tail cas  Relaxed    2383   120      0    0    0
    enq swing tail cas Relaxed    2831  1894   3404    0    0
    deq head load      Relaxed    3393   548    548   38   38
    deq tail load      Relaxed    2383  1738      0    0    0
    deq next load      Relaxed    6299   672  13272  172    0
    deq head recheck   Relaxed    2383     0      0    0    0
    deq help tail cas  Relaxed    2959   384   3624    0    0
    deq head cas ok    Relaxed    3393   548    548   38   38
Ticket
    as given           -             5     0      0    0    0
    wait for the turn  Relaxed      24     0     27   19    0
    store the turn     Relaxed      24     0     27   19    0
Seqlock
    as given           -            15     0      0    0    0
    write fence        Relaxed     280     0      0  224  224
    write even store   Relaxed     124     0      0   84   84
    read first load    Relaxed     239     0      0  188  188
    read fence         Relaxed     280     0      0  224  224
Ring(1)
    as given           -            20     0      0    0    0
    push head load     Relaxed      20     0     16    0    0
    push tail store    Relaxed      78     0     77   54    0
    pop tail load      Relaxed      78     0     77   54    0
    pop head store     Relaxed      20     0     16    0    0
ChaseLev
    as given           -           306     0      0    0    0
    push top load      Relaxed     306     0      0    0    0
    push fence         Relaxed     720     0      0  132  132
    pop fence          AcqRel      314     0      0    4    4
    pop fence          Relaxed     314     0      0    4    4
    pop cas ok         AcqRel      306     0      0    0    0
    pop cas ok         Relaxed     306     0      0    0    0
    steal top load     Relaxed     306     0      0    0    0
    steal fence        AcqRel      314     0      0    4    4
    steal fence        Relaxed     314     0      0    4    4
    steal bottom load  Relaxed     818     0      0  134  134
    steal cas ok       AcqRel      306     0      0    0    0
    steal cas ok       Relaxed     324     0      0    0    0
Register
    as given           -            76     0      0    0    0
    write              Relaxed      76     0      0    0    0
    read               Relaxed      76     0      0    0    0
";

const STRUCTURES: [Structure; 7] = [
    Structure::Treiber,
    Structure::MichaelScott,
    Structure::Ticket,
    Structure::Seqlock,
    Structure::Ring(1),
    Structure::ChaseLev,
    Structure::Register,
];

fn row(structure: Structure, site: &str, to: &str, orderings: &[Ordering]) -> Vec<String> {
    let tally = structure.tally(orderings, Model::Rc11);
    assert!(tally.is_whole, "{structure:?}: {site}");
    let Tally { complete, failed, races, violations, clean_violations, .. } = tally;
    let numbers = [complete, failed, races, violations, clean_violations].map(|number| number.to_string());
    let words = format!("{site} {to}");
    words.split_whitespace().map(str::to_string).chain(numbers).collect()
}

#[test]
fn every_ordering_weakened_alone() {
    let mut expected = TABLE.lines().filter(|line| !line.is_empty());
    let mut check = |found: &[String]| {
        let line = expected.next().unwrap_or("nothing more");
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), found);
    };
    for structure in STRUCTURES {
        check(&[format!("{structure:?}")]);
        check(&row(structure, "as given", "-", &structure.orderings()));
        for (site, &(name, ordering)) in structure.sites().iter().enumerate() {
            for &to in weaker(ordering) {
                check(&row(structure, name, &format!("{to:?}"), &structure.with_site(site, to)));
            }
        }
    }
    assert_eq!(expected.next(), None);
}
