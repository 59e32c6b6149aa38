//! Real concurrent objects in Rust, each correct and broken, that the explorer and the monitor are run on.
//!
//! Every object is written against `linpoint::sync`, `linpoint::cell` and `linpoint::thread` as it would be written
//! against std. What is wrong with a broken one is a single *mutation*: a constant in the type, named in the file's
//! documentation together with the failure to expect. `Stack<CORRECT>` and `Stack<POP_BY_STORE>` are the same code but
//! for one branch, which the compiler removes from the other.
//!
//! | file | object | mutations |
//! |---|---|---|
//! | [`snapshot`] | two cells with versions, read together | `SEPARATE_VERSION` |
//! | [`elimination_stack`] | stack whose pushes and pops may cancel out | `COLLIDE_BY_STORE`, `WRONG_CLAIM` |
//! | [`bartok_stm`] | transactional memory with updates in place | `OWNED_IS_MINE`, `ABORT_KEEPS_VERSION`, `UNDO_FORWARD` |
//! | [`treiber_stack`] | stack of linked nodes | `POP_BY_STORE` |
//! | [`reusing_stack`] | the same with nodes used again | `UNTAGGED` |
//! | [`michael_scott_queue`] | queue of linked nodes | `LINK_BY_STORE` |
//! | [`two_lock_queue`] | queue with a lock an end | `SPLIT_DEQUEUE` |
//! | [`swap_queue`] | queue that swaps the tail, then links | `EMPTY_IF_UNLINKED` |
//! | [`lazy_list_set`] | sorted list with a lock a node | `NO_VALIDATION`, `NO_MARKED_CHECK` |
//! | [`vyukov_ring`] | bounded queue in an array | `PUBLISH_FIRST`, `CLAIM_BY_STORE` |
//! | [`seqlock`] | pair of words read without a lock | `NO_SECOND_READ` |
//! | [`ticket_lock`] | counter behind a fair lock | `SPLIT_TICKET` |
//! | [`chase_lev_deque`] | work-stealing deque | `TAKE_WITHOUT_CAS` |
//!
//! [`priority`] has priority queues, with [`stm`] below two of them, and [`sets`] lists and hash sets: larger objects that are explored, recorded with real
//! threads ([`record`]) under loads that [`guide`] may choose, held up inside an operation where [`stall`] is told to, and evaluated. Where nodes are freed while the object lives, [`reclaim`] says when.
//!
//! [`monitored`] has the objects of the runtime monitor: larger, with real threads only.
//!
//! The snapshot, the elimination stack and the transactional memory also make claims about the future
//! (`linpoint::tressa!`), where a constant in the type asks for them.
//!
//! Nodes live as long as the object they belong to ([`arena`]): reclaiming them earlier is a subject of its own, and
//! a broken variant must not be able to reach freed memory. [`spec`] has the sequential objects that say what is
//! right.

pub mod arena;
pub mod bartok_stm;
pub mod catalogue;
pub mod chase_lev_deque;
pub mod elimination_stack;
pub mod guide;
pub mod lazy_list_set;
pub mod michael_scott_queue;
pub mod monitored;
pub mod priority;
pub mod reclaim;
pub mod record;
pub mod reusing_stack;
pub mod seqlock;
pub mod sets;
pub mod snapshot;
pub mod spec;
pub mod stall;
pub mod stm;
pub mod swap_queue;
pub mod ticket_lock;
pub mod treiber_stack;
pub mod two_lock_queue;
pub mod vyukov_ring;

/// The mutation of an object that has none.
pub const CORRECT: u8 = 0;
