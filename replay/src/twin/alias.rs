//! Which id of one run stands for which of the other.

use std::collections::HashMap;

/// A one-to-one map between ids, learned as they come up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aliases {
    forward: HashMap<String, String>,
    backward: HashMap<String, String>,
}

impl Aliases {
    /// Takes `own` and `other` for the same; false when either stands for something else already.
    pub(super) fn bind(&mut self, own: &str, other: &str) -> bool {
        let known = (self.forward.get(own), self.backward.get(other));
        match known {
            (None, None) => {
                self.forward.insert(own.to_owned(), other.to_owned());
                self.backward.insert(other.to_owned(), own.to_owned());
                true
            }
            (Some(known_other), Some(known_own)) => known_other == other && known_own == own,
            _ => false,
        }
    }

    /// Pairs so far.
    pub(super) fn len(&self) -> u64 {
        self.forward.len() as u64
    }
}
