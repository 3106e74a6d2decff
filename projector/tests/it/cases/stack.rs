//! Goal: a `stack` step puts away what its system would put away, keeps the turns that it would
//! keep, and says where it cannot know. Method: runs of a few turns, every number by hand.

use projector::maka::archive::{self, Origin};
use projector::maka::json::Json;
use projector::policy::op::{OverHistory, Stack, StackActive, StackStale, StackSystem};
use projector::policy::presets;
use projector::projection::StackAccount;
use projector::{Account, Fidelity, Policy, Projector};

use super::{WHOLE, done, last, policy, results};
use crate::property::fold;
use crate::run::{Made, Run};
use projector::policy::Step;

fn stack() -> Stack {
    Stack {
        system: StackSystem::MakaF19eede,
        units_per_token_per_mille: 4_000,
        stale: Some(StackStale { above_tokens: 10, keep_turns: 1 }),
        active: Some(StackActive { above_tokens: 20, superseded_from_tokens: 5, from_step: 1 }),
        history_tokens: None,
        history_turns: None,
        min_recent_turns: 1,
        over_history: OverHistory::Drop,
        read_instructions: "read it".to_owned(),
    }
}

fn under(stack: Stack) -> Policy {
    policy(&[Step::new(stack)])
}

/// A turn for each list: the user's text, then a call and a result for each output.
fn turns(turns: &[&[&str]]) -> (Run, usize) {
    let mut run = Run::new();
    let session = run.session();
    for (number, outputs) in turns.iter().enumerate() {
        run.say(session, &format!("question {number}"));
        for output in *outputs {
            run.request(session, &[]);
            let calls = run.ask(session, &["tool"]);
            run.tell(session, &[(calls[0], &[output])], WHOLE);
        }
    }
    (run, session)
}

fn account(made: &Made, policy: &Policy) -> (Fidelity, Account) {
    let mut projector = Projector::new(&made.history, &made.store, policy);
    let steps = made.model.requests.iter().map(|request| projector.step(request.id).unwrap());
    steps.last().unwrap()
}

fn origin(text: &str) -> Option<Origin> {
    let value = Json::parse_str(text)?;
    [Origin::Stale, Origin::Active]
        .into_iter()
        .find(|origin| archive::placeholder(&value, *origin).is_some())
}

#[test]
fn m56_large_results_of_the_turn_are_put_away_before_its_next_step() {
    let (large, small) = ("x".repeat(200), "y".repeat(70));
    let made = done(turns(&[&[large.as_str(), small.as_str()]]));
    let texts = results(&made, &under(stack()));
    assert_eq!(origin(&texts[0]), Some(Origin::Active));
    assert_eq!(texts[1], small, "72 units of JSON are 18 tokens");
    let (fidelity, account) = account(&made, &under(stack()));
    assert_eq!(account.stack, StackAccount { active_results: 1, ..StackAccount::default() });
    assert_eq!((account.cleared_results, account.changed), (1, true));
    assert_eq!(fidelity.name(), "derived");
    // What is put away can be told from what stands there: the hash of the whole text.
    let value = Json::parse_str(&texts[0]).unwrap();
    let found = archive::placeholder(&value, Origin::Active).unwrap();
    let whole = archive::serialize(&Json::string(&large));
    assert_eq!(
        found.body.sha256,
        artifacts::ArtifactId::of(whole.to_utf8().as_bytes()).to_string()
    );
    let mut late = stack();
    late.active.as_mut().unwrap().from_step = 3;
    assert_eq!(results(&made, &under(late)), [large, small]);
}

#[test]
fn m56_results_of_older_turns_are_put_away_but_for_the_newest_of_them() {
    let output = "x".repeat(60);
    let made = done(turns(&[&[&output], &[&output], &[&output]]));
    let kinds: Vec<_> = results(&made, &under(stack())).iter().map(|it| origin(it)).collect();
    assert_eq!(kinds, [Some(Origin::Stale), None, None]);
    let mut all = stack();
    all.stale.as_mut().unwrap().keep_turns = 0;
    let kinds: Vec<_> = results(&made, &under(all)).iter().map(|it| origin(it)).collect();
    assert_eq!(kinds, [Some(Origin::Stale), Some(Origin::Stale), None], "the turn under way");
    let (_, account) = account(&made, &under(stack()));
    assert_eq!((account.stack.stale_results, account.stack.kept_turns), (1, 2));
}

#[test]
fn m56_the_oldest_turns_are_left_out_or_the_request_is_refused() {
    let output = "x".repeat(400);
    let made = done(turns(&[&[&output], &[&output], &[&output], &["now"]]));
    let plain = Stack { stale: None, active: None, ..stack() };
    let whole = account(&made, &under(plain.clone())).1;
    assert_eq!((whole.stack.kept_turns, whole.stack.dropped_turns), (3, 0));
    let before = whole.stack.history_tokens_before;
    assert_eq!(before, whole.stack.history_tokens_after);
    let tight = Stack { history_tokens: Some(before - 1), ..plain.clone() };
    let (fidelity, account_of) = account(&made, &under(tight.clone()));
    assert_eq!(fidelity.name(), "derived");
    assert_eq!((account_of.stack.kept_turns, account_of.stack.dropped_turns), (2, 1));
    // Its question, its call and its result.
    assert_eq!((account_of.dropped_messages, account_of.broken_pairs), (3, 0));
    assert_eq!(results(&made, &under(tight.clone())).len(), 3);
    let summarized = Stack { over_history: OverHistory::Summarize, ..tight };
    let (projection, bytes) = last(&made, &under(summarized));
    assert_eq!(projection.fidelity.name(), "refused");
    assert_eq!(bytes, last(&made, &Policy::recorded()).1);
    let turns = Stack { history_turns: Some(1), ..plain };
    assert_eq!(account(&made, &under(turns)).1.stack.dropped_turns, 2);
}

#[test]
fn m05_a_result_that_cannot_be_read_back_stays_and_is_counted() {
    let large = "x".repeat(200);
    let mut made = done(turns(&[&[large.as_str()]]));
    assert_eq!(account(&made, &under(stack())).1.stack.active_results, 1);
    let id = artifacts::ArtifactId::of(large.as_bytes());
    made.store.held.remove(&id).unwrap();
    let (_, account) = account(&made, &under(stack()));
    let wanted = StackAccount { unarchived_results: 1, ..StackAccount::default() };
    assert_eq!(account.stack, wanted);
    assert_eq!((account.cleared_results, account.changed), (0, false));
}

#[test]
fn results_that_newer_ones_may_have_made_needless_make_a_request_assumed() {
    let same = "z".repeat(40);
    let made = done(turns(&[&[same.as_str(), same.as_str()]]));
    let fidelity = account(&made, &under(stack())).0;
    assert_eq!(fidelity.name(), "assumed");
    assert!(fidelity.reason().unwrap().1.contains("needless"));
    let other = done(turns(&[&[same.as_str(), "zz"]]));
    assert_eq!(account(&other, &under(stack())).0.name(), "derived");
}

#[test]
fn the_preset_follows_the_system() {
    let policy = presets::find("maka@f19eede").unwrap().policy().unwrap();
    let large = "x".repeat(8_191);
    let exact = "x".repeat(8_190);
    let made = done(turns(&[&[large.as_str(), exact.as_str()]]));
    let texts = results(&made, &policy);
    assert_eq!((origin(&texts[0]), texts[1].len()), (Some(Origin::Active), 8_190));
    // Every request of a run, whatever stands in it.
    assert_eq!(fold(&made, &policy).len(), made.model.requests.len());
}
