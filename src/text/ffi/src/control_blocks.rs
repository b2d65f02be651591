//! Makes Hugging Face's `{% generation %}` blocks transparent before parsing: minijinja does not
//! know the tag. Not a template parser: it only finds where tags begin and end.

/// Replaces `{% generation %}` and `{% endgeneration %}` by `{% with %}` and `{% endwith %}`: like
/// the original block, `with` renders its body once and has a scope of its own. Whitespace control
/// marks and line numbers stay. Comments, raw blocks and string literals are left alone.
pub fn replace_generation_blocks(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut in_raw = false;
    while let Some(start) = rest.find('{') {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let length = match tag.as_bytes().get(1) {
            Some(b'#') if !in_raw => tag.find("#}").map_or(tag.len(), |end| end + 2),
            Some(b'{') if !in_raw => code_length(tag, "}}"),
            Some(b'%') => {
                let length = if in_raw {
                    tag.find("%}").map_or(tag.len(), |end| end + 2)
                } else {
                    code_length(tag, "%}")
                };
                let name = block_name(&tag[..length]);
                match name {
                    "raw" => in_raw = true,
                    "endraw" => in_raw = false,
                    _ => {}
                }
                let replacement = match name {
                    "generation" if !in_raw => Some("with"),
                    "endgeneration" if !in_raw => Some("endwith"),
                    _ => None,
                };
                if in_raw && name != "raw" {
                    // Text inside a raw block: `{%` opens nothing here, so look on just behind it.
                    out.push_str("{%");
                    rest = &tag[2..];
                    continue;
                }
                if let Some(replacement) = replacement {
                    out.push_str(&tag[..length].replacen(name, replacement, 1));
                    rest = &tag[length..];
                    continue;
                }
                length
            }
            _ => 1,
        };
        out.push_str(&tag[..length]);
        rest = &tag[length..];
    }
    out.push_str(rest);
    out
}

/// The length of a tag up to and with `close`, which does not count inside a string literal.
fn code_length(tag: &str, close: &str) -> usize {
    let bytes = tag.as_bytes();
    let mut quote = None;
    let mut i = 2;
    while i < bytes.len() {
        match (quote, bytes[i]) {
            (Some(_), b'\\') => i += 1,
            (Some(q), c) if c == q => quote = None,
            (None, c @ (b'"' | b'\'')) => quote = Some(c),
            (None, _) if tag.as_bytes()[i..].starts_with(close.as_bytes()) => return i + 2,
            _ => {}
        }
        i += 1;
    }
    tag.len()
}

fn block_name(tag: &str) -> &str {
    let inner = tag.strip_prefix("{%").unwrap_or(tag);
    let inner = inner.strip_suffix("%}").unwrap_or(inner);
    let inner = inner.trim_start_matches(['-', '+']).trim_start();
    inner.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
}
