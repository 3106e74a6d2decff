//! What counts as a difference.

use super::Entry;
use super::file::tests::entry;

#[test]
fn every_member_counts_and_is_told_apart() {
    let before = entry("a");
    let now = |change: &dyn Fn(&mut Entry)| {
        let mut now = entry("a");
        change(&mut now);
        before.differences(&now)
    };
    assert_eq!(now(&|_same| {}), Vec::<String>::new());
    let head = now(&|entry| entry.head = "2:b".to_owned());
    assert_eq!(head, ["rewritten history: the same bodies under another head, 2:b, accepted 1:a"]);
    let bodies = now(&|entry| {
        entry.bodies = "c".to_owned();
        entry.head = "2:b".to_owned();
    });
    assert_eq!(bodies, ["other bodies: c, accepted b", "other head: 2:b, accepted 1:a"]);
    assert_eq!(now(&|entry| entry.requests = 2), ["other count: 2 requests, accepted 1"]);
    assert_eq!(now(&|entry| entry.run = "s".to_owned()), ["other run: s, accepted r"]);
    let rung = now(&|entry| entry.rung = "lossy".to_owned());
    assert_eq!(rung, ["other worst rung: lossy, accepted body-exact"]);
}
