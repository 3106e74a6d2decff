//! What the `stack` step measures of a part, by the ruler of its system: units of everything that
//! the part shows, and for each result what would stand in its place.
//!
//! A result is replaced only when its text was read back under its SHA-256. Where that fails, the
//! result stays and is counted.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use artifacts::Source;
use ledger::history::{History, Part};
use ledger::id::PartNo;
use ledger::wire::SlotKind;

use super::ProjectError;
use super::index::{Index, Unit, UnitKind};
use crate::maka::archive::{self, Body, Origin, Placeholder};
use crate::maka::json::Json;
use crate::maka::ruler::UnitsPerToken;
use crate::maka::text::Text;
use crate::policy::op::Stack;

/// A part under the ruler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// UTF-16 units of what it shows, results included.
    pub(crate) units: u64,
    /// Its results.
    pub(crate) results: Vec<MeasuredResult>,
}

/// A result.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredResult {
    /// Which unit of the part it is.
    pub(crate) unit: usize,
    /// UTF-16 units of its archived text.
    pub(crate) units: u64,
    /// Estimated tokens of its archived text.
    pub(crate) tokens: u64,
    /// SHA-256 of its archived text; `None`: the text could not be read back.
    pub(crate) sha256: Option<String>,
    /// What stands in its place in a later turn; `None` when it is too small for that.
    pub(crate) stale: Option<Placed>,
    /// What stands in its place in its own turn.
    pub(crate) active: Option<Placed>,
}

/// A text in the place of a result.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) text: String,
    /// UTF-16 units of it.
    pub(crate) units: u64,
}

/// Where parts come from.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'m> {
    pub(crate) history: &'m History,
    pub(crate) source: &'m dyn Source,
    pub(crate) index: &'m Index,
    pub(crate) stack: &'m Stack,
}

impl<'m> Measure<'m> {
    /// Measures a part.
    ///
    /// # Errors
    /// A text is not UTF-8.
    pub(crate) fn part(self, number: PartNo, part: &Part) -> Result<Measured, ProjectError> {
        let known = self.index.part(number);
        let mut measured = Measured::default();
        let skeleton = self.history.skeleton(part);
        for (slot, (def, hole)) in skeleton.slots.iter().zip(&part.holes).enumerate() {
            let text = || self.text(number, part, slot);
            match def.kind {
                SlotKind::CALL_ID
                | SlotKind::ITEM_ID
                | SlotKind::RESULT_CALL_ID
                | SlotKind::TOOL_NAME
                | SlotKind::RESULT_NAME
                | SlotKind::OPAQUE
                | SlotKind::MEDIA
                | SlotKind::TOOL_OUTPUT => {}
                SlotKind::ARGUMENTS => {
                    let args = text()?.map(|args| Text::from(args.as_ref()));
                    let units =
                        args.map(|args| Json::parse(&args).map_or(args.len(), |it| it.units()));
                    measured.units += units.map_or(self.history.text(hole).len(), wide);
                }
                _ => {
                    let units = text()?.map(|text| wide(text.encode_utf16().count()));
                    measured.units += units.unwrap_or_else(|| self.history.text(hole).len());
                }
            }
        }
        for (nth, unit) in known.units.iter().enumerate() {
            let name = || wide(self.tool(unit).encode_utf16().count());
            match unit.kind {
                UnitKind::Call => measured.units += name(),
                UnitKind::Result => {
                    let result = self.result(number, part, nth, unit)?;
                    measured.units += result.units + name();
                    measured.results.push(result);
                }
                UnitKind::Reasoning | UnitKind::Media => {}
            }
        }
        Ok(measured)
    }

    fn result(
        self,
        number: PartNo,
        part: &Part,
        nth: usize,
        unit: &Unit,
    ) -> Result<MeasuredResult, ProjectError> {
        let per_token = self.per_token();
        let mut whole = Text::new();
        let mut readable = true;
        for slot in unit.slots.iter().map(|slot| usize::from(*slot)) {
            match self.text(number, part, slot)? {
                Some(text) => whole.push_str(&text),
                None => readable = false,
            }
        }
        if !readable {
            // The size on record is all that is known.
            let units = usize::try_from(unit.text_bytes).unwrap_or(usize::MAX);
            let tokens = per_token.tokens(units);
            let units = unit.text_bytes;
            let (sha256, stale, active) = (None, None, None);
            return Ok(MeasuredResult { unit: nth, units, tokens, sha256, stale, active });
        }
        let serialized = archive::serialize(&Json::String(whole));
        let body = Body::of(&serialized, per_token);
        let above = |limit: Option<u64>| limit.is_some_and(|limit| body.tokens > limit);
        let (stale, active) = (self.stack.stale.as_ref(), self.stack.active.as_ref());
        let place = |origin| self.placed(number, part, unit, &body, origin);
        Ok(MeasuredResult {
            unit: nth,
            units: wide(serialized.len()),
            tokens: body.tokens,
            stale: above(stale.map(|it| it.above_tokens)).then(|| place(Origin::Stale)),
            active: above(active.map(|it| it.above_tokens)).then(|| place(Origin::Active)),
            sha256: Some(body.sha256),
        })
    }

    fn placed(
        self,
        number: PartNo,
        part: &Part,
        unit: &Unit,
        body: &Body,
        origin: Origin,
    ) -> Placed {
        // The run has no ids of that system: its own stand for them.
        let event = Text::from(format!("part-{}-{}", number.number(), unit.group));
        let turn = Text::from(format!("turn-of-part-{}", number.number()));
        let call_id = self.call_id(part, unit).unwrap_or_else(|| event.clone());
        let tool = Text::from(self.tool(unit).as_ref());
        let session = Text::from("recording");
        let artifact_id = archive::artifact_id(&session, &event, &call_id, &tool, &body.sha256);
        let placeholder = Placeholder {
            origin,
            place: if origin == Origin::Stale { &event } else { &turn },
            call_id: &call_id,
            tool: &tool,
            artifact_id: &artifact_id,
            body,
            read_instructions: &self.stack.read_instructions,
            supersession: None,
        };
        let text = archive::serialize(&placeholder.json());
        Placed { units: wide(text.len()), text: text.to_utf8() }
    }

    fn per_token(self) -> UnitsPerToken {
        UnitsPerToken::per_mille(u64::from(self.stack.units_per_token_per_mille))
    }

    fn tool(self, unit: &Unit) -> Cow<'m, str> {
        match unit.tool.and_then(|tool| self.index.tools().get(tool as usize)) {
            Some(name) => String::from_utf8_lossy(name),
            None => Cow::Borrowed("unknown"),
        }
    }

    /// The id that the client sent with a result.
    fn call_id(self, part: &Part, unit: &Unit) -> Option<Text> {
        let slots = &self.history.skeleton(part).slots;
        let hole = slots
            .iter()
            .zip(&part.holes)
            .find(|(def, _)| def.kind == SlotKind::RESULT_CALL_ID && def.group == unit.group);
        let id = self.history.text(hole?.1).as_inline()?;
        core::str::from_utf8(id).ok().filter(|id| !id.is_empty()).map(Text::from)
    }

    /// The text of a slot; `None`: it cannot be read back.
    fn text(
        self,
        number: PartNo,
        part: &Part,
        slot: usize,
    ) -> Result<Option<String>, ProjectError> {
        let Some(hole) = part.holes.get(slot) else { return Ok(None) };
        let Ok(bytes) = self.history.text(hole).read(self.source) else { return Ok(None) };
        let text = core::str::from_utf8(&bytes)
            .map_err(|_invalid| ProjectError::NotText { part: number.number(), slot })?;
        Ok(Some(text.into()))
    }
}

fn wide(units: usize) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}
