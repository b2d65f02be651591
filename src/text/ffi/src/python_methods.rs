//! Where minijinja's tests and Python-like methods differ from Jinja's, and templates can see it.
//! Everything else is left to minijinja-contrib's pycompat.
use minijinja::value::{from_args, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

pub fn method(state: &State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        match name {
            // Python counts characters, pycompat bytes.
            "find" | "rfind" if args.len() == 1 => {
                let (what,): (&str,) = from_args(args)?;
                let at = if name == "find" { text.find(what) } else { text.rfind(what) };
                let index = at.map_or(-1, |bytes| text[..bytes].chars().count() as i64);
                return Ok(Value::from(index));
            }
            // Python: false for the empty string.
            "isdigit" | "isnumeric" | "isalpha" | "isalnum" | "isspace" | "islower" | "isupper"
                if text.is_empty() && args.is_empty() =>
            {
                return Ok(Value::from(false));
            }
            "removeprefix" | "removesuffix" => {
                let (what,): (&str,) = from_args(args)?;
                let cut = if name == "removeprefix" {
                    text.strip_prefix(what)
                } else {
                    text.strip_suffix(what)
                };
                return Ok(Value::from(cut.unwrap_or(text)));
            }
            _ => {}
        }
    }
    minijinja_contrib::pycompat::unknown_method_callback(state, value, name, args)
}

/// Jinja: an undefined value has no items, so its length is 0.
pub fn length(value: &Value) -> Result<Value, Error> {
    match value.len() {
        _ if value.is_undefined() => Ok(Value::from(0)),
        Some(length) => Ok(Value::from(length)),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("cannot calculate the length of a value of type {}", value.kind()),
        )),
    }
}

/// Python: a bool is a number.
pub fn is_number(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

/// Jinja: anything with a length and an index operator, strings and mappings included.
pub fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map)
}

/// Jinja: anything that `iter` accepts: strings and undefined values too, but not None.
pub fn is_iterable(value: &Value) -> bool {
    match value.kind() {
        ValueKind::None => false,
        ValueKind::Undefined | ValueKind::String => true,
        _ => value.try_iter().is_ok(),
    }
}
