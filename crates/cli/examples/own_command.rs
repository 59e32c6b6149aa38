//! The whole command `linpoint`, and a specification of one's own by name:
//! `cargo run -p linpoint-cli --example own_command -- check tickets.jsonl --spec Tickets`.

use linpoint::history::{Catalog, own};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Tickets(u32);

#[linpoint::spec]
impl Tickets {
    fn take(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

fn main() -> std::process::ExitCode {
    let mut catalog = Catalog::default();
    catalog.add(own::<Tickets>().expect("histories can hold it")).expect("no other has the name");
    linpoint_cli::run(catalog)
}
