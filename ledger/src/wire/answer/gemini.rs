//! Reduces answers of Gemini's `generateContent` and `streamGenerateContent`.
//!
//! Each event is a whole response with a piece of the content; the document form is one
//! such response or a list of them. Parts of the same kind that follow each other are one
//! item. A thought signature on anything but a thought becomes an opaque item behind the
//! item that it signs, as there is no other place to keep it.

use super::leaf::{Fields, Leaf};
use super::{AnswerItem, Head, Misread, Reduce, Usage};

/// The fields of a part that do not say what it is.
const BESIDE: [&str; 4] = ["text", "thought", "thoughtSignature", "videoMetadata"];

#[derive(Default)]
pub(super) struct Generate {
    items: Vec<AnswerItem>,
}

impl Reduce for Generate {
    fn event(&mut self, head: &mut Head, _name: &str, data: &[u8]) -> Result<(), Misread> {
        let chunk = Fields::read(data)?;
        let error = chunk.get("error");
        if !error.is_missing() {
            head.fail(error);
            return Ok(());
        }
        let known = ["candidates", "usageMetadata", "promptFeedback"];
        if known.iter().all(|name| chunk.get(name).is_missing()) {
            return Err(Misread::Unknown);
        }
        head.started = true;
        head.identify(chunk.get("responseId"), chunk.get("modelVersion"));
        head.count(usage(&chunk.get("usageMetadata").fields_if_any()?));
        let blocked = chunk.get("promptFeedback").fields_if_any()?.get("blockReason");
        if !blocked.is_empty() {
            head.stop(blocked);
            head.terminal = true;
        }
        for (place, candidate) in (0u64..).zip(chunk.get("candidates").list()?) {
            let candidate = candidate.fields()?;
            if candidate.get("index").number().unwrap_or(place) == 0 {
                self.candidate(head, &candidate)?;
            } else {
                head.skip();
            }
        }
        Ok(())
    }

    fn document(&mut self, head: &mut Head, data: &[u8]) -> Result<(), Misread> {
        self.event(head, "", data)
    }

    fn finish(self, _head: &mut Head) -> Vec<AnswerItem> {
        self.items
    }
}

impl Generate {
    fn candidate(&mut self, head: &mut Head, candidate: &Fields<'_>) -> Result<(), Misread> {
        let finished = candidate.get("finishReason");
        if !finished.is_empty() {
            head.stop(finished);
            head.terminal = true;
        }
        for part in candidate.get("content").fields_if_any()?.get("parts").list()? {
            if let Err(why) = self.part(part) {
                head.misread(&why);
            }
        }
        Ok(())
    }

    fn part(&mut self, span: Leaf<'_>) -> Result<(), Misread> {
        let part = span.fields()?;
        let call = part.get("functionCall");
        let signature = part.get("thoughtSignature");
        if call.is_object() {
            self.call(span, &call.fields()?)?;
        } else if let Some(text) = part.get("text").text()? {
            if part.get("thought").is_true() {
                return self.thought(&text, signature);
            }
            self.text(&text);
        } else if let Some(kind) = part.names().find(|name| !BESIDE.contains(name)) {
            self.opaque(kind, span);
            return Ok(());
        }
        if !signature.is_empty() {
            self.opaque("thoughtSignature", signature);
        }
        Ok(())
    }

    /// A call can also come in pieces, which only the raw part can keep.
    fn call(&mut self, span: Leaf<'_>, call: &Fields<'_>) -> Result<(), Misread> {
        let whole = call.get("partialArgs").is_missing() && !call.get("willContinue").is_true();
        match call.get("name").word()? {
            Some(name) if whole => self.items.push(AnswerItem::ToolCall {
                call_id: call.get("id").label(),
                item_id: None,
                name: name.into_owned(),
                arguments: call.get("args").raw().unwrap_or_default().to_owned(),
                complete: true,
            }),
            _ => self.opaque("functionCall", span),
        }
        Ok(())
    }

    fn text(&mut self, piece: &str) {
        match self.items.last_mut() {
            _ if piece.is_empty() => {}
            Some(AnswerItem::Text { text, .. }) => text.push_str(piece),
            _ => self.items.push(AnswerItem::Text { text: piece.to_owned(), item_id: None }),
        }
    }

    fn thought(&mut self, piece: &str, signature: Leaf<'_>) -> Result<(), Misread> {
        let signed = signature.word()?;
        match self.items.last_mut() {
            Some(AnswerItem::Thinking { text, signature, .. }) => {
                text.push_str(piece);
                if let Some(signed) = signed {
                    *signature = Some(signed.into_owned());
                }
            }
            _ if piece.is_empty() && signed.is_none() => {}
            _ => self.items.push(AnswerItem::Thinking {
                text: piece.to_owned(),
                signature: signed.map(std::borrow::Cow::into_owned),
                item_id: None,
            }),
        }
        Ok(())
    }

    fn opaque(&mut self, kind: &str, span: Leaf<'_>) {
        self.items.push(AnswerItem::Opaque { kind: kind.to_owned(), raw: span.to_bytes() });
    }
}

fn usage(counts: &Fields<'_>) -> Usage {
    Usage {
        input_tokens: counts.get("promptTokenCount").number(),
        output_tokens: counts.get("candidatesTokenCount").number(),
        cache_read_tokens: counts.get("cachedContentTokenCount").number(),
        cache_write_tokens: None,
        reasoning_tokens: counts.get("thoughtsTokenCount").number(),
        total_tokens: counts.get("totalTokenCount").number(),
    }
}
