//! The C entries of grammar.rs. Not its work.
use std::sync::Arc;

use crate::abi::{bytes, entry, object, owned, owned_text, utf8, Code, Failure, Outcome, VtfBytes};
use crate::grammar::{
    compile, invalid, vocabulary, Shared, VtfGrammar, COMPILING, INDEXING, MAX_LOST_BYTES,
};
use crate::supervised::{lost_bytes, supervised, OVER_LIMIT};

pub struct VtfGrammarFactory {
    shared: Arc<Shared>,
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_factory_new(
    vocabulary_data: *const VtfVocabulary,
    eos_ids: *const u32,
    num_eos_ids: usize,
    out: *mut *mut VtfGrammarFactory,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let given = object(vocabulary_data)?;
        let data = owned(bytes(given.data, given.data_size)?)?;
        let special = owned(bytes(given.special, given.vocab_size)?)?;
        let offsets = std::slice::from_raw_parts(given.offsets, given.vocab_size + 1).to_vec();
        let eos_ids = match num_eos_ids {
            0 => Vec::new(),
            _ => std::slice::from_raw_parts(eos_ids, num_eos_ids).to_vec(),
        };
        if eos_ids.iter().any(|id| *id as usize >= special.len()) {
            return Err(invalid("an end-of-sequence id beyond the vocabulary"));
        }
        let shared =
            supervised(&INDEXING, move || vocabulary(&data, &offsets, &special, &eos_ids))?;
        out.write(Box::into_raw(Box::new(VtfGrammarFactory { shared: Arc::new(shared) })));
        Ok(())
    })
}

/// `VtfVocabulary` of the header.
#[repr(C)]
pub struct VtfVocabulary {
    data: *const u8,
    data_size: usize,
    offsets: *const u64,
    special: *const u8,
    vocab_size: usize,
}

/// # Safety
/// `factory` is null or came from `vtf_grammar_factory_new`; it must not be used afterwards.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_factory_free(factory: *mut VtfGrammarFactory) {
    if !factory.is_null() {
        entry(std::ptr::null_mut(), || {
            drop(Box::from_raw(factory));
            Ok(())
        });
    }
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_new(
    factory: *const VtfGrammarFactory,
    kind: i32,
    text: *const u8,
    size: usize,
    out: *mut *mut VtfGrammar,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let shared = Arc::clone(&object(factory)?.shared);
        let text = owned_text(utf8(text, size)?)?;
        if lost_bytes() > MAX_LOST_BYTES {
            let message = "a process that lost too much memory to texts beyond its limits";
            return Err(Failure::new(Code::Exhausted, message));
        }
        let grammar = supervised(&COMPILING, move || compile(shared, kind, &text));
        // A limit that this grammar reached is its own fault, other than memory that is not there.
        let grammar = grammar.map_err(|failure| match failure.code {
            Code::Exhausted if failure.message.starts_with(OVER_LIMIT) => {
                invalid(format!("{} to compile it", failure.message))
            }
            _ => failure,
        })?;
        out.write(Box::into_raw(Box::new(grammar)));
        Ok(())
    })
}

/// # Safety
/// `grammar` is null or came from `vtf_grammar_new`; it must not be used afterwards.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_free(grammar: *mut VtfGrammar) {
    if !grammar.is_null() {
        entry(std::ptr::null_mut(), || {
            drop(Box::from_raw(grammar));
            Ok(())
        });
    }
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_clone(
    grammar: *const VtfGrammar,
    out: *mut *mut VtfGrammar,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        out.write(Box::into_raw(Box::new(object(grammar)?.copied())));
        Ok(())
    })
}

/// # Safety
/// `grammar` is null or came from `vtf_grammar_new`, and no other thread uses it.
unsafe fn exclusive<'a>(grammar: *mut VtfGrammar) -> Outcome<&'a mut VtfGrammar> {
    grammar.as_mut().ok_or_else(|| invalid("a null object"))
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_mask(
    grammar: *mut VtfGrammar,
    mask: *mut u32,
    num_words: usize,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let grammar = exclusive(grammar)?;
        let vocab_size = grammar.vocab_size();
        if num_words != vocab_size.div_ceil(32) {
            return Err(invalid(format!("a mask of {num_words} words for {vocab_size} tokens")));
        }
        grammar.mask(std::slice::from_raw_parts_mut(mask, num_words))
    })
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_commit(
    grammar: *mut VtfGrammar,
    token: u32,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let grammar = exclusive(grammar)?;
        let vocab_size = grammar.vocab_size();
        if token as usize >= vocab_size {
            return Err(invalid(format!("token {token} of a vocabulary of {vocab_size}")));
        }
        grammar.commit(token)
    })
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_rollback(
    grammar: *mut VtfGrammar,
    num_tokens: usize,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || exclusive(grammar)?.rollback(num_tokens))
}

/// # Safety
/// `grammar` came from `vtf_grammar_new`.
#[no_mangle]
pub unsafe extern "C" fn vtf_grammar_flags(grammar: *const VtfGrammar) -> u32 {
    grammar.as_ref().map_or(0, VtfGrammar::flags)
}
