use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    tressa!(Exit() == 1);
    tressa!(Exit(x, x) == 1);
}
