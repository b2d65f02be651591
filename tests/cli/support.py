"""How the CLI tests run the program and read its files. Not a test."""

import json
import os
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(os.environ.get("VERBATIM_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BINARY = os.environ.get("VERBATIM_BINARY", str(SOURCE / "build" / "verbatim"))
NANO = str(SOURCE / "models" / "nano-qwen35")
PROMPT = "Once upon a time"
# How many times longer than usual things may take: more than 1 for a sanitizer's build (cmake/VerbatimPythonTests.cmake).
SLOWDOWN = int(os.environ.get("VERBATIM_TIMEOUT_FACTOR", "1"))
WAIT = 120 * SLOWDOWN  # how long one run may take
HAS_ASAN = "address" in os.environ.get("VERBATIM_SANITIZER", "")
# TSan hands on a signal only where the program calls the system, and writes a file of its own while it starts.
HAS_TSAN = os.environ.get("VERBATIM_SANITIZER") == "thread"
# What might change colours or the instruction set must not leak in from the caller.
SCRUBBED = ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "VERBATIM_TARGET", "VERBATIM_FORCE_ROUTE")


def environment(**extra):
    return {**{k: v for k, v in os.environ.items() if k not in SCRUBBED}, **extra}


def run(*arguments, stdin=b"", env=None, timeout=WAIT):
    """The finished process, streams as bytes."""
    return subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True,
                          env=environment(**(env or {})), timeout=timeout)


def run_json(*arguments, **options):
    """The object that a successful run with --json prints."""
    done = run(*arguments, "--json", **options)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def read_safetensors(path):
    """name -> (dtype, shape, bytes), read without any library."""
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (info["dtype"], info["shape"], data[8 + size:][slice(*info["data_offsets"])])
            for name, info in header.items()}
