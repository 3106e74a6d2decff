//! `clear_results`: which results of a request lose their text.

use crate::policy::ClearResults;

/// How many of the newest results are kept at this request, whatever their tool.
///
/// `metric` is the value that the trigger looks at. `None`: the step does not act.
pub fn keep_newest(step: &ClearResults, metric: u64) -> Option<usize> {
    step.trigger.fires(metric).then(|| usize::try_from(step.keep).unwrap_or(usize::MAX))
}
