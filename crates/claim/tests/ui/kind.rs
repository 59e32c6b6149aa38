use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    tressa!(First(x, Write, {me}) == 1);
    tressa!(First(x, 3, {me}) == 1);
}
