//! Entries over `tokenizers`: load, extend, encode, list the vocabulary. Not decoding: the C++ side
//! does it from the tokens' bytes, incrementally.
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokenizers::{AddedToken, ModelWrapper, Tokenizer};

use crate::abi::{bytes, entry, object, owned, owned_text, utf8, Code, Failure, Outcome, VtfBytes};
use crate::supervised::{supervised, Limits};

/// A main thread's stack and a half: parsing nests at most serde_json's 128 levels.
const STACK_BYTES: usize = 12 << 20;

/// Of a tokenizer.json, whose largest size (tokenizer.cc) parsing multiplies by about ten. The largest
/// published ones take two seconds.
const LOADING: Limits = Limits {
    stack_bytes: STACK_BYTES,
    heap_bytes: if cfg!(fuzzing) { 64 << 20 } else { 4 << 30 },
    time: Duration::from_secs(if cfg!(fuzzing) { 4 } else { 120 }),
};

/// Of a text, as long as it may be: what memory there is, and 64 MiB in ten minutes are a tenth of the
/// usual speed.
const ENCODING: Limits = Limits {
    stack_bytes: STACK_BYTES,
    heap_bytes: if cfg!(fuzzing) { 64 << 20 } else { usize::MAX },
    time: Duration::from_secs(if cfg!(fuzzing) { 4 } else { 600 }),
};

pub struct VtfTokenizer {
    shared: Arc<Shared>,
}

struct Shared {
    // Written to when tokens are added, and while a text is encoded with its special tokens as
    // plain text: that switch belongs to the tokenizer, not to a call.
    inner: RwLock<Tokenizer>,
}

#[repr(C)]
pub struct VtfIds {
    data: *mut u32,
    size: usize,
}

// VtfTokenKind of the header.
const ABSENT: i32 = 0;
const NORMAL: i32 = 1;
const ADDED: i32 = 2;
const SPECIAL: i32 = 3;

// VtfAddedFlags of the header.
const FLAG_SPECIAL: u32 = 1;
const FLAG_LSTRIP: u32 = 2;
const FLAG_RSTRIP: u32 = 4;
const FLAG_SINGLE_WORD: u32 = 8;
const FLAG_NORMALIZED: u32 = 16;

fn load(json: &[u8]) -> Outcome<Tokenizer> {
    let corrupt = |e: &dyn std::fmt::Display| Failure::new(Code::Corrupt, e.to_string());
    let mut tokenizer = Tokenizer::from_bytes(json).map_err(|e| corrupt(&e))?;
    // Stored truncation and padding are a training script's; a prompt is never cut or filled.
    tokenizer.with_truncation(None).map_err(|e| corrupt(&e))?;
    tokenizer.with_padding(None);
    if let ModelWrapper::BPE(model) = tokenizer.get_model() {
        if model.dropout.is_some_and(|p| p > 0.0) {
            return Err(Failure::new(Code::Unsupported, "BPE dropout, which makes ids random"));
        }
    }
    Ok(tokenizer)
}

impl Shared {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Tokenizer> {
        self.inner.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tokenizer> {
        self.inner.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn encode(&self, text: &str, parse_special: bool) -> Outcome<Vec<u32>> {
        let run = |tokenizer: &Tokenizer| {
            tokenizer
                .encode_fast(text, false)
                .map(|encoding| encoding.get_ids().to_vec())
                .map_err(|e| Failure::new(Code::InvalidArgument, e.to_string()))
        };
        if parse_special {
            return run(&self.read());
        }
        let mut tokenizer = self.write();
        tokenizer.set_encode_special_tokens(true);
        // The switch must go back even if the crate panics.
        let result = crate::abi::catching(|| run(&tokenizer));
        tokenizer.set_encode_special_tokens(false);
        result
    }
}

/// # Safety
/// `json` points to `size` bytes; `out` and `error` to memory for their types.
#[no_mangle]
pub unsafe extern "C" fn vtf_tokenizer_new(
    json: *const u8,
    size: usize,
    out: *mut *mut VtfTokenizer,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let json = owned(bytes(json, size)?)?;
        let inner = RwLock::new(supervised(&LOADING, move || load(&json))?);
        out.write(Box::into_raw(Box::new(VtfTokenizer { shared: Arc::new(Shared { inner }) })));
        Ok(())
    })
}

/// # Safety
/// `tokenizer` is null or came from `vtf_tokenizer_new`; it must not be used afterwards.
#[no_mangle]
pub unsafe extern "C" fn vtf_tokenizer_free(tokenizer: *mut VtfTokenizer) {
    if !tokenizer.is_null() {
        entry(std::ptr::null_mut(), || {
            drop(Box::from_raw(tokenizer));
            Ok(())
        });
    }
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_tokenizer_add(
    tokenizer: *const VtfTokenizer,
    text: *const u8,
    size: usize,
    flags: u32,
    out_id: *mut u32,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let text = utf8(text, size)?;
        let mut inner = object(tokenizer)?.shared.write();
        let token = AddedToken::from(text, flags & FLAG_SPECIAL != 0)
            .lstrip(flags & FLAG_LSTRIP != 0)
            .rstrip(flags & FLAG_RSTRIP != 0)
            .single_word(flags & FLAG_SINGLE_WORD != 0)
            .normalized(flags & FLAG_NORMALIZED != 0);
        let corrupt = |what: String| Failure::new(Code::Corrupt, what);
        inner.add_tokens([token]).map_err(|e| corrupt(e.to_string()))?;
        let id = inner.token_to_id(text);
        out_id.write(id.ok_or_else(|| corrupt(format!("token {text:?} was not accepted")))?);
        Ok(())
    })
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_tokenizer_encode(
    tokenizer: *const VtfTokenizer,
    text: *const u8,
    size: usize,
    parse_special: bool,
    out: *mut VtfIds,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let shared = Arc::clone(&object(tokenizer)?.shared);
        let text = owned_text(utf8(text, size)?)?;
        let ids = supervised(&ENCODING, move || shared.encode(&text, parse_special))?;
        let mut ids = ids.into_boxed_slice();
        out.write(VtfIds { data: ids.as_mut_ptr(), size: ids.len() });
        std::mem::forget(ids);
        Ok(())
    })
}

/// # Safety
/// `ids` came from `vtf_tokenizer_encode`; it must not be used afterwards.
#[no_mangle]
pub unsafe extern "C" fn vtf_ids_free(ids: VtfIds) {
    if !ids.data.is_null() {
        drop(Vec::from_raw_parts(ids.data, ids.size, ids.size));
    }
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_tokenizer_size(
    tokenizer: *const VtfTokenizer,
    out: *mut u64,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let vocabulary = object(tokenizer)?.shared.read().get_vocab(true);
        out.write(vocabulary.values().max().map_or(0, |id| u64::from(*id) + 1));
        Ok(())
    })
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_tokenizer_token(
    tokenizer: *const VtfTokenizer,
    id: u32,
    out_text: *mut VtfBytes,
    out_kind: *mut i32,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let inner = object(tokenizer)?.shared.read();
        let added = inner.get_added_vocabulary();
        let kind = match (added.get_added_tokens_decoder().get(&id), inner.id_to_token(id)) {
            (_, None) => ABSENT,
            (Some(_), Some(text)) if added.is_special_token(&text) => SPECIAL,
            (Some(_), Some(_)) => ADDED,
            (None, Some(_)) => NORMAL,
        };
        let text = inner.id_to_token(id).unwrap_or_default();
        out_text.write(VtfBytes::from_vec(text.into_bytes()));
        out_kind.write(kind);
        Ok(())
    })
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_tokenizer_decoder(
    tokenizer: *const VtfTokenizer,
    out_json: *mut VtfBytes,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let inner = object(tokenizer)?.shared.read();
        let json = serde_json::to_vec(&inner.get_decoder())
            .map_err(|e| Failure::new(Code::Corrupt, e.to_string()))?;
        out_json.write(VtfBytes::from_vec(json));
        Ok(())
    })
}
