"""Completion scripts in the shells themselves: verbs, options, values, paths. Not where they are installed (test_install.py).

bash must be there; the cases of zsh and fish are skipped where these are not installed.
"""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
from support import BINARY, run  # noqa: E402

# A stand-in for readline: COMP_* as bash sets them when Tab is pressed behind the line, and compopt's argument recorded.
BASH_DRIVER = r"""
source "$1"
compopt() { asked="$*"; }
while IFS= read -r COMP_LINE; do
  COMP_POINT=${#COMP_LINE} COMP_WORDS=() asked=""
  # The same splitting as readline's: white space ends a word, a run of break characters is a word of its own.
  rest=$COMP_LINE
  while [[ $rest ]]; do
    case $rest in
      [[:space:]]*) rest=${rest#?}; [[ $rest ]] || COMP_WORDS+=("") ;;
      [:=]*) word=${rest%%[!:=]*}; COMP_WORDS+=("$word"); rest=${rest#"$word"} ;;
      *) word=${rest%%[[:space:]:=]*}; COMP_WORDS+=("$word"); rest=${rest#"$word"} ;;
    esac
  done
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _verbatim
  echo "${COMPREPLY[*]}|$asked"
done
"""


def press_tab(folder, script, typed, expected, tabs=1):
    """What an interactive bash shows after `typed` and Tab, once `expected` is in it or time is up."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "--noprofile", "--norc", "-i"],
                   {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "$ ", "INPUTRC": "/dev/null"})
    shown, seen = b"", 0
    typed_lines = [f"source '{script}'; bind 'set enable-bracketed-paste off'; echo rea''dy\n".encode(),
                   typed.encode() + b"\t" * tabs]
    deadline = time.monotonic() + 20  # a loaded machine; a good run takes a fraction of a second
    try:
        os.write(terminal, typed_lines[0])
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 4096)
            if seen == 0 and b"ready\r\n$ " in shown:
                seen, shown = 1, b""
                os.write(terminal, typed_lines[1])
            elif seen == 1 and expected.encode() in shown:
                break
    finally:
        os.close(terminal)
        os.kill(child, 9)
        os.waitpid(child, 0)
    return shown.decode(errors="replace")


class Script(unittest.TestCase):
    SHELL = ""

    @classmethod
    def setUpClass(cls):
        if shutil.which(cls.SHELL) is None:
            raise unittest.SkipTest(f"{cls.SHELL} is not installed; tools/setup.sh check installs it")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        (cls.root / "models" / "tiny").mkdir(parents=True)
        (cls.root / "my notes.txt").touch()
        (cls.root / "drafts.txt").touch()
        cls.script = cls.root / "_verbatim"
        done = run("completion", cls.SHELL)
        assert done.returncode == 0, done.stderr
        cls.script.write_bytes(done.stdout)
        program = cls.root / "bin"
        program.mkdir()
        (program / "verbatim").symlink_to(BINARY)
        cls.path = f"{program}:{os.environ['PATH']}"


class BashTest(Script):
    SHELL = "bash"

    def complete(self, *lines):
        """Per line (set of candidates, what was asked of compopt)."""
        done = subprocess.run(["bash", "--noprofile", "--norc", "-c", BASH_DRIVER, "bash", self.script],
                              input="".join(line + "\n" for line in lines), capture_output=True, text=True,
                              cwd=self.root, timeout=60)
        self.assertEqual(done.stderr, "")
        answers = [line.split("|") for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(lines))
        return [(set(words.split()), asked) for words, asked in answers]

    def test_candidates(self):
        cases = {
            "verbatim ge": ({"generate"}, ""),
            "verbatim --v": ({"--version"}, ""),
            "verbatim help qu": ({"quantize"}, ""),
            "verbatim help generate sc": (set(), ""),
            "verbatim completion ": ({"bash", "zsh", "fish"}, ""),
            "verbatim generate --max": ({"--max-tokens"}, ""),
            "verbatim generate --kv-type ": ({"bf16", "f16", "f32"}, ""),
            "verbatim generate --kv-type=b": ({"bf16"}, ""),
            "verbatim generate --kv-type=": ({"bf16", "f16", "f32"}, ""),
            "verbatim generate --spec-type m": ({"mtp"}, ""),  # an alias of --spec
            "verbatim generate --spec r": ({"replay:"}, "-o nospace"),
            "verbatim generate --spec replay:": (set(), "-o default"),
            "verbatim generate --spec=replay:dra": (set(), "-o default"),
            "verbatim generate -t ": ({"auto"}, ""),
            "verbatim generate -p ": (set(), ""),
            "verbatim generate -p --kv-type --col": ({"--color"}, ""),  # --kv-type is the prompt here
            "verbatim generate --json --col": ({"--color"}, ""),
            "verbatim quantize --bits ": (set("234568"), ""),
            "verbatim quantize --bits 4 ": (set(), "-o dirnames"),
            "verbatim quantize a b --gr": ({"--group-size"}, ""),
            "verbatim generate -m ": (set(), "-o dirnames"),
            "verbatim generate --file my": (set(), "-o default"),
            "verbatim generate -m=x:y -f ": (set(), "-o default"),
            "verbatim nonsense --": (set(), ""),
        }
        for (line, expected), answer in zip(cases.items(), self.complete(*cases)):
            with self.subTest(line=line):
                self.assertEqual(answer, expected)

    def test_every_verb_offers_its_options(self):
        for verb in ("generate", "score", "quantize", "inspect", "demo", "version"):
            table = run("help", verb, "--markdown").stdout.decode()
            options = {cell.split("--", 1)[1].split("`")[0].split()[0]
                       for cell in (row.split(" | ")[0] for row in table.splitlines()) if "`--" in cell}
            ((offered, _),) = self.complete(f"verbatim {verb} --")
            self.assertEqual(offered, {"--" + option for option in options})

    def test_tab_in_a_terminal(self):
        for typed, tabs, expected in (
                ("verbatim gener", 1, "verbatim generate "),
                ("verbatim generate --max", 1, "--max-tokens "),
                ("verbatim generate --kv-type=b", 1, "--kv-type=bf16 "),
                ("verbatim generate -m mod", 1, "-m models/"),
                ("verbatim generate -f my", 1, "-f my\\ notes.txt "),
                ("verbatim generate --spec=rep", 1, "--spec=replay:"),
                ("verbatim generate --spec replay:dra", 1, "replay:drafts.txt "),
                ("verbatim completion ", 2, "bash  fish  zsh")):
            with self.subTest(typed=typed):
                self.assertIn(expected, press_tab(self.root, self.script, typed, expected, tabs))


class FishTest(Script):
    SHELL = "fish"

    def complete(self, *lines):
        commands = "\n".join(f"complete -C '{line}'; echo END" for line in lines)
        done = subprocess.run(["fish", "--no-config", "-c", f"source {self.script}\n{commands}"],
                              capture_output=True, text=True, cwd=self.root, timeout=60,
                              env={**os.environ, "HOME": str(self.root), "PATH": self.path})
        self.assertEqual(done.stderr, "")
        groups = [group.splitlines() for group in done.stdout.split("END\n")[:-1]]
        self.assertEqual(len(groups), len(lines))
        return [{line.split("\t")[0] for line in group} for group in groups]

    def test_candidates(self):
        cases = {
            "verbatim ge": {"generate"},
            "verbatim completion ": {"bash", "zsh", "fish"},
            "verbatim generate --max": {"--max-tokens"},
            "verbatim generate --kv-type ": {"bf16", "f16", "f32"},
            "verbatim generate -m mod": {"models/"},
            "verbatim generate --file my": {"my notes.txt"},
            "verbatim generate --spec replay:dra": {"replay:drafts.txt"},
            "verbatim quantize mod": {"models/"},
            "verbatim help qu": {"quantize"},
        }
        for (line, expected), answer in zip(cases.items(), self.complete(*cases)):
            with self.subTest(line=line):
                self.assertEqual(answer, expected)


class ZshTest(Script):
    SHELL = "zsh"

    def test_syntax(self):
        done = subprocess.run(["zsh", "-n", self.script], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_tab_in_a_terminal(self):
        setup = (f"fpath=('{self.root}' $fpath); PATH='{self.path}'; autoload -Uz compinit; compinit -u -D; "
                 "zstyle ':completion:*' verbose no; unsetopt ALWAYS_LAST_PROMPT ZLE; setopt ZLE; cd '%s'\n" % self.root)
        for typed, expected in (
                ("verbatim gener", "verbatim generate "),
                ("verbatim generate --max", "--max-tokens="),
                ("verbatim generate --kv-type=b", "--kv-type=bf16 "),
                ("verbatim generate -m mod", "-m models/"),
                ("verbatim generate -f my", "-f my\\ notes.txt "),
                ("verbatim generate --spec replay:dra", "replay:drafts.txt "),
                ("verbatim completion f", "completion fish ")):
            with self.subTest(typed=typed):
                self.assertIn(expected, self.press_tab(setup, typed))

    def press_tab(self, setup, typed):
        """The line after Tab, as zsh itself says: a widget bound to Ctrl-X prints the edit buffer."""
        child, terminal = pty.fork()
        if child == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": self.path, "TERM": "dumb", "HOME": str(self.root)})
        widget = "show() { print -r -- \"<<$BUFFER>>\" }; zle -N show; bindkey '^X^X' show; print rea''dy\n"
        shown, stage = b"", 0
        deadline = time.monotonic() + 20
        try:
            os.write(terminal, setup.encode() + widget.encode())
            while time.monotonic() < deadline:
                if select.select([terminal], [], [], 0.2)[0]:
                    shown += os.read(terminal, 4096)
                if stage == 0 and b"\nready" in shown:
                    stage, shown = 1, b""
                    os.write(terminal, typed.encode() + b"\t\x18\x18")
                elif stage == 1 and b">>" in shown:
                    break
        finally:
            os.close(terminal)
            os.kill(child, 9)
            os.waitpid(child, 0)
        return shown.decode(errors="replace").partition("<<")[2].partition(">>")[0]


if __name__ == "__main__":
    del Script  # a base, without cases of its own
    unittest.main()
