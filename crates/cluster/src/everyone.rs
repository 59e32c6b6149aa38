//! Something that all workers do together before they go on.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use timely::ExchangeData;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::{Input, Probe, probe};
use timely::worker::Worker;

/// Sends each message to the worker with that number; what came in here, in any order, once everyone has
/// sent.
pub(crate) fn exchange<M: ExchangeData + Clone>(
    worker: &mut Worker,
    messages: impl IntoIterator<Item = (u64, M)>,
) -> Vec<M> {
    let all: Rc<RefCell<Vec<M>>> = Rc::default();
    let handle = probe::Handle::new();
    let kept = Rc::clone(&all);
    let mut input = worker.dataflow::<u64, _, _>(|scope| {
        let (input, stream) = scope.new_input::<Vec<(u64, M)>>();
        stream
            .unary(Exchange::new(|(target, _): &(u64, M)| *target), "everyone", move |_, _| {
                move |input, output| {
                    input.for_each(|time, data| {
                        kept.borrow_mut().extend(data.drain(..).map(|(_, message)| message));
                        output.session(&time).give(());
                    });
                }
            })
            .container::<Vec<()>>()
            .probe_with(&handle);
        input
    });
    messages.into_iter().for_each(|message| input.send(message));
    input.close();
    while !handle.done() {
        worker.step_or_park(Some(Duration::from_millis(50)));
    }
    all.take()
}
