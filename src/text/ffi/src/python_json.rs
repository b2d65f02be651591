//! Python's `json.dumps` as Hugging Face's `tojson` filter calls it: no HTML escapes, keys in their
//! own order. Not minijinja's tojson, which escapes `<>&'` and prints compactly.
use minijinja::value::{from_args, Kwargs, Rest, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use crate::python_repr::{float_repr, MAX_DEPTH};

struct Style {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
    most: usize, // bytes of output, about
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// `tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`. More than about
/// `most` bytes are an error.
pub fn tojson(value: &Value, args: Rest<Value>, most: usize) -> Result<Value, Error> {
    type Arguments = (Option<Value>, Option<Value>, Option<Value>, Option<Value>, Kwargs);
    let (ensure_ascii, indent, separators, sort_keys, kwargs): Arguments = from_args(&args)?;
    let pick = |positional: Option<Value>, name: &str| -> Result<Value, Error> {
        match (positional, kwargs.get::<Option<Value>>(name)?) {
            (Some(_), Some(_)) => Err(bad(format!("tojson got {name} twice"))),
            (given, named) => Ok(given.or(named).unwrap_or_else(|| Value::from(()))),
        }
    };
    let ensure_ascii = pick(ensure_ascii, "ensure_ascii")?.is_true();
    let indent = pick(indent, "indent")?;
    let separators = pick(separators, "separators")?;
    let sort_keys = pick(sort_keys, "sort_keys")?.is_true();
    kwargs.assert_all_used()?;

    let indent = match indent.kind() {
        ValueKind::None | ValueKind::Undefined => None,
        ValueKind::String => indent.as_str().map(str::to_owned),
        // 64 columns per level are more than any template means, and bound the output.
        _ => Some(" ".repeat(i64::try_from(indent)?.clamp(0, 64) as usize)),
    };
    let (item_separator, key_separator) = if separators.is_none() || separators.is_undefined() {
        (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned())
    } else {
        let parts: Vec<Value> = separators.try_iter()?.collect();
        match parts.as_slice() {
            [item, key] => (item.to_string(), key.to_string()),
            _ => return Err(bad("tojson expects two separators")),
        }
    };
    let style = Style { ensure_ascii, indent, item_separator, key_separator, sort_keys, most };
    let mut out = String::new();
    dump(value, &style, 0, &mut out)?;
    Ok(Value::from_safe_string(out))
}

fn quote(text: &str, ensure_ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if ensure_ascii && (c as u32) > 0x7e => {
                // As UTF-16 units; DEL counts as not ASCII, as in Python.
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn number(value: &Value) -> String {
    match (value.is_integer(), f64::try_from(value.clone())) {
        (false, Ok(x)) if x.is_nan() => "NaN".into(),
        (false, Ok(x)) if x.is_infinite() => {
            (if x > 0.0 { "Infinity" } else { "-Infinity" }).into()
        }
        (false, Ok(x)) => float_repr(x),
        _ => value.to_string(),
    }
}

/// A key as json.dumps writes it: strings, numbers, true, false, null; anything else is an error.
fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_owned()),
        ValueKind::Number => Ok(number(key)),
        ValueKind::Bool => Ok((if key.is_true() { "true" } else { "false" }).into()),
        ValueKind::None => Ok("null".into()),
        kind => Err(bad(format!("a key of kind {kind} is not JSON serializable"))),
    }
}

fn new_line(style: &Style, depth: usize, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        for _ in 0..depth {
            out.push_str(indent);
        }
    }
}

fn dump(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(bad("tojson: nested too deeply"));
    }
    if out.len() > style.most {
        return Err(bad(format!("tojson: more than {} bytes", style.most)));
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => quote(value.as_str().unwrap_or_default(), style.ensure_ascii, out),
        ValueKind::Seq | ValueKind::Iterable => {
            let mut first = true;
            out.push('[');
            for item in value.try_iter()? {
                if !std::mem::take(&mut first) {
                    out.push_str(&style.item_separator);
                }
                new_line(style, depth + 1, out);
                dump(&item, style, depth + 1, out)?;
            }
            if !first {
                new_line(style, depth, out);
            }
            out.push(']');
        }
        ValueKind::Map => {
            let mut keys: Vec<Value> = value.try_iter()?.collect();
            if style.sort_keys {
                keys.sort();
            }
            out.push('{');
            for (i, key) in keys.iter().enumerate() {
                if i > 0 {
                    out.push_str(&style.item_separator);
                }
                new_line(style, depth + 1, out);
                quote(&key_text(key)?, style.ensure_ascii, out);
                out.push_str(&style.key_separator);
                dump(&value.get_item(key)?, style, depth + 1, out)?;
            }
            if !keys.is_empty() {
                new_line(style, depth, out);
            }
            out.push('}');
        }
        kind => return Err(bad(format!("Object of type {kind} is not JSON serializable"))),
    }
    Ok(())
}
