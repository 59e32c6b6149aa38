use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    tressa!(Last(x, Wr, {me}) == 1);
    tressa!(Last(x, Wr, {me}, true) == 1);
    tressa!(Last(x, Wr, {me}, { x.get() > 1 }) == 1);
}
