//! The C ABI of Verbatim's text layer over the `tokenizers`, `minijinja` and `llguidance` crates; its C
//! side is `verbatim_text_ffi.h`. Not a Rust interface, and no text logic that C++ could hold.
mod abi;
mod control_blocks;
mod grammar;
mod grammar_entries;
mod python_json;
mod python_methods;
mod python_repr;
mod supervised;
mod template;
mod tokenizer;
