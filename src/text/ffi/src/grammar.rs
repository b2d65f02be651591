//! Work over `llguidance`: which tokens may follow under a JSON schema, a regular expression or a
//! grammar. Not the choice among them, and not llguidance's own C interface, which has no limits.
use std::sync::Arc;
use std::time::Duration;

use llguidance::api::{GrammarInit, ParserLimits, StopReason, TopLevelGrammar};
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{
    InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv, INVALID_TOKEN,
};
use llguidance::{ParserFactory, TokenParser};
use serde_json::{json, Value};

use crate::abi::{Code, Failure, Outcome};
use crate::supervised::Limits;

/// Of the sorted vocabulary and its slices: about 60 bytes for a byte of the tokens' texts, which are
/// 1.6 MB for 250,000 of them. Two seconds on a slow machine.
pub const INDEXING: Limits = Limits {
    stack_bytes: 16 << 20,
    heap_bytes: if cfg!(fuzzing) { 64 << 20 } else { 4 << 30 },
    time: Duration::from_secs(120),
};

/// Of one compilation. The stack: the crate follows Lark's definitions recursively, at up to 5 KiB a
/// step of MAX_STEPS (measured: 60,000 rules that name one another fit 256 MiB), and ends groups at 30
/// levels, regular expressions at 250 and schemas at 128. Heap and time are the last resort, which
/// intersections of many regular expressions reach: the largest schemas in use take 100 MiB and a second.
pub const COMPILING: Limits = Limits {
    stack_bytes: 1 << 30,
    heap_bytes: (256 << 20) / SCALE,
    time: Duration::from_secs(if cfg!(fuzzing) { 4 } else { 30 }),
};

/// What such ends of compilations may have cost the process for good, before it compiles no more.
pub const MAX_LOST_BYTES: usize = 1 << 30;

/// The fuzzer's build reaches every limit in a fraction of the time.
const SCALE: usize = if cfg!(fuzzing) { 8 } else { 1 };

/// A schema of 4,000 properties has 200 KiB.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Definitions and groups of a Lark grammar: 100 tools of 10 parameters take 2,000.
const MAX_STEPS: usize = 50_000;

/// Of one object: each costs four items of a row, and rows are bounded (max_items_in_row). What is
/// wider would be found out at its first brace, when the row has been built, which takes 80 us each
/// while everybody waits.
const MAX_OPTIONAL: usize = 120;

/// Of the crate's sentences, which quote what they are about.
const MAX_REASON_BYTES: usize = 1000;

/// JSON may have whitespace where RFC 8259 has it, but at most as much at a time as 16 levels of
/// indentation by four: a model cannot go on with blanks for ever.
const JSON_WHITESPACE: &str = r"[\x20\x0A\x0D\x09]{1,65}";

fn parser_limits() -> ParserLimits {
    ParserLimits {
        // The largest schema in wide use, FHIR's, takes 500,000; at 50,000 a millisecond (the crate's own
        // figure) 20 ms.
        initial_lexer_fuel: 1_000_000 / SCALE as u64,
        // A mask: at 14,000 and 20,000 a millisecond at most about 20 ms. Masks of JSON take a
        // hundredth of it.
        step_lexer_fuel: 200_000,
        step_max_items: 50_000,
        // An ambiguous grammar's row has items as the text has tokens, and a token then costs their
        // square: 50 ms at this limit, seconds at the crate's own of 2,000. JSON schemas take below 100.
        max_items_in_row: 500,
        // At 1 to 2 KiB each up to 64 MiB a request; a large schema visits a few thousand.
        max_lexer_states: 32_768 / SCALE,
        max_grammar_size: 500_000 / SCALE,
        precompute_large_lexemes: true,
        verbose_errors: false, // the text so far belongs to the client, not into an error
    }
}

/// Tokens whose bytes stand for text: long JSON strings (the crate's own list), and text that is no
/// markup, for the arguments of tool calls.
fn slices() -> Vec<String> {
    let mut slices = SlicedBiasComputer::json_slices();
    slices.push(r#"[^"\\<\x00-\x1F\x7F]+"#.to_string());
    slices
}

// VtfConstraintKind of the header.
const JSON_OBJECT: i32 = 1;
const JSON_SCHEMA: i32 = 2;
const REGEX: i32 = 3;
const LARK: i32 = 4;

// VtfGrammarFlags of the header.
const MAY_END: u32 = 1;
const MUST_END: u32 = 2;

/// The vocabulary as llguidance asks for it. Not canonical: tokens are never forced, so that a mask
/// says exactly which tokens fit the grammar.
struct Vocabulary {
    trie: TokTrie,
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, text: &[u8]) -> Vec<TokenId> {
        self.trie.greedy_tokenize(text)
    }

    fn tokenize_is_canonical(&self) -> bool {
        false
    }
}

/// What all grammars over a vocabulary share.
pub struct Shared {
    parsers: ParserFactory,
    eos_ids: Vec<TokenId>,
    present: Vec<u32>, // as a mask: ids with a token
}

/// One sequence's place in a grammar.
pub struct VtfGrammar {
    shared: Arc<Shared>,
    /// As compiled, for rollbacks that the parser cannot make itself.
    fresh: TokenParser,
    parser: TokenParser,
    tokens: Vec<TokenId>, // committed, without the one that ended the text
    ended: bool,          // by an end-of-sequence token
    flags: u32,
}

pub fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Code::InvalidArgument, message)
}

/// The crate's sentence, without the marker that it appends.
fn reason(error: impl std::fmt::Display) -> String {
    let text = error.to_string().replace("<non-verbose/>", "");
    // A panic inside of the crate comes with where in its sources it was.
    let text = text.split("\nStack backtrace").next().unwrap_or_default();
    let text = text.split("\nstack backtrace").next().unwrap_or_default();
    let mut text = text.trim().to_string();
    if text.len() > MAX_REASON_BYTES {
        let end = (0..=MAX_REASON_BYTES).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text.push_str(" ...");
    }
    text
}

pub fn vocabulary(
    data: &[u8],
    offsets: &[u64],
    special: &[u8],
    eos_ids: &[u32],
) -> Outcome<Shared> {
    let mut words = Vec::with_capacity(special.len());
    for (id, is_special) in special.iter().enumerate() {
        let range = offsets[id] as usize..offsets[id + 1] as usize;
        let word = data.get(range).ok_or_else(|| invalid("offsets beyond the bytes"))?;
        // No text has the byte 0xFF. In front of a token it hides it from text, and a grammar's
        // <|name|> finds it. An end-of-sequence token ends the text, so it is never part of one.
        words.push(if word.is_empty() || word[0] == TokTrie::SPECIAL_TOKEN_MARKER {
            Vec::new()
        } else if *is_special != 0 || eos_ids.contains(&(id as u32)) {
            [&[TokTrie::SPECIAL_TOKEN_MARKER], word].concat()
        } else {
            word.to_vec()
        });
    }
    // No end-of-sequence token for the crate: which of them end a text is decided here.
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, INVALID_TOKEN), &words);
    let mut present = vec![0; words.len().div_ceil(32)];
    for (id, _) in words.iter().enumerate().filter(|(_, word)| !word.is_empty()) {
        set(&mut present, id as u32);
    }
    let env: TokEnv = Arc::new(Vocabulary { trie });
    let mut parsers = ParserFactory::new(&env, InferenceCapabilities::default(), &slices())
        .map_err(|e| Failure::new(Code::Unsupported, reason(e)))?;
    parsers.quiet();
    *parsers.limits_mut() = parser_limits();
    Ok(Shared { parsers, eos_ids: eos_ids.to_vec(), present })
}

/// An upper bound of what the crate's recursion over a Lark grammar is made of.
fn steps(text: &str) -> usize {
    text.bytes().filter(|byte| b"\n([{~".contains(byte)).count()
}

/// Optional properties of the schema's object that has the most.
fn widest(schema: &Value) -> usize {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().map(widest).max().unwrap_or(0),
        _ => return 0,
    };
    let mut most = members.values().map(widest).max().unwrap_or(0);
    if let Some(Value::Object(properties)) = members.get("properties") {
        let required = members.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
        most = most.max(properties.keys().filter(|name| !is_required(name)).count());
    }
    most
}

fn check_width(schema: &Value) -> Outcome<()> {
    match widest(schema) {
        width if width > MAX_OPTIONAL => Err(invalid(format!(
            "an object with {width} optional properties, more than {MAX_OPTIONAL}"
        ))),
        _ => Ok(()),
    }
}

/// The schemas inside of a Lark grammar. What is no JSON is the crate's to refuse.
fn check_schemas_of_lark(text: &str) -> Outcome<()> {
    for rest in text.split("%json").skip(1) {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        if let Some(Ok(schema)) = values.next() {
            check_width(&schema)?;
        }
    }
    Ok(())
}

fn top_level(kind: i32, text: &str) -> Outcome<TopLevelGrammar> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(invalid(format!("{} bytes, more than {MAX_TEXT_BYTES}", text.len())));
    }
    if kind == LARK && steps(text) > MAX_STEPS {
        return Err(invalid(format!("more than {MAX_STEPS} lines and groups")));
    }
    match kind {
        JSON_OBJECT | JSON_SCHEMA => {
            let mut schema = if kind == JSON_OBJECT {
                json!({"type": "object"})
            } else {
                serde_json::from_str(text).map_err(|e| invalid(reason(e)))?
            };
            check_width(&schema)?;
            if let Value::Object(fields) = &mut schema {
                let whitespace = json!({"whitespace_pattern": JSON_WHITESPACE});
                fields.entry("x-guidance").or_insert(whitespace);
            }
            Ok(TopLevelGrammar::from_json_schema(schema))
        }
        REGEX => Ok(TopLevelGrammar::from_regex(text)),
        LARK => {
            check_schemas_of_lark(text)?;
            Ok(TopLevelGrammar::from_lark(text.to_string()))
        }
        _ => Err(invalid(format!("constraint kind {kind}"))),
    }
}

/// Whether a rule of a Lark grammar has the attribute temperature=, of which the crate keeps no record
/// for terminals.
fn sets_temperature(text: &str) -> bool {
    text.lines().any(|line| match line.split_once('[') {
        Some((name, rest)) => {
            let is_name = |c: char| c.is_alphanumeric() || "_?! ".contains(c);
            let attributes = rest.split(']').next().unwrap_or_default();
            name.chars().all(is_name) && attributes.contains("temperature")
        }
        None => false,
    })
}

pub fn compile(shared: Arc<Shared>, kind: i32, text: &str) -> Outcome<VtfGrammar> {
    let grammar = GrammarInit::Serialized(top_level(kind, text)?);
    let parsed = shared.parsers.create_parser_from_init_default(grammar);
    let mut fresh = parsed.map_err(|e| invalid(reason(e)))?;
    let spec = fresh.parser.grammar().lexer_spec();
    // Attributes of the crate's Lark dialect that a text cannot be taken back through, or that change
    // how tokens are chosen.
    for (there, name) in [
        (spec.has_stop, "stop="),
        (spec.has_max_tokens, "max_tokens="),
        (spec.has_temperature || kind == LARK && sets_temperature(text), "temperature="),
    ] {
        if there {
            return Err(invalid(format!("the attribute {name}, which is not supported")));
        }
    }
    fresh.start_without_prompt();
    let parser = fresh.deep_clone();
    let mut grammar =
        VtfGrammar { shared, fresh, parser, tokens: Vec::new(), ended: false, flags: 0 };
    grammar.settle()?;
    Ok(grammar)
}

impl VtfGrammar {
    /// Shares nothing that either changes.
    pub fn copied(&self) -> Self {
        VtfGrammar {
            shared: Arc::clone(&self.shared),
            fresh: self.fresh.deep_clone(),
            parser: self.parser.deep_clone(),
            tokens: self.tokens.clone(),
            ..*self
        }
    }

    /// Brings the flags up to date. A text that nothing can follow stops the parser.
    fn settle(&mut self) -> Outcome<()> {
        let may_end = self.parser.is_accepting();
        let stopped = self.parser.check_stop().map_err(|e| invalid(reason(e)))?;
        self.flags = if may_end { MAY_END } else { 0 } | if stopped { MUST_END } else { 0 };
        Ok(())
    }

    pub fn vocab_size(&self) -> usize {
        self.shared.parsers.tok_env().tok_trie().vocab_size()
    }

    fn must_end(&self) -> bool {
        self.ended || self.flags & MUST_END != 0
    }

    pub fn flags(&self) -> u32 {
        if self.ended {
            MAY_END | MUST_END
        } else {
            self.flags
        }
    }

    pub fn mask(&mut self, out: &mut [u32]) -> Outcome<()> {
        out.fill(0);
        if !self.must_end() {
            match self.parser.compute_mask() {
                Ok(allowed) => {
                    let present = &self.shared.present;
                    for ((word, allowed), present) in
                        out.iter_mut().zip(allowed.as_slice()).zip(present)
                    {
                        *word = allowed & present;
                    }
                }
                // Nothing follows. The parser says so by stopping, which a rollback would undo.
                Err(_) if self.parser.stop_reason() == StopReason::NoExtensionBias => {
                    let tokens = self.tokens.len();
                    self.replay(tokens)?;
                    if self.flags & MAY_END == 0 {
                        return Err(invalid("a text that no token of the vocabulary continues"));
                    }
                }
                Err(error) => return Err(invalid(reason(error))),
            }
        }
        if self.flags() & MAY_END != 0 {
            for id in &self.shared.eos_ids {
                set(out, *id);
            }
        }
        Ok(())
    }

    pub fn commit(&mut self, token: TokenId) -> Outcome<()> {
        let refused = || invalid(format!("token {token}, which the grammar does not allow here"));
        if self.ended {
            return Err(refused());
        }
        if self.flags & MAY_END != 0 && self.shared.eos_ids.contains(&token) {
            self.ended = true;
            return Ok(());
        }
        let trie = self.shared.parsers.tok_env().tok_trie();
        if self.must_end() || trie.token(token).is_empty() {
            return Err(refused());
        }
        if !self.parser.validate_token(token).map_err(|e| invalid(reason(e)))? {
            return Err(refused());
        }
        self.parser.consume_token(token).map_err(|e| invalid(reason(e)))?;
        self.tokens.push(token);
        self.settle()
    }

    pub fn rollback(&mut self, mut num_tokens: usize) -> Outcome<()> {
        if num_tokens > self.tokens.len() + usize::from(self.ended) {
            return Err(invalid(format!("{num_tokens} tokens, more than were committed")));
        }
        if num_tokens > 0 && self.ended {
            self.ended = false;
            num_tokens -= 1;
        }
        if num_tokens == 0 {
            return Ok(());
        }
        let left = self.tokens.len() - num_tokens;
        // The parser's own rollback does not lead out of an error, such as that of a limit behind drafts.
        if self.parser.rollback(num_tokens).is_err() {
            return self.replay(left);
        }
        self.tokens.truncate(left);
        self.settle()
    }

    /// Starts afresh and goes to behind the first `num_tokens` tokens.
    fn replay(&mut self, num_tokens: usize) -> Outcome<()> {
        self.parser = self.fresh.deep_clone();
        self.tokens.truncate(num_tokens);
        self.settle()?;
        for token in &self.tokens {
            self.parser.consume_token(*token).map_err(|e| invalid(reason(e)))?;
        }
        self.settle()
    }
}

fn set(mask: &mut [u32], id: TokenId) {
    mask[id as usize / 32] |= 1 << (id % 32);
}
