//! What changed between two lists, as splices. Deterministic, and linear where it matters.
//!
//! Real lists share a long prefix. What is left after the common prefix and suffix goes through
//! Myers' algorithm while it is small, and is compared position by position when it is not, so
//! that a hostile pair of lists cannot cost quadratic time.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::event::Splice;

/// Middles up to this many entries (both sides together) are aligned by Myers' algorithm.
const ALIGN_ENTRIES_MAX: usize = 4096;

/// The splices that turn `old` into `new`, positions ascending in `old`.
pub fn splices<T: Copy + Ord + core::hash::Hash>(old: &[T], new: &[T]) -> Vec<Splice<T>> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) =
        (old.get(prefix..).unwrap_or_default(), new.get(prefix..).unwrap_or_default());
    let suffix =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let old_mid = old_rest.get(..old_rest.len() - suffix).unwrap_or_default();
    let new_mid = new_rest.get(..new_rest.len() - suffix).unwrap_or_default();
    let mut out = Vec::new();
    if old_mid.is_empty() || new_mid.is_empty() {
        push(&mut out, prefix, old_mid.len(), new_mid);
    } else if old_mid.len() + new_mid.len() <= ALIGN_ENTRIES_MAX {
        aligned(&mut out, prefix, old_mid, new_mid);
    } else {
        by_position(&mut out, prefix, old_mid, new_mid);
    }
    out
}

fn push<T: Copy>(out: &mut Vec<Splice<T>>, at: usize, remove: usize, insert: &[T]) {
    if remove == 0 && insert.is_empty() {
        return;
    }
    let narrow = |n: usize| u32::try_from(n).expect("lists are bounded by ITEMS_MAX");
    out.push(Splice { at: narrow(at), remove: narrow(remove), insert: insert.to_vec() });
}

fn aligned<T: Copy + Ord + core::hash::Hash>(
    out: &mut Vec<Splice<T>>,
    base: usize,
    old: &[T],
    new: &[T],
) {
    // Lengths only: an operation that was moved past another one keeps the position it had.
    let (mut old_at, mut new_at) = (0, 0);
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        let (removed, inserted) = (op.old_range().len(), op.new_range().len());
        if !matches!(op, DiffOp::Equal { .. }) {
            let insert = new.get(new_at..new_at + inserted).unwrap_or_default();
            push(out, base + old_at, removed, insert);
        }
        old_at += removed;
        new_at += inserted;
    }
}

fn by_position<T: Copy + PartialEq>(out: &mut Vec<Splice<T>>, base: usize, old: &[T], new: &[T]) {
    let both = old.len().min(new.len());
    let mut at = 0;
    while at < both {
        if old.get(at) == new.get(at) {
            at += 1;
            continue;
        }
        let start = at;
        while at < both && old.get(at) != new.get(at) {
            at += 1;
        }
        push(out, base + start, at - start, new.get(start..at).unwrap_or_default());
    }
    push(out, base + both, old.len() - both, new.get(both..).unwrap_or_default());
}

/// Applies splices to a list.
///
/// # Errors
/// The first splice that is out of order or out of range, by index.
pub fn apply<T: Clone>(list: &mut Vec<T>, splices: &[Splice<T>]) -> Result<(), usize> {
    if splices.is_empty() {
        return Ok(());
    }
    let first = splices.first().map_or(0, |splice| splice.at as usize);
    if first > list.len() {
        return Err(0);
    }
    let old = list.split_off(first);
    let mut at = 0;
    for (index, splice) in splices.iter().enumerate() {
        let start = (splice.at as usize).checked_sub(first).ok_or(index)?;
        let end = start.checked_add(splice.remove as usize).ok_or(index)?;
        if start < at || end > old.len() {
            return Err(index);
        }
        list.extend_from_slice(old.get(at..start).ok_or(index)?);
        list.extend_from_slice(&splice.insert);
        at = end;
    }
    list.extend_from_slice(old.get(at..).unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests;
