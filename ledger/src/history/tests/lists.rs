//! Goal: the lists of a request are the same in whatever order requests are asked for. Method:
//! random chains over two conversations, each request's lists kept by hand beside it.

use proptest::prelude::*;

use super::*;

/// Conversation, base, and changes of head, messages and tail.
type Change = (u32, Option<u32>, [Vec<Splice<u32>>; 3]);

/// A history of such requests, and their lists.
fn chain(requests: Vec<Change>) -> (History, Vec<BodyLists>) {
    let mut builder = built(2);
    builder.push(2, session_opened(1, None)).unwrap();
    let parts = (0..8).map(|_| (new(Vec::new()), Cause::Inserted)).collect();
    builder.push(3, message_added(0, parts)).unwrap();
    let mut all: Vec<BodyLists> = Vec::new();
    for (number, (session, base, [head, items, tail])) in (0..).zip(requests) {
        let mut lists = base.map_or_else(BodyLists::default, |base| all[base as usize].clone());
        apply(&mut lists.head, &head);
        apply(&mut lists.items, &items);
        apply(&mut lists.tail, &tail);
        let used = |splices: Vec<Splice<u32>>| {
            let used =
                |s: Splice<u32>| splice(s.at, s.remove, s.insert.into_iter().map(known).collect());
            splices.into_iter().map(used).collect()
        };
        let items = items.iter().map(|s| super::items(s.at, s.remove, &s.insert)).collect();
        let splices = Splices { head: used(head), items, tail: used(tail) };
        let session = SessionId::new(session);
        let captured = RequestCaptured { session, splices, ..captured(number, base) };
        builder.push(4 + u64::from(number), Event::RequestCaptured(captured)).unwrap();
        all.push(lists);
    }
    (builder.finish().unwrap(), all)
}

/// Applies splices one after the other, from the end, so that positions stay what they were.
fn apply(list: &mut Vec<PartNo>, splices: &[Splice<u32>]) {
    for splice in splices.iter().rev() {
        let range = splice.at as usize..(splice.at + splice.remove) as usize;
        list.splice(range, splice.insert.iter().copied().map(PartNo::new));
    }
}

fn check(history: &History, expected: &[BodyLists], order: impl IntoIterator<Item = u32>) {
    let mut walker = ListWalker::new(history);
    for number in order {
        let found = walker.lists(RequestId::new(number));
        assert_eq!(found, Ok(&expected[number as usize]), "request {number}");
    }
}

/// What is drawn for one change: where, how much goes, what comes. Places are shares of the list.
type Draw = (u32, u32, Vec<u32>);

/// Splices that fit a list of `length` parts, and its length after them.
fn fitting(draws: &[Draw], length: u32) -> (Vec<Splice<u32>>, u32) {
    let (mut at, mut after) = (0, length);
    let mut splices = Vec::new();
    for (skip, remove, insert) in draws {
        let start = at + skip % (length - at + 1);
        let remove = remove % (length - start + 1);
        after = after - remove + u32::try_from(insert.len()).unwrap();
        splices.push(splice(start, remove, insert.clone()));
        at = start + remove;
    }
    (splices, after)
}

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let insert = prop::collection::vec(0..8_u32, 0..3);
    prop::collection::vec((0..100_u32, 0..3_u32, insert), 0..3)
}

proptest! {
    #[test]
    fn lists_are_the_same_in_any_order(
        drawn in prop::collection::vec(
            (0..2_u32, any::<Option<prop::sample::Index>>(), [draws(), draws(), draws()]), 1..16),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let count = u32::try_from(drawn.len()).unwrap();
        let mut lengths: Vec<[u32; 3]> = Vec::new();
        let mut requests = Vec::new();
        for (session, base, draws) in drawn {
            let base = base.filter(|_| !lengths.is_empty()).map(|base| base.index(lengths.len()));
            let mut length = base.map_or([0; 3], |base| lengths[base]);
            let mut list = 0;
            let splices = draws.map(|draws| {
                let (splices, after) = fitting(&draws, length[list]);
                length[list] = after;
                list += 1;
                splices
            });
            lengths.push(length);
            requests.push((session, base.map(|base| u32::try_from(base).unwrap()), splices));
        }
        let (history, expected) = chain(requests);
        check(&history, &expected, 0..count);
        check(&history, &expected, (0..count).rev());
        check(&history, &expected, (0..count).flat_map(|number| [number, number]));
        let order = order.iter().map(|at| u32::try_from(at.index(expected.len())).unwrap());
        check(&history, &expected, order);
    }
}

/// Two requests that append, a third that starts from empty lists.
fn three() -> (History, Vec<BodyLists>) {
    let one = |at, part| [vec![], vec![splice(at, 0, vec![part])], vec![]];
    chain(vec![(0, None, one(0, 1)), (0, Some(0), one(1, 2)), (0, None, one(0, 3))])
}

#[test]
fn a_request_without_base_starts_from_empty_lists() {
    let (history, expected) = three();
    let items =
        |number: usize| expected[number].items.iter().map(|part| part.number()).collect::<Vec<_>>();
    assert_eq!((items(0), items(1), items(2)), (vec![1], vec![1, 2], vec![3]));
    check(&history, &expected, [0, 1, 2, 1, 0, 2, 0]);
}

#[test]
fn a_request_that_is_not_there_is_an_error_and_changes_nothing() {
    let (history, expected) = three();
    let mut walker = ListWalker::new(&history);
    let unknown = Err(Base { request: RequestId::new(3) });
    assert_eq!(walker.lists(RequestId::new(3)), unknown);
    assert_eq!(walker.lists(RequestId::new(1)), Ok(&expected[1]));
    assert_eq!(walker.lists(RequestId::new(3)), unknown);
    assert_eq!(walker.lists(RequestId::new(1)), Ok(&expected[1]));
}

#[test]
fn a_change_that_does_not_fit_is_an_error_every_time_and_leaves_no_wrong_list_behind() {
    let (mut history, expected) = three();
    // No builder lets this through; a walker must not make anything of it either.
    history.requests[1].splices.tail = vec![super::items(9, 0, &[0])];
    for before in [None, Some(0), Some(2)] {
        let mut walker = ListWalker::new(&history);
        if let Some(before) = before {
            assert!(walker.lists(RequestId::new(before)).is_ok());
        }
        for _again in 0..3 {
            let bad = RequestId::new(1);
            assert_eq!(walker.lists(bad), Err(Base { request: bad }));
        }
        assert_eq!(walker.lists(RequestId::new(0)), Ok(&expected[0]));
        assert_eq!(walker.lists(RequestId::new(2)), Ok(&expected[2]));
    }
}
