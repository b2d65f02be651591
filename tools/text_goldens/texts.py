"""The texts of the tokenizer goldens: written here, or made with a fixed seed. Not a corpus."""

import random

PROSE = [
    "",
    " ",
    "a",
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    "It's what we've said: they're late, I'm sure you'll see, he'd know, don't 'TIS 'Re 'LL.",
    "Don’t mix “curly” and 'straight' quotes — or dashes – like…this.",
    "Once upon a time there was a little girl named Lily. She liked to play in the park.",
    "Grüße aus Köln, façade, naïve, coöperate, Ærøskøbing, Łódź, İstanbul, ßtraße, ŉ ǆ ﬁ",
    "e\u0301 vs \u00e9; A\u030a vs \u00c5; \u1e9b\u0323; q\u0307\u0323 q\u0323\u0307",  # NFC joins or orders
    "สวัสดีครับ ผมชื่ออเล็กซ์",
    "ประเทศไทยมีภาษาไทยเป็นภาษาราชการ น้ำ ก็ ที่",
    "नमस्ते दुनिया, हिन्दी में लिखा हुआ वाक्य। क्षत्रिय ज्ञान श्री",
    "தமிழ் மொழி, తెలుగు, ಕನ್ನಡ, മലയാളം, বাংলা, ગુજરાતી, ਪੰਜਾਬੀ",
    "你好，世界！我们今天学习人工智能。",
    "日本語のテキスト：ひらがな、カタカナ、漢字。ｶﾀｶﾅ",
    "안녕하세요 세계 \u1112\u1161\u11ab\u1100\u1173\u11af",
    "Привет, мир! Ёлка и ежи\u0308к.",
    "Γειά σου Κόσμε, ΐ ΰ",
    "שלום עולם, שָׁלוֹם",
    "مرحبا بالعالم، اَلسَّلَامُ عَلَيْكُمْ",
    "Tiếng Việt: Đường phố Hà Nội, nghĩa, tiê\u0301ng",
    "😀 😁😂🤣 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇹🇭 ☺️ ✨ 1️⃣ 🫠",
    "math: ∑_{i=0}^{n} x² ≤ ½·π ≠ ∞, ℝ → ℂ, α β γ, 𝒜𝓑 𝟙",
    "box ┌─┐│└┘ ░▒▓ ■□ ★☆ ♠♥ © ® ™ § ¶ † ‡",
    "zero\u200bwidth\u200djoiner\u2060soft\u00adhyphen\ufefffeff\u00a0nbsp\u3000ideographic",
    "private \ue000\uf8ff and astral \U0001f9ff\U00020000\U0010fffd",
    "controls \x00\x01\x07\x08\x0b\x0c\x1b[31mred\x1b[0m\x7f\x85",
]

WHITESPACE = [
    "  two spaces", "three   spaces   inside", "trailing   ", "\t\ttabs\t", " \t mixed \t ",
    "line\nbreak", "two\n\nbreaks", "many\n\n\n\n\nbreaks\n", "\n", "\n\n", "\r\n", "CRLF\r\nline\r\n\r\nend\r",
    "   \n   indented\n\t\n", " \n", "\n ", "a \n b", "end of line   \nnext", "\u2028line\u2029para", "a\u00a0 b",
    "      ", "\n    \n        x", "x\r\r\ny", " \r\n \r\n",
]

DIGITS = [
    "0", "12", "123", "1234567890", "3.14159", "1,000,000.00", "-42", "+7", "1e-10", "0xDEADBEEF", "192.168.0.1",
    "2026-08-03T12:34:56Z", "v1.2.3-rc4", "50%", "$19.99", "٣٤٥ ४५६ ๗๘๙ ①②③ Ⅷ ½", "10km", "a1b2c3", "7 8 9",
    "007 is 7", "1st 2nd 3rd",
]

CODE = [
    "def add(a, b):\n    return a + b\n",
    "int main(int argc, char** argv) {\n\tstd::cout << \"hi\\n\" << argv[0];\n\treturn 0;\n}\n",
    "for (let i = 0; i < n; ++i) { console.log(`item ${i}`); }",
    "SELECT * FROM users WHERE name = 'O''Brien' AND age >= 21;",
    "<div class=\"a b\" id='c'>text &amp; more</div>\n<!-- comment -->",
    "{\"key\": [1, 2.5, true, null, \"\\u00e9\"], \"nested\": {\"a\": {}}}",
    "#include <vector>\n#define MAX(a,b) ((a)>(b)?(a):(b))\n",
    "fn main() -> Result<(), Box<dyn Error>> { let x = &mut y?; Ok(()) }",
    "if x != y && (a || !b) { z ^= ~w << 3; } // comment",
    "    if self.x is None:\n        raise ValueError(f\"bad {x!r}\")\n\n\n",
    "git commit -m 'fix: #123' && make -j$(nproc) 2>&1 | tee log.txt",
    "https://example.org/path?q=a%20b&x=1#frag user@example.org C:\\dir\\file.txt",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case dunder__init__",
    "r'^(?:[a-z]+|\\d{2,3})*$' \\\\ \\n \\t",
    "!!! ??? ... --- === *** ### @@@ $$$ %%% ^^^ &&& ((( ))) [[[ ]]] {{{ }}} <<< >>> ~~~ ``` ''' \"\"\"",
    "+-*/=<>!@#$%^&*()_[]{}|;:,.?",
]

SPECIAL = [
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n",
    "<think>\n\n</think>\n\nanswer<|im_end|>",
    "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>",
    "<tool_response>\nok\n</tool_response><|endoftext|>",
    "text<|im_end|>text", " <|im_end|> ", "<|im_end|><|im_end|>", "<|im_end", "|im_end|>", "<|im_start |>", "< think>",
    "<|IM_END|>", "<|im_en<|im_end|>d|>", "<think><think></think>", "e<|im_end|>\u0301", "<|endoftext|>\n\n",
    "<bos><eos><pad><|turn>user\nhi<turn|>", "<0x41><0x0A> <unk>", "▁under▁bar ▁", "Ġ Ċ ĉ Ã©",
]


def made_texts():
    """Random texts over pieces that meet at awkward edges."""
    rng = random.Random(20260803)
    pieces = ["a", "the", " the", "ing", "'s", "'", " ", "  ", "\n", "\r\n", "\t", "1", "23", ".", ",", "!?", "_", "-",
              "é", "e\u0301", "ก็", "नि", "你", "😀", "👍🏽", "\u200d", "<think>", "<|im_end|>", "</", ">", "{", "}", "\"",
              "Ü", "ß", "İ", "\u00a0", "\u3000", "\u0000", "🇩🇪", "ไ", "ท", "\u0e38", "\u094d", "ء", "0x", "=", "#"]
    for _ in range(160):
        yield "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 30)))


def all_texts():
    texts = PROSE + WHITESPACE + DIGITS + CODE + SPECIAL + list(made_texts())
    texts.append(" ".join(PROSE[3:12]) * 8)  # longer than any cache line of the crate
    return texts
