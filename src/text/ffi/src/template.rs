//! Entries over `minijinja`: compile a chat template and render it with Hugging Face's rules. Not
//! the choice of a template or of its variables, which the C++ side makes.
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void, CString};

use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::abi::{bytes, catching, entry, object, utf8, Code, Failure, Outcome, VtfBytes};
use crate::control_blocks::replace_generation_blocks;
use crate::{python_json, python_methods, python_repr};

const NAME: &str = "chat_template";

/// Instructions that one rendering may take. A message of the Qwen3.5 family takes up to about 170, so
/// this is about 9,000 messages; an endless loop ends within a fraction of a second.
const FUEL: u64 = 1_500_000;

/// The stack that compiling and rendering get. An instruction can nest a value one level deeper, and
/// values are printed, compared and freed recursively, at up to 512 bytes of stack for a level
/// (measured: a million levels fit 512 MiB, two million do not). So FUEL levels need 750 MiB. It is
/// address space: untouched pages cost nothing.
const STACK_BYTES: usize = 1 << 30;

/// More text than any model reads; stops a template that prints without end.
const MAX_OUTPUT_BYTES: usize = 256 << 20;

/// Formats the time of the rendering: writes at most `capacity` bytes to `out` and returns how many
/// (0: nothing, or it does not fit). `format` ends with a zero byte.
pub type Strftime = unsafe extern "C" fn(
    user: *const c_void,
    format: *const c_char,
    out: *mut c_char,
    capacity: usize,
) -> usize;

#[derive(Clone, Copy)]
struct Clock {
    strftime: Strftime,
    user: *const c_void,
}

// SAFETY: the caller of vtf_template_render waits for the rendering thread, so `user` outlives it.
unsafe impl Send for Clock {}

thread_local! {
    // A rendering has its thread to itself, so these belong to one rendering.
    static CLOCK: Cell<Option<Clock>> = const { Cell::new(None) };
    static RAISED: RefCell<Option<String>> = const { RefCell::new(None) };
}

pub struct VtfTemplate {
    environment: Environment<'static>,
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
    let clock = CLOCK.with(Cell::get).ok_or_else(|| bad("strftime_now: no clock"))?;
    let format = CString::new(format).map_err(|_| bad("strftime_now: zero byte in the format"))?;
    let mut out = [0u8; 1024]; // strftime's own form has no length; dates are far below this
                               // SAFETY: the callback keeps to `capacity`, and `user` is what came with it.
    let written = unsafe {
        (clock.strftime)(clock.user, format.as_ptr(), out.as_mut_ptr().cast(), out.len())
    };
    let text = std::str::from_utf8(&out[..written.min(out.len())])
        .map_err(|_| bad("strftime_now: not UTF-8"))?;
    Ok(Value::from(text))
}

fn string_filter(value: &Value) -> Result<Value, Error> {
    if value.kind() == minijinja::value::ValueKind::String {
        return Ok(value.clone());
    }
    let text = python_repr::to_str(value).ok_or_else(|| bad("string: nested too deeply"))?;
    Ok(Value::from(text))
}

fn compile(source: &str) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_unknown_method_callback(python_methods::method);
    environment.set_formatter(|out, state, value| {
        if python_repr::is_ours(value) {
            let text = python_repr::to_str(value).ok_or_else(|| bad("nested too deeply"))?;
            return out.write_str(&text).map_err(Error::from);
        }
        minijinja::escape_formatter(out, state, value)
    });
    environment.add_filter("tojson", python_json::tojson);
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

fn render(template: &VtfTemplate, context: &[u8]) -> Outcome<Vec<u8>> {
    let invalid = |text: String| Failure::new(Code::InvalidArgument, text);
    let context: serde_json::Value =
        serde_json::from_slice(context).map_err(|e| invalid(format!("the variables: {e}")))?;
    let context = Value::from_serialize(&context);
    let template = template.environment.get_template(NAME).map_err(|e| invalid(describe(&e)))?;
    let mut out = BoundedWriter(Vec::new());
    RAISED.with(|slot| slot.borrow_mut().take());
    match template.render_captured_to(context, &mut out) {
        Ok(_) => Ok(out.0),
        Err(error) => Err(match RAISED.with(|slot| slot.borrow_mut().take()) {
            Some(message) => Failure::new(Code::Raised, message),
            None => invalid(describe(&error)),
        }),
    }
}

/// Runs `body` on a thread with a stack of STACK_BYTES and waits for it.
fn on_large_stack<T: Send>(body: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("chat_template".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || catching(body))
            .map_err(|e| Failure::new(Code::Unsupported, format!("no thread to render on: {e}")))?
            .join()
            .unwrap_or_else(|_| Err(Failure::new(Code::Panic, "the rendering thread died")))
    })
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
        let source = utf8(source, size)?;
        let environment = on_large_stack(|| {
            compile(source).map_err(|e| Failure::new(Code::Corrupt, describe(&e)))
        })?;
        out.write(Box::into_raw(Box::new(VtfTemplate { environment })));
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
            on_large_stack(move || {
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
    out: *mut VtfBytes,
    error: *mut VtfBytes,
) -> i32 {
    entry(error, || {
        let template = object(template)?;
        let context = bytes(context_json, size)?;
        let clock = strftime.map(|strftime| Clock { strftime, user });
        let text = on_large_stack(move || {
            CLOCK.with(|slot| slot.set(clock));
            render(template, context)
        })?;
        out.write(VtfBytes::from_vec(text));
        Ok(())
    })
}
