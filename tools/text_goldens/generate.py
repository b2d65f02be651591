"""Writes tests/goldens/text/*.json with Hugging Face's own tokenizer and template code. Not a test.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -r tools/text_goldens/requirements.txt
    /tmp/venv/bin/python tools/text_goldens/generate.py

Models are read from models/ of the checkout, else from ../shared/models.
"""

import hashlib
import json
import pathlib
import random

import template_cases
import texts
import tokenizers
import transformers
from transformers.utils import chat_template_utils

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests" / "goldens" / "text"
MODELS = ["nano-qwen35", "tiny-qwen35"]
BYTE_FALLBACK_MODEL = "nano-gemma4"


def model_folder(name):
    for folder in (ROOT / "models" / name, ROOT.parent / "shared" / "models" / name):
        if (folder / "tokenizer.json").exists():
            return folder
    raise SystemExit(f"[{name}] expected models/ or ../shared/models to have it, received neither")


def write(name, data):
    data = {"made_by": "tools/text_goldens/generate.py", "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__, **data}
    text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=False)
    (OUT / name).write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(text)} bytes")


def compact(ids):
    """Ids as one text: a line per case, not one per id."""
    return " ".join(map(str, ids))


def tokenizer_goldens(name):
    path = model_folder(name) / "tokenizer.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    encodings = []
    for text in texts.all_texts():
        case = {"text": text, "ids": compact(tokenizer.encode(text, add_special_tokens=False).ids)}
        tokenizer.encode_special_tokens = True
        plain = compact(tokenizer.encode(text, add_special_tokens=False).ids)
        tokenizer.encode_special_tokens = False
        if plain != case["ids"]:
            case["plain_ids"] = plain
        encodings.append(case)
    rng = random.Random(20260803)
    size = tokenizer.get_vocab_size()
    decodings = []
    for i in range(150):
        # Half of them from the first 256 ids: byte tokens make broken characters likely.
        top = 256 if i % 2 else size
        ids = [rng.randrange(top) for _ in range(rng.randrange(1, 24))]
        if i % 5 == 0:
            ids[rng.randrange(len(ids))] = size - 1 - rng.randrange(9)  # an added token
        decodings.append({
            "ids": compact(ids),
            "text": tokenizer.decode(ids, skip_special_tokens=False),
            "no_special": tokenizer.decode(ids, skip_special_tokens=True),
        })
    return {"model": name, "tokenizer_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "encode": encodings, "decode": decodings}


def byte_fallback_goldens(name):
    """Whole texts only: for broken byte runs the reference replaces a whole run, which no stream can."""
    tokenizer = tokenizers.Tokenizer.from_file(str(model_folder(name) / "tokenizer.json"))
    cases = []
    for text in texts.all_texts():
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        cases.append({"text": text, "ids": compact(ids),
                      "decoded": tokenizer.decode(ids, skip_special_tokens=False)})
    return {"model": name, "encode": cases}


class FixedClock:
    """Stands for the datetime class inside transformers: strftime_now asks it for the time."""

    @staticmethod
    def now():
        return template_cases.NOW


def template_goldens(tokenizer, name):
    source = (OUT / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
    cases = []
    for case in template_cases.cases(name):
        kwargs = dict(case.get("kwargs") or {})
        if "enable_thinking" in case:
            kwargs["enable_thinking"] = case["enable_thinking"]
        try:
            text = tokenizer.apply_chat_template(
                case["messages"], tools=case.get("tools"), chat_template=source, tokenize=False,
                add_generation_prompt=case.get("add_generation_prompt", True), **kwargs)
            outcome = {"text": text}
        except Exception as error:  # the reference's own error is the golden
            outcome = {"error": str(error), "raised": type(error).__name__ == "TemplateError"}
        cases.append({**case, **outcome})
    return {"template": name, "now": list(template_cases.NOW.timetuple()[:6]), "cases": cases}


def main():
    for name in MODELS:
        write(f"tokenizer_{name}.json", tokenizer_goldens(name))
    write(f"tokenizer_{BYTE_FALLBACK_MODEL}.json", byte_fallback_goldens(BYTE_FALLBACK_MODEL))

    templates = OUT / "templates"
    large = (templates / "qwen35_like.jinja").read_text(encoding="utf-8")
    small = large.replace("thinking_default = true", "thinking_default = false")
    assert small != large
    (templates / "qwen35_small_like.jinja").write_text(small, encoding="utf-8")

    chat_template_utils.datetime = FixedClock
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(model_folder(MODELS[0]) / "tokenizer.json"), **template_cases.SPECIAL_TOKENS)
    for name in ("qwen35_like", "qwen35_small_like", "semantics"):
        write(f"template_{name}.json", template_goldens(tokenizer, name))


if __name__ == "__main__":
    main()
