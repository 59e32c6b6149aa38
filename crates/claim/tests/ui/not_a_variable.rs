use linpoint_claim::tressa;

fn main() {
    let x = 5;
    tressa!(Exit(x) == 1);
}
