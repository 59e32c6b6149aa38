use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    tressa!(Last(x, Wr, {me}, x) == 1);
}
