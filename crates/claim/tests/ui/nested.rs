use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    tressa!(First(x, Wr, {me}) == 1 && Last(x, Wr, {me}, Exit(x)) == 1);
}
