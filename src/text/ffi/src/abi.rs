//! What every entry shares: byte strings that cross the border, status codes, the panic guard. Not
//! the entries themselves.
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

/// Memory that this crate allocated; the C side gives it back through `vtf_bytes_free`.
#[repr(C)]
pub struct VtfBytes {
    pub data: *mut u8,
    pub size: usize,
}

impl VtfBytes {
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        let mut boxed = bytes.into_boxed_slice();
        let out = VtfBytes { data: boxed.as_mut_ptr(), size: boxed.len() };
        std::mem::forget(boxed);
        out
    }
}

/// The numbers are part of the ABI: see `VtfStatus` in the header.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Code {
    Ok = 0,
    InvalidUtf8 = 1,
    InvalidArgument = 2,
    Corrupt = 3,
    Unsupported = 4,
    Raised = 5,
    Panic = 6,
    Exhausted = 7,
}

#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Failure { code, message: message.into() }
    }
}

pub type Outcome<T> = Result<T, Failure>;

thread_local! {
    static PANIC_MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `body` so that neither an error nor a panic leaves it other than as a value. The panic hook
/// keeps the message for the caller: stderr belongs to the program that we are part of.
pub fn catching<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let text = info.to_string();
            PANIC_MESSAGE.with(|slot| *slot.borrow_mut() = text);
        }));
    });
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let message = PANIC_MESSAGE.with(|slot| std::mem::take(&mut *slot.borrow_mut()));
        Err(Failure::new(Code::Panic, message))
    })
}

/// `catching` for an entry point: the failure becomes a code and, if `error` is given, its message.
///
/// # Safety
/// `error` is null or points to memory for a `VtfBytes`.
pub unsafe fn entry(error: *mut VtfBytes, body: impl FnOnce() -> Outcome<()>) -> i32 {
    match catching(body) {
        Ok(()) => Code::Ok as i32,
        Err(failure) => {
            if !error.is_null() {
                error.write(VtfBytes::from_vec(failure.message.into_bytes()));
            }
            failure.code as i32
        }
    }
}

/// Borrows a byte string of the C side. A null pointer with size 0 is the empty string.
///
/// # Safety
/// `data` points to `size` readable bytes that outlive the result.
pub unsafe fn bytes<'a>(data: *const u8, size: usize) -> Outcome<&'a [u8]> {
    if size == 0 {
        return Ok(&[]);
    }
    if data.is_null() || size > isize::MAX as usize {
        return Err(Failure::new(Code::InvalidArgument, "a null or oversized byte string"));
    }
    Ok(std::slice::from_raw_parts(data, size))
}

/// As `bytes`, checked to be UTF-8: nothing else may become a `str`.
///
/// # Safety
/// As `bytes`.
pub unsafe fn utf8<'a>(data: *const u8, size: usize) -> Outcome<&'a str> {
    std::str::from_utf8(bytes(data, size)?).map_err(|e| {
        Failure::new(Code::InvalidUtf8, format!("invalid UTF-8 at byte offset {}", e.valid_up_to()))
    })
}

/// A copy that may outlive the call. Made by the caller's thread, where an allocation that fails would
/// end the program, and so by asking first.
pub fn owned(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len())
        .map_err(|_| Failure::new(Code::Exhausted, "too little memory"))?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// As `owned`.
pub fn owned_text(text: &str) -> Outcome<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| Failure::new(Code::Exhausted, "too little memory"))?;
    copy.push_str(text);
    Ok(copy)
}

/// Borrows an object made by this crate.
///
/// # Safety
/// `pointer` is null or came from this crate's matching constructor and was not freed.
pub unsafe fn object<'a, T>(pointer: *const T) -> Outcome<&'a T> {
    pointer.as_ref().ok_or_else(|| Failure::new(Code::InvalidArgument, "a null object"))
}

/// # Safety
/// `value` came from this crate and was not freed; it must not be used afterwards.
#[no_mangle]
pub unsafe extern "C" fn vtf_bytes_free(value: VtfBytes) {
    if !value.data.is_null() {
        drop(Vec::from_raw_parts(value.data, value.size, value.size));
    }
}
