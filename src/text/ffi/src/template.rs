//! Entries over `minijinja`: compile a chat template and render it with Hugging Face's rules. Not
//! the choice of a template or of its variables, which the C++ side makes.
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void, CString};
use std::sync::Arc;
use std::time::Duration;

use minijinja::value::Rest;
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value,
};

use crate::abi::{bytes, entry, object, owned, owned_text, utf8, Code, Failure, Outcome, VtfBytes};
use crate::control_blocks::replace_generation_blocks;
use crate::python_repr::MAX_DEPTH;
use crate::supervised::{supervised, Limits};
use crate::{python_json, python_methods, python_repr};

const NAME: &str = "chat_template";

/// The fuzzer's build reaches every limit in a fraction of the time.
const SCALE: usize = if cfg!(fuzzing) { 64 } else { 1 };

/// Instructions that one rendering may take. A message of the Qwen3.5 family takes up to about 170, so
/// this is about 9,000 messages; an endless loop ends within a fraction of a second.
const FUEL: u64 = 1_500_000 / SCALE as u64;

/// More text than any model reads; stops a template that prints without end, be it into a variable.
const MAX_OUTPUT_BYTES: usize = (128 << 20) / SCALE;

/// The stack: an instruction can nest a value one level deeper, and values are printed, compared and
/// freed recursively, at up to 512 bytes of stack for a level (measured: a million levels fit 512 MiB,
/// two million do not). So FUEL levels need 750 MiB. The heap: the longest output, which grows by
/// copying to twice its size, and as much again for the values, doubled. The time: FUEL instructions take under
/// a second, unless a single one works on a text that an earlier one made huge.
const LIMITS: Limits = Limits {
    stack_bytes: (1 << 30) / SCALE,
    heap_bytes: (1 << 30) / SCALE,
    time: Duration::from_secs(if cfg!(fuzzing) { 4 } else { 30 }),
};

/// Formats the time of the rendering: writes at most `capacity` bytes to `out` and returns how many
/// (0: nothing, or it does not fit). `format` ends with a zero byte.
pub type Strftime = unsafe extern "C" fn(
    user: *const c_void,
    format: *const c_char,
    out: *mut c_char,
    capacity: usize,
) -> usize;

/// Owns a copy of the caller's data, because a rendering may be left behind.
struct Clock {
    strftime: Strftime,
    user: Vec<u64>, // aligned for any plain data
}

thread_local! {
    // A rendering has its thread to itself, so these belong to one rendering.
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
    static RAISED: RefCell<Option<String>> = const { RefCell::new(None) };
    static PRINTED: Cell<usize> = const { Cell::new(0) };
}

pub struct VtfTemplate {
    environment: Arc<Environment<'static>>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn raise_exception(message: Value) -> Result<Value, Error> {
    let text = message.to_string();
    RAISED.with(|slot| *slot.borrow_mut() = Some(text.clone()));
    Err(bad(text))
}

fn strftime_now(format: &str) -> Result<Value, Error> {
    let format = CString::new(format).map_err(|_| bad("strftime_now: zero byte in the format"))?;
    let mut out = [0u8; 1024]; // strftime's own form has no length; dates are far below this
    let written = CLOCK.with_borrow(|clock| -> Result<usize, Error> {
        let clock = clock.as_ref().ok_or_else(|| bad("strftime_now: no clock"))?;
        let user = clock.user.as_ptr().cast();
        // SAFETY: the callback keeps to `capacity`, and `user` is a copy of what came with it.
        Ok(unsafe { (clock.strftime)(user, format.as_ptr(), out.as_mut_ptr().cast(), out.len()) })
    })?;
    let text = std::str::from_utf8(&out[..written.min(out.len())])
        .map_err(|_| bad("strftime_now: not UTF-8"))?;
    Ok(Value::from(text))
}

fn too_much() -> Error {
    bad(format!(
        "nested more than {MAX_DEPTH} levels deep, or a text of more than {MAX_OUTPUT_BYTES} bytes"
    ))
}

fn string_filter(value: &Value) -> Result<Value, Error> {
    if value.kind() == minijinja::value::ValueKind::String {
        return Ok(value.clone());
    }
    let text = python_repr::to_str(value, MAX_OUTPUT_BYTES).ok_or_else(too_much)?;
    Ok(Value::from(text))
}

/// Counts what is printed, also into variables and macros' results, which the writer never sees.
fn print(out: &mut Output, state: &State, value: &Value) -> Result<(), Error> {
    let ours = python_repr::is_ours(value);
    let text = if ours {
        Some(python_repr::to_str(value, MAX_OUTPUT_BYTES).ok_or_else(too_much)?)
    } else {
        None
    };
    let size = text.as_deref().or(value.as_str()).map_or(0, str::len);
    let printed = PRINTED.with(Cell::get).saturating_add(size);
    PRINTED.with(|slot| slot.set(printed));
    if printed > MAX_OUTPUT_BYTES {
        return Err(too_much());
    }
    match text {
        Some(text) => out.write_str(&text).map_err(Error::from),
        None => minijinja::escape_formatter(out, state, value),
    }
}

fn compile(source: &str) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_unknown_method_callback(python_methods::method);
    environment.set_formatter(print);
    environment.add_filter("tojson", |value: &Value, args: Rest<Value>| {
        python_json::tojson(value, args, MAX_OUTPUT_BYTES)
    });
    environment.add_filter("string", string_filter);
    environment.add_filter("length", python_methods::length);
    environment.add_filter("count", python_methods::length);
    environment.add_test("number", python_methods::is_number);
    environment.add_test("sequence", python_methods::is_sequence);
    environment.add_test("iterable", python_methods::is_iterable);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment.add_template_owned(NAME, replace_generation_blocks(source))?;
    Ok(environment)
}

/// Text that refuses to grow without end.
struct BoundedWriter(Vec<u8>);

impl std::io::Write for BoundedWriter {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        if piece.len() > MAX_OUTPUT_BYTES - self.0.len() {
            return Err(std::io::Error::other("the rendered text is too long"));
        }
        self.0.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

fn render(environment: &Environment, context: &[u8]) -> Outcome<Vec<u8>> {
    let invalid = |text: String| Failure::new(Code::InvalidArgument, text);
    let context: serde_json::Value =
        serde_json::from_slice(context).map_err(|e| invalid(format!("the variables: {e}")))?;
    let context = Value::from_serialize(&context);
    let template = environment.get_template(NAME).map_err(|e| invalid(describe(&e)))?;
    let mut out = BoundedWriter(Vec::new());
    match template.render_captured_to(context, &mut out) {
        Ok(_) => Ok(out.0),
        Err(error) => Err(match RAISED.with(|slot| slot.borrow_mut().take()) {
            Some(message) => Failure::new(Code::Raised, message),
            None => invalid(describe(&error)),
        }),
    }
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_template_new(
    source: *const u8,
    size: usize,
    out: *mut *mut VtfTemplate,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let source = owned_text(utf8(source, size)?)?;
        let environment = supervised(&LIMITS, move || {
            compile(&source).map_err(|e| Failure::new(Code::Corrupt, describe(&e)))
        })?;
        out.write(Box::into_raw(Box::new(VtfTemplate { environment: Arc::new(environment) })));
        Ok(())
    })
}

/// # Safety
/// `template` is null or came from `vtf_template_new`; it must not be used afterwards.
#[no_mangle]
pub unsafe extern "C" fn vtf_template_free(template: *mut VtfTemplate) {
    if !template.is_null() {
        entry(std::ptr::null_mut(), || {
            let boxed = Box::from_raw(template);
            supervised(&LIMITS, move || {
                drop(boxed);
                Ok(())
            })
        });
    }
}

/// # Safety
/// As the header says; all pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn vtf_template_render(
    template: *const VtfTemplate,
    context_json: *const u8,
    size: usize,
    strftime: Option<Strftime>,
    user: *const c_void,
    user_size: usize,
    out: *mut VtfBytes,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let environment = Arc::clone(&object(template)?.environment);
        let context = owned(bytes(context_json, size)?)?;
        let mut copy = vec![0u64; user_size.div_ceil(size_of::<u64>())];
        let user = bytes(user.cast(), user_size)?;
        std::ptr::copy_nonoverlapping(user.as_ptr(), copy.as_mut_ptr().cast(), user.len());
        let clock = strftime.map(|strftime| Clock { strftime, user: copy });
        let text = supervised(&LIMITS, move || {
            CLOCK.set(clock);
            render(&environment, &context)
        })?;
        out.write(VtfBytes::from_vec(text));
        Ok(())
    })
}
