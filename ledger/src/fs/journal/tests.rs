//! Goal: nobody waits for ever. Method: a commit that panics while others come in.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[test]
fn s10_who_waits_for_a_leader_that_panics_is_woken() {
    let group = Group::<u64, ()>::new(usize::MAX);
    let (leads, waits) = (AtomicBool::new(false), AtomicBool::new(false));
    let commit = |jobs: Vec<u64>| {
        if jobs.contains(&0) {
            leads.store(true, Ordering::SeqCst);
            // Until somebody else has come in, and most likely waits.
            while !waits.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            (0..1000).for_each(|_| std::thread::yield_now());
            panic!("a commit that panics");
        }
    };
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| group.run(0, 1, commit));
        while !leads.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        waits.store(true, Ordering::SeqCst);
        assert_eq!(group.run(1, 1, commit), Some(((), 0)));
        leader.join().unwrap_err();
    });
}
