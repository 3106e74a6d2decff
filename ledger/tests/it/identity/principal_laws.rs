//! Goal: over any history of principals, also one that contradicts itself or lacks a record, a
//! principal leads to what was said of itself, or nowhere. Method: random histories that no
//! journal would write, and each record of them left out in turn.

use ledger::event::{
    IdentityEvent, PrincipalForked, PrincipalObserved, PrincipalStopped, StopReason,
};
use ledger::id::PrincipalId;
use ledger::identity::principals::{Lookup, Principals};
use proptest::prelude::*;

use super::principals::{bound_to, minted};
use super::support::inline;

/// One step of a random history of principals.
#[derive(Clone, Copy, Debug)]
enum Step {
    Mint(u8),
    Bind(u8, u8, u8),
    Observe(u8, u8),
    Stop(u8),
    Fork(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..5_u8;
    prop_oneof![
        3 => who.clone().prop_map(Step::Mint),
        4 => (who.clone(), 0..3_u8, 0..4_u8).prop_map(|(a, b, c)| Step::Bind(a, b, c)),
        2 => (who.clone(), 0..3_u8).prop_map(|(a, b)| Step::Observe(a, b)),
        1 => who.clone().prop_map(Step::Stop),
        1 => (who.clone(), who).prop_map(|(a, b)| Step::Fork(a, b)),
    ]
}

fn told(step: Step) -> IdentityEvent {
    use IdentityEvent as E;
    let id = |who: u8| PrincipalId::from_bytes([who + 1; 16]);
    match step {
        Step::Mint(who) => minted(id(who)),
        Step::Bind(who, name, process) => {
            bound_to(id(who), ["luna", "nova", "vega"][name as usize], process)
        }
        Step::Observe(who, session) => E::PrincipalObserved(PrincipalObserved {
            principal: id(who),
            tool_session: Some(inline(&format!("s-{session}"))),
            at_unix_ns: 1,
        }),
        Step::Stop(who) => {
            E::PrincipalStopped(PrincipalStopped { principal: id(who), reason: StopReason::Ended })
        }
        Step::Fork(who, parent) => {
            E::PrincipalForked(PrincipalForked { principal: id(who), parent: id(parent) })
        }
    }
}

fn folded<'e>(events: impl Iterator<Item = &'e IdentityEvent>) -> Principals {
    let mut principals = Principals::default();
    events.for_each(|event| principals.observe(event));
    principals
}

proptest! {
    #[test]
    fn h09_without_any_one_record_of_any_history_a_principal_leads_to_its_own_instance_or_nowhere(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let events: Vec<_> = steps.into_iter().map(told).collect();
        for lost in 0..events.len() {
            let left = || events.iter().enumerate().filter(|(at, _)| *at != lost).map(|(_, e)| e);
            let principals = folded(left());
            for (id, _) in principals.iter() {
                let Lookup::Resolved { binding, session, .. } = principals.lookup(id) else {
                    continue;
                };
                // Everything that it leads to was said of this very principal.
                let said = |wanted: &dyn Fn(&IdentityEvent) -> bool| events.iter().any(wanted);
                prop_assert!(said(&|event| matches!(event, IdentityEvent::PrincipalBound(event)
                    if event.principal == id
                        && (&event.instance, &event.process)
                            == (&binding.instance, &binding.process))));
                prop_assert!(session.is_none() || said(&|event| matches!(event,
                    IdentityEvent::PrincipalObserved(event)
                        if event.principal == id && event.tool_session == session)));
                // Nobody else leads to an instance of this name.
                let mut others = principals.iter().filter(|(other, _)| *other != id);
                let rival = |(other, _)| match principals.lookup(other) {
                    Lookup::Resolved { binding: of, .. } => of.instance == binding.instance,
                    _ => false,
                };
                prop_assert!(!others.any(rival));
            }
            // Told that something is missing, it leads nowhere at all.
            let mut damaged = principals.clone();
            damaged.set_damaged();
            for (id, _) in principals.iter() {
                let found = damaged.lookup(id);
                let nowhere = matches!(found, Lookup::Unresolved { .. });
                prop_assert!(nowhere);
            }
        }
    }

    #[test]
    fn a_fold_of_principals_that_goes_on_is_the_fold_from_the_beginning(
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let events: Vec<_> = steps.into_iter().map(told).collect();
        let mut live = Principals::default();
        for (end, event) in events.iter().enumerate() {
            live.observe(event);
            prop_assert_eq!(&live, &folded(events[..=end].iter()));
        }
    }
}
