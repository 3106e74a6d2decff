//! `clear_results`: which results of a request lose their text.

use crate::policy::ClearResults;

/// How many of the newest results are kept at this request, whatever their tool.
///
/// `None`: the step does not act.
pub fn keep_newest(step: &ClearResults, fires: bool) -> Option<usize> {
    fires.then(|| usize::try_from(step.keep.n).unwrap_or(usize::MAX))
}
