//! Random programs: the exploration meets the graphs that the enumerator finds, each once. The example
//! `agree` does the same by the hundred thousand.

use linpoint_memory::machine::Machine;
use linpoint_memory::{Model, Options, Schedule, WorkOrder, litmus, oracle, random};

fn program(seed: u64) -> (String, Machine) {
    let text = random::program(seed);
    let program = litmus::read_program(&text).expect("what is generated is in the notation");
    (text, program)
}

fn check_agreement(options: impl Fn(u64) -> Options) {
    let mut graphs = 0;
    for seed in 1_000_000..1_000_400 {
        let (text, mut program) = program(seed);
        match oracle::agrees(&mut program, &options(seed)) {
            Some(Ok(met)) => graphs += met,
            Some(Err(why)) => panic!("seed {seed}: {text}\n{why:?}"),
            None => {}
        }
    }
    assert!(graphs > 1000, "only {graphs} graphs");
}

#[test]
fn rc11_agrees() {
    check_agreement(|_| Options::of(Model::Rc11));
}

#[test]
fn rc11_of_2017_agrees() {
    check_agreement(|_| Options::of(Model::Rc11Text2017));
}

#[test]
fn sc_agrees() {
    check_agreement(|_| Options::of(Model::Sc));
}

#[test]
fn schedules_and_work_orders_make_no_difference() {
    check_agreement(|seed| {
        let mut options = Options::of(if seed % 2 == 0 { Model::Rc11 } else { Model::Sc });
        options.schedule = if seed % 3 == 0 { Schedule::RightToLeft } else { Schedule::Random(seed) };
        options.order = if seed % 5 < 2 { WorkOrder::FirstIn } else { WorkOrder::Random };
        options
    });
}
