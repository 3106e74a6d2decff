//! Computes what the model would have been shown under a policy; nothing else can influence it.
//!
//! ```text
//! History (facts) + Source (artifacts) + Policy -> fold over requests -> View + Account
//! ```
//!
//! [`project`] gives one request; a [`Projector`] walks a whole run and costs, per request, what
//! is in its list. The crate has no clock, file, environment, float or hash order: everything
//! that decides a byte is an argument. The recorded trajectory is held fixed, and each request
//! says with [`Fidelity`] what its projection rests on.
#![no_std]

extern crate alloc;

pub mod fold;
pub mod identity;
pub mod maka;
pub mod measure;
pub mod memo;
pub mod metrics;
pub mod policy;
pub mod projection;
pub mod stage;
pub mod text;
pub mod view;

pub use fold::{Index, ProjectError, Projector, Shared, Snapshot, SnapshotError, project};
pub use memo::Memo;
pub use policy::{Policy, PolicyError};
pub use projection::{Account, Assumption, Fidelity, Projection};
pub use view::{Segment, View};
