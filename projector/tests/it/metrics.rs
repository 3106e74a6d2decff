//! Goal: the metrics that are kept up from request to request are those of the written bytes.
//! Method: random runs under random policies against the slow way.

use projector::Policy;
use proptest::prelude::*;

use crate::random::{play, policy, script};
use crate::{slow, slow_lines};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_numbers_are_those_of_the_written_bytes(script in script(), policy in policy()) {
        let made = play(&script);
        let policies = [Policy::recorded(), policy];
        slow::check(&made.history, &made.store, &policies);
        slow_lines::check(&made.history, &made.store, &policies);
    }
}
