use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    tressa!(First(x, Wr, {}) == 1);
    tressa!(First(x, Wr, {"me"}) == 1);
}
