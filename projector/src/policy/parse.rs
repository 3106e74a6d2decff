//! Policies as TOML. Unknown fields are errors with line and column, defaults are few and none of
//! them changes what is shown.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use toml::Spanned;

use super::{
    Applies, Boundary, CapText, ClearResults, Metric, Policy, STEPS_MAX, Shape, Step,
    TEXT_BYTES_MAX, Trigger, Unit, Window,
};
use crate::measure::Estimator;

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct PolicyError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyToml {
    name: String,
    estimator: Estimator,
    #[serde(default)]
    step: Vec<Spanned<StepToml>>,
}

/// Every field that some step has; which ones go together is checked by [`Fields`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepToml {
    op: Spanned<OpToml>,
    at: Option<Spanned<AtToml>>,
    applies: Option<Spanned<AppliesToml>>,
    unit: Option<Spanned<UnitToml>>,
    limit: Option<Spanned<u64>>,
    shape: Option<Spanned<ShapeToml>>,
    head_per_mille: Option<Spanned<u16>>,
    marker: Option<Spanned<String>>,
    marker_in_limit: Option<Spanned<bool>>,
    keep: Option<Spanned<u32>>,
    trigger: Option<Spanned<TriggerToml>>,
    replacement: Option<Spanned<String>>,
    sticky: Option<Spanned<bool>>,
    protect_head: Option<Spanned<u32>>,
    boundary: Option<Spanned<BoundaryToml>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum OpToml {
    CapText,
    ClearResults,
    Window,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum AtToml {
    Result,
    Request,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct AppliesToml {
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    exclude_tools: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
enum UnitToml {
    #[serde(rename = "b")]
    Bytes,
    #[serde(rename = "cp")]
    Chars,
    #[serde(rename = "u16")]
    Utf16,
    #[serde(rename = "line")]
    Lines,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum ShapeToml {
    Head,
    Tail,
    Middle,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BoundaryToml {
    Any,
    SafeGroup,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MetricToml {
    EstTokens,
    ToolResults,
}

#[derive(Clone, Copy, Deserialize)]
enum CmpToml {
    #[serde(rename = ">")]
    Above,
    #[serde(rename = ">=")]
    AtLeast,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerToml {
    metric: MetricToml,
    cmp: CmpToml,
    value: u64,
}

/// A place in the text and what is wrong there.
type Wrong = (usize, String);

impl Policy {
    /// Reads a policy from TOML.
    ///
    /// # Errors
    /// Not TOML, an unknown or missing field, a value out of range: with line and column.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let parsed: PolicyToml = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            place(text, (at, error.message().to_owned()))
        })?;
        if let Some(step) = parsed.step.get(STEPS_MAX) {
            let wrong = (step.span().start, format!("more than {STEPS_MAX} steps"));
            return Err(place(text, wrong));
        }
        let mut steps = Vec::with_capacity(parsed.step.len());
        for step in parsed.step {
            let start = step.span().start;
            let step = step.into_inner().check(start).map_err(|wrong| place(text, wrong))?;
            // Outputs are cut when they are recorded, before any request carries them.
            let late = matches!(step, Step::CapText(_))
                && steps.iter().any(|step| !matches!(step, Step::CapText(_)));
            if late {
                let reason = "op \"cap_text\" must come before steps that work at \"request\"";
                return Err(place(text, (start, reason.to_owned())));
            }
            steps.push(step);
        }
        Ok(Self { name: parsed.name, estimator: parsed.estimator, steps })
    }
}

fn place(text: &str, (offset, reason): Wrong) -> PolicyError {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    PolicyError { line, column, reason }
}

/// Takes the value of a field that the step must have.
fn need<T>(field: Option<Spanned<T>>, start: usize, name: &str) -> Result<T, Wrong> {
    field.map(Spanned::into_inner).ok_or_else(|| (start, format!("missing field `{name}`")))
}

/// Fields that belong to each op, beside `op` and `at`.
const CAP_TEXT_FIELDS: &[&str] =
    &["applies", "unit", "limit", "shape", "head_per_mille", "marker", "marker_in_limit"];
const CLEAR_RESULTS_FIELDS: &[&str] = &["applies", "keep", "trigger", "replacement", "sticky"];
const WINDOW_FIELDS: &[&str] = &["keep", "protect_head", "boundary"];

fn only_at(at: Option<&Spanned<AtToml>>, wanted: AtToml, op: &str) -> Result<(), Wrong> {
    let name = if wanted == AtToml::Result { "result" } else { "request" };
    match at {
        Some(at) if *at.get_ref() != wanted => {
            Err((at.span().start, format!("op \"{op}\" works at \"{name}\"")))
        }
        _ => Ok(()),
    }
}

impl StepToml {
    fn check(self, start: usize) -> Result<Step, Wrong> {
        match self.op.get_ref() {
            OpToml::CapText => self.cap_text(start),
            OpToml::ClearResults => self.clear_results(start),
            OpToml::Window => self.window(start),
        }
    }

    /// Refuses the first field that the op has no use for.
    fn only(&self, op: &str, fields: &[&str]) -> Result<(), Wrong> {
        fn at<T>(field: Option<&Spanned<T>>) -> Option<usize> {
            field.map(|field| field.span().start)
        }
        let present = [
            ("applies", at(self.applies.as_ref())),
            ("unit", at(self.unit.as_ref())),
            ("limit", at(self.limit.as_ref())),
            ("shape", at(self.shape.as_ref())),
            ("head_per_mille", at(self.head_per_mille.as_ref())),
            ("marker", at(self.marker.as_ref())),
            ("marker_in_limit", at(self.marker_in_limit.as_ref())),
            ("keep", at(self.keep.as_ref())),
            ("trigger", at(self.trigger.as_ref())),
            ("replacement", at(self.replacement.as_ref())),
            ("sticky", at(self.sticky.as_ref())),
            ("protect_head", at(self.protect_head.as_ref())),
            ("boundary", at(self.boundary.as_ref())),
        ];
        let foreign = present
            .into_iter()
            .find_map(|(name, at)| at.filter(|_| !fields.contains(&name)).map(|at| (at, name)));
        match foreign {
            Some((at, name)) => Err((at, format!("field `{name}` does not belong to op \"{op}\""))),
            None => Ok(()),
        }
    }

    fn cap_text(self, start: usize) -> Result<Step, Wrong> {
        let op = "cap_text";
        only_at(self.at.as_ref(), AtToml::Result, op)?;
        self.only(op, CAP_TEXT_FIELDS)?;
        let shape_at = self.shape.as_ref().map_or(start, |shape| shape.span().start);
        let shape_at = self.head_per_mille.as_ref().map_or(shape_at, |head| head.span().start);
        let head = self.head_per_mille.map(Spanned::into_inner);
        let shape = need(self.shape, start, "shape")?;
        Ok(Step::CapText(CapText {
            applies: self.applies.map(Spanned::into_inner).unwrap_or_default().check(),
            unit: need(self.unit, start, "unit")?.check(),
            limit: need(self.limit, start, "limit")?,
            shape: shape.check(head).map_err(|reason| (shape_at, reason.to_owned()))?,
            marker: short(self.marker, start, "marker")?,
            marker_in_limit: need(self.marker_in_limit, start, "marker_in_limit")?,
        }))
    }

    fn clear_results(self, start: usize) -> Result<Step, Wrong> {
        let op = "clear_results";
        only_at(self.at.as_ref(), AtToml::Request, op)?;
        self.only(op, CLEAR_RESULTS_FIELDS)?;
        Ok(Step::ClearResults(ClearResults {
            applies: self.applies.map(Spanned::into_inner).unwrap_or_default().check(),
            keep: need(self.keep, start, "keep")?,
            trigger: self.trigger.map_or(Trigger::Always, |trigger| trigger.into_inner().check()),
            replacement: short(self.replacement, start, "replacement")?,
            sticky: need(self.sticky, start, "sticky")?,
        }))
    }

    fn window(self, start: usize) -> Result<Step, Wrong> {
        let op = "window";
        only_at(self.at.as_ref(), AtToml::Request, op)?;
        self.only(op, WINDOW_FIELDS)?;
        let keep_at = self.keep.as_ref().map_or(start, |keep| keep.span().start);
        let keep = need(self.keep, start, "keep")?;
        if keep == 0 {
            return Err((keep_at, "a window keeps at least one message".to_owned()));
        }
        let boundary = match need(self.boundary, start, "boundary")? {
            BoundaryToml::Any => Boundary::Any,
            BoundaryToml::SafeGroup => Boundary::SafeGroup,
        };
        let protect_head = need(self.protect_head, start, "protect_head")?;
        Ok(Step::Window(Window { protect_head, keep, boundary }))
    }
}

fn short(text: Option<Spanned<String>>, start: usize, name: &str) -> Result<String, Wrong> {
    let at = text.as_ref().map_or(start, |text| text.span().start);
    let text = need(text, start, name)?;
    if text.len() > TEXT_BYTES_MAX {
        return Err((at, format!("`{name}` is longer than {TEXT_BYTES_MAX} bytes")));
    }
    Ok(text)
}

impl ShapeToml {
    fn check(self, head_per_mille: Option<u16>) -> Result<Shape, &'static str> {
        match (self, head_per_mille) {
            (Self::Middle, Some(head_per_mille @ 0..=1000)) => Ok(Shape::Middle { head_per_mille }),
            (Self::Middle, Some(_)) => Err("head_per_mille is 0 to 1000"),
            (Self::Middle, None) => Err("shape \"middle\" needs head_per_mille"),
            (_, Some(_)) => Err("head_per_mille goes with shape \"middle\" only"),
            (Self::Head, None) => Ok(Shape::Head),
            (Self::Tail, None) => Ok(Shape::Tail),
        }
    }
}

impl UnitToml {
    fn check(self) -> Unit {
        match self {
            Self::Bytes => Unit::Bytes,
            Self::Chars => Unit::Chars,
            Self::Utf16 => Unit::Utf16,
            Self::Lines => Unit::Lines,
        }
    }
}

impl AppliesToml {
    fn check(self) -> Applies {
        Applies { tools: self.tools, exclude_tools: self.exclude_tools }
    }
}

impl TriggerToml {
    fn check(self) -> Trigger {
        let metric = match self.metric {
            MetricToml::EstTokens => Metric::EstTokens,
            MetricToml::ToolResults => Metric::ToolResults,
        };
        let value = self.value;
        match self.cmp {
            CmpToml::Above => Trigger::Above { metric, value },
            CmpToml::AtLeast => Trigger::AtLeast { metric, value },
        }
    }
}
