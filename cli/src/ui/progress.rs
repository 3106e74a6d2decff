//! A progress bar that shows itself only when the work takes long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that takes less than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress of a command; may be told from several threads.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Not on a terminal, or on show already.
    settled: AtomicBool,
}

impl Progress {
    pub(super) fn new(what: &str, steps: u64, wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let template = if steps == 0 {
            "{spinner} {prefix} {msg}"
        } else {
            "{prefix} [{bar:30}] {pos}/{len} {eta}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(what.to_owned());
        Self { bar, started: Instant::now(), settled: AtomicBool::new(!wanted) }
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.show();
        self.bar.inc(1);
    }

    /// Says how far it is, where the number of steps is not known.
    pub(crate) fn message(&self, words: impl FnOnce() -> String) {
        self.show();
        if !self.bar.is_hidden() {
            self.bar.set_message(words());
            self.bar.tick();
        }
    }

    fn show(&self) {
        if self.settled.load(Ordering::Relaxed) || self.started.elapsed() < PATIENCE {
            return;
        }
        if !self.settled.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
