//! Python's `str` and `repr` of template values. Not JSON (python_json.rs).
use minijinja::value::{Value, ValueKind};

/// Containers deeper than this are refused, as Python's recursion limit does.
pub const MAX_DEPTH: usize = 256;

/// `repr(float)`: the shortest digits that read back as the same number, in positional notation for
/// decimal exponents -4 to 15, else as d.ddde+XX with at least two exponent digits.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let positional = format!("{value}");
        return if positional.contains('.') { positional } else { positional + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn string_repr(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            // Controls and spaces other than U+0020 are what Python calls unprintable.
            c if c.is_control() || (c.is_whitespace() && c != ' ') => {
                let code = c as u32;
                match code {
                    0..=0xff => out.push_str(&format!("\\x{code:02x}")),
                    0x100..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                    _ => out.push_str(&format!("\\U{code:08x}")),
                }
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// True for the kinds whose Python text differs from what minijinja prints.
pub fn is_ours(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Number => !value.is_integer(),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => true,
        _ => false,
    }
}

/// `str(value)`. None: nested too deeply, or more than about `most` bytes: a list that is in itself
/// twice, twice again and so on is small until it is printed.
pub fn to_str(value: &Value, most: usize) -> Option<String> {
    if value.kind() == ValueKind::String || !is_ours(value) {
        return Some(value.to_string());
    }
    let mut out = String::new();
    repr(value, 0, most, &mut out).then_some(out)
}

fn repr(value: &Value, depth: usize, most: usize, out: &mut String) -> bool {
    if depth > MAX_DEPTH || out.len() > most {
        return false;
    }
    match value.kind() {
        ValueKind::String => string_repr(value.as_str().unwrap_or_default(), out),
        ValueKind::Number if !value.is_integer() => match f64::try_from(value.clone()) {
            Ok(number) => out.push_str(&float_repr(number)),
            Err(_) => out.push_str(&value.to_string()),
        },
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            for (i, item) in value.try_iter().into_iter().flatten().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                if !repr(&item, depth + 1, most, out) {
                    return false;
                }
            }
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            for (i, key) in value.try_iter().into_iter().flatten().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                let item = value.get_item(&key).unwrap_or_default();
                if !repr(&key, depth + 1, most, out) {
                    return false;
                }
                out.push_str(": ");
                if !repr(&item, depth + 1, most, out) {
                    return false;
                }
            }
            out.push('}');
        }
        _ => out.push_str(&value.to_string()),
    }
    true
}
