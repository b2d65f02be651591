"""The verb chat: through a pseudo-terminal as a person uses it, and over pipes."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import BINARY, NANO, WAIT, environment, run
from terminal_session import TerminalSession

PROMPT = b"> "
# An answer that doesn't end: the model's end-of-sequence ids are banned, the context is large.
LONG = ("-c", "8192", "--ban-ids", "1015,1017")
# A template that opens the thinking, as Qwen's do; the answers of the tiny models don't close it.
THINKING = ("{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{%- endfor %}"
            "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{%- endif %}")


class ChatTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def chat(self, *arguments, model=NANO, columns=100, **variables):
        session = self.enterContext(TerminalSession(
            [BINARY, "chat", "-m", str(model), *arguments], columns=columns,
            **{"XDG_STATE_HOME": str(self.folder), "HOME": str(self.folder), **variables}))
        session.expect("Ctrl-D ends")
        session.expect(PROMPT)
        return session

    def template_model(self, template):
        """The nano model with another chat template; None: with none."""
        model = self.folder / "model"
        shutil.copytree(NANO, model)
        path = model / "tokenizer_config.json"
        config = json.loads(path.read_text())
        config.pop("chat_template")
        if template is not None:
            config["chat_template"] = template
        path.write_text(json.dumps(config))
        return model

    def saved(self, session, name="saved.json"):
        path = self.folder / name
        session.type(f"/save {path}\r")
        session.expect("Wrote")
        session.expect(PROMPT)
        return json.loads(path.read_text())

    def piped(self, text, *arguments, model=NANO, **options):
        return run("chat", "-m", model, *arguments, stdin=text.encode() if isinstance(text, str) else text, **options)

    # The terminal.

    def test_answer_is_shown_and_ctrl_d_ends(self):
        session = self.chat("-n", "12")
        session.type("Hello there\r")
        session.expect("Hello there")
        session.expect(PROMPT)
        messages = self.saved(session)["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"])
        self.assertTrue(messages[1]["content"])
        self.assertIn(messages[1]["content"].strip().split("\n")[0].encode(), session.received)
        session.type(b"\x04")
        self.assertEqual(session.wait(), 0)

    def test_answers_are_those_of_pipes_and_of_generate(self):
        session = self.chat("-n", "20", "--spec", "mtp")
        session.type("Hello there\r")
        session.expect(PROMPT)
        content = self.saved(session)["messages"][1]["content"]
        piped = self.piped("Hello there\n", "-n", "20", "-q")
        self.assertEqual(piped.stdout.decode().rstrip("\n"), content.rstrip("\n"))
        generated = run("generate", "-m", NANO, "--chat", "-p", "Hello there", "-n", "20", "-q")
        self.assertEqual(generated.stdout.decode(), content)

    def test_editing_and_utf8(self):
        session = self.chat("-n", "2")
        # Left twice, a word in between, Home, End, a character of three bytes deleted again.
        session.type(b"H\xc3\xa9o\x1b[Dll\x01>\x05\xe2\x82\xac\x7f!\r")
        session.expect(PROMPT)
        self.assertEqual(self.saved(session)["messages"][0]["content"], ">H\u00e9llo!")

    def test_history_in_a_session_and_the_next(self):
        session = self.chat("-n", "2")
        for line in ("first one", "second one"):
            session.type(line + "\r")
            session.expect(PROMPT)
        session.type(b"\x1b[A\x1b[A\x1b[B\x1b[A\r")  # up, up, down, up: the first
        session.expect(PROMPT)
        self.assertEqual(self.saved(session)["messages"][4]["content"], "first one")
        session.type(b"\x04")
        session.wait()
        path = self.folder / "verbatim" / "history"
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(path.read_text().splitlines()[:3], ["first one", "second one", "first one"])
        session = self.chat("-n", "2")
        session.type(b"\x12second\r\r")  # Ctrl-R
        session.expect(PROMPT)
        self.assertEqual(self.saved(session)["messages"][0]["content"], "second one")

    def test_messages_of_several_lines(self):
        session = self.chat("-n", "2")
        session.type("one\\\r")
        session.expect(". ")
        session.type("two\r")
        session.expect(PROMPT)
        session.type('"""\rthree\r\rfour\\\r"""\r')
        session.expect(PROMPT)
        messages = self.saved(session)["messages"]
        self.assertEqual(messages[0]["content"], "one\ntwo")
        self.assertEqual(messages[2]["content"], "three\n\nfour\\")

    def test_streaming(self):
        """The answer's beginning is there long before its end."""
        session = self.chat(*LONG, "-t", "1", VERBATIM_TARGET="scalar")
        session.type("Tell me\r")
        session.expect("Tell me\r\n")
        before = len(session.received)
        while len(session.received) < before + 20:
            session._read(1)
        time.sleep(0.2)
        self.assertIsNone(session.process.poll())
        session.type(b"\x03")
        session.expect("(interrupted)")
        session.expect(PROMPT)

    def test_ctrl_c_ends_the_answer_which_stays(self):
        session = self.chat(*LONG, "-t", "1", VERBATIM_TARGET="scalar")
        session.type("Tell me\r")
        session.expect("Tell me\r\n")
        while len(session.received) < session.seen + 20:
            session._read(1)
        session.type(b"\x03")
        session.expect("(interrupted)")
        session.expect(PROMPT)
        answer = self.saved(session)["messages"][1]
        self.assertTrue(answer["interrupted"])
        self.assertTrue(answer["content"])
        session.type("/stats\r")
        session.expect("last answer")
        session.expect(PROMPT)  # between two lines the terminal is not raw and takes Ctrl-D for itself
        session.type(b"\x04")
        self.assertEqual(session.wait(), 0)

    def test_second_ctrl_c_ends_the_program(self):
        session = self.chat(*LONG)
        session.type("Tell me\r")
        session.expect("Tell me\r\n")
        session.type(b"\x03")
        session.expect("(interrupted)")
        session.expect(PROMPT)
        session.type(b"\x03")
        self.assertEqual(session.wait(), 130)

    def test_ctrl_c_clears_the_line(self):
        session = self.chat("-n", "2")
        session.type("never sent")
        session.expect("never sent")
        session.type(b"\x03")
        session.expect("Ctrl-C again ends the program")
        session.expect(PROMPT)
        session.type("sent\r")
        session.expect(PROMPT)
        self.assertEqual(self.saved(session)["messages"][0]["content"], "sent")
        session.type(b"\x03")  # the count began anew
        session.expect("Ctrl-C again ends the program")
        session.expect(PROMPT)
        session.type(b"\x03")
        self.assertEqual(session.wait(), 130)

    def test_ctrl_c_drops_an_open_block(self):
        session = self.chat("-n", "2")
        session.type('"""\rnever\r')
        session.expect(". never")
        session.type(b"\x03")
        session.expect(PROMPT)
        session.type("sent\r")
        session.expect(PROMPT)
        self.assertEqual(self.saved(session)["messages"][0]["content"], "sent")

    def test_sigterm_at_the_prompt(self):
        session = self.chat("-n", "2")
        session.process.send_signal(signal.SIGTERM)
        self.assertEqual(session.wait(), 143)

    def test_resize_and_stop(self):
        session = self.chat("-n", "2", columns=40)
        session.type("a" * 60)
        session.expect("a" * 30)
        session.resize(100, 30)
        time.sleep(0.1)
        session.type(b"\x01b\r")
        session.expect(PROMPT)
        self.assertEqual(self.saved(session)["messages"][0]["content"], "b" + "a" * 60)
        session.process.send_signal(signal.SIGSTOP)
        session.process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
        session.type("again\r")
        session.expect(PROMPT)
        self.assertEqual(self.saved(session)["messages"][2]["content"], "again")

    def test_thinking_is_dim(self):
        model = self.template_model(THINKING)
        session = self.chat("-n", "6", model=model)
        session.type("Hello\r")
        session.expect(b"\x1b[2m", plain=False)
        session.expect(PROMPT)
        self.assertNotIn(b"<think>", session.received)
        answer = self.saved(session)["messages"][1]
        self.assertTrue(answer["reasoning_content"])
        self.assertEqual(answer["content"], "")

    def test_no_color(self):
        model = self.template_model(THINKING)
        for arguments, variables in (((), {"NO_COLOR": "1"}), (("--color", "never"), {})):
            session = self.chat("-n", "6", *arguments, model=model, **variables)
            session.type("Hello\r")
            session.expect("<think>")
            session.expect(PROMPT)
            self.assertNotRegex(session.received, rb"\x1b\[[0-9;]*m")
        session = self.chat("-n", "6", "--color", "always", model=model, NO_COLOR="1")
        session.type("Hello\r")
        session.expect(b"\x1b[2m", plain=False)

    # Commands.

    def test_commands(self):
        session = self.chat("-n", "4", "--system", "Be brief.")
        session.type("/help\r")
        for name in ("/reset", "/system", "/save", "/load", "/stats", "/spec", "/exit"):
            session.expect(name)
        session.expect(PROMPT)
        session.type("/system\r")
        session.expect("System message: Be brief.")
        session.type("Hello\r")
        session.expect(PROMPT)
        session.type("/spec mtp 2\r")
        session.expect("Speculation: mtp, 2 drafts.")
        session.type("And now?\r")
        session.expect(PROMPT)
        session.type("/stats\r")
        session.expect("mtp, 2 drafts")
        session.expect("2 answers")
        self.assertEqual(len(self.saved(session)["messages"]), 5)
        session.type("/reset\r")
        session.expect("anew")
        session.type("/system Be long.\r")
        session.expect("System message: Be long.")
        session.type("/nonsense\r")
        session.expect("[chat] expected a command, received /nonsense; try /help")
        session.type("/spec mtp 99\r")
        session.expect("[/spec] expected 1 to 15 or auto")
        self.assertEqual(self.saved(session)["messages"], [{"role": "system", "content": "Be long."}])
        session.type("/exit\r")
        self.assertEqual(session.wait(), 0)

    def test_save_and_load_go_on_where_it_was(self):
        whole = self.piped("One\nTwo\nThree\n", "-n", "9", "-q")
        path = self.folder / "saved.json"
        first = self.piped(f"One\nTwo\n/save {path}\n", "-n", "9", "-q")
        rest = self.piped(f"/load {path}\nThree\n", "-n", "9", "-q")
        self.assertEqual(whole.returncode, 0)
        self.assertEqual(first.stdout + rest.stdout, whole.stdout)

    def test_bad_files_leave_the_conversation(self):
        bad = self.folder / "bad.json"
        bad.write_text("{}")
        after = self.folder / "after.json"
        lines = f"Hello\n/load {bad}\n/load {self.folder}/none\n/load {self.folder}\n/save /proc/x/y\n/save {after}\n"
        done = self.piped(lines, "-n", "4", "-q")
        self.assertEqual(done.returncode, 1)
        errors = done.stderr.decode().splitlines()
        self.assertEqual(len([e for e in errors if e.startswith("[")]), 4, errors)
        self.assertEqual(len(json.loads(after.read_text())["messages"]), 2)

    # Pipes.

    def test_pipe_has_answers_and_nothing_else(self):
        done = self.piped("Hello\n\nAnd you?\n", "-n", "5")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(b"\x1b", done.stdout + done.stderr)
        self.assertNotIn(PROMPT, done.stdout)
        quiet = self.piped("Hello\n\nAnd you?", "-n", "5", "-q")  # no line break at the end
        self.assertEqual(quiet.stdout, done.stdout)
        self.assertEqual(quiet.stderr, b"")
        self.assertTrue(done.stdout.endswith(b"\n"))

    def test_pipe_without_input(self):
        done = self.piped("", "-q")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_failures_over_a_pipe_are_told_and_counted(self):
        done = self.piped("/bogus\nHello\n", "-n", "3", "-q")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"[chat]", done.stderr)
        self.assertTrue(done.stdout)
        self.assertEqual(self.piped('"""\nnever closed\n', "-q").returncode, 1)
        done = self.piped(b"\xff\xfe\n", "-n", "3", "-q")
        self.assertIn(done.returncode, (0, 1))  # no crash

    def test_context_full(self):
        done = self.piped("Hello\nAnd a much longer message than the context has room for, for certain.\n/reset\nHi\n",
                          "-c", "40", "-n", "4", "-q")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"\[context\] expected a conversation of fewer than 40 tokens, .*/reset")
        self.assertEqual(len(done.stdout.splitlines()) >= 2, True)
        done = self.piped("Hello\n", "-c", "40", "-q")  # the answer runs into the end
        if b"full" in done.stderr:
            self.assertIn(b"/reset", done.stderr)

    def test_state_is_reused(self):
        done = self.piped("Hello\nAnd you?\n/stats\n", "-n", "20", "--spec", "mtp")
        match = re.search(rb"last answer .* prompt (\d+) tokens, (\d+) of them cached", done.stderr)
        self.assertGreater(int(match[2]), 0)
        self.assertIn(b"drafts accepted of tested", done.stderr)

    def test_state_is_reused_by_templates_that_drop_the_thinking(self):
        """The next prompt does not go on from the answer, but it repeats what was before it."""
        done = self.piped("Hello, who are you?\nAnd you?\n/stats\n", "-n", "20", "--spec", "mtp",
                          model=self.template_model(THINKING))
        match = re.search(rb"last answer .* prompt (\d+) tokens, (\d+) of them cached", done.stderr)
        self.assertGreater(int(match[2]), 8)
        self.assertLess(int(match[2]), int(match[1]) - 3)

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BINARY, "chat", "-m", NANO, "-n", "8", "-q"], input=b"Hello\n", stdout=full,
                                  stderr=subprocess.PIPE, env=environment(), timeout=WAIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"[standard output]", done.stderr)

    def test_interrupted_over_a_pipe(self):
        with subprocess.Popen([BINARY, "chat", "-m", NANO, *LONG, "-t", "1"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(VERBATIM_TARGET="scalar")) as process:
            process.stdin.write(b"Tell me\nAnd more\n")
            process.stdin.flush()
            self.assertTrue(process.stdout.read(1))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 130)

    # Models and options.

    def test_model_without_template(self):
        done = self.piped("Hello\n", "-q", model=self.template_model(None))
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"chat_template", done.stderr)

    def test_template_that_opens_the_thinking_over_a_pipe(self):
        done = self.piped("Hello\n", "-n", "6", "-q", model=self.template_model(THINKING))
        self.assertTrue(done.stdout.startswith(b"<think>\n"), done.stdout)

    def test_sampling_options(self):
        several = {seed: self.piped("Hello\n", "-n", "20", "-q", "--temp", "1.5", "--seed", seed).stdout
                   for seed in ("1", "2", "1")}
        self.assertEqual(len(set(several.values())), 2)
        self.assertEqual(self.piped("Hello\n", "--temp", "x").returncode, 2)

    def test_history_that_can_not_be_kept(self):
        session = self.chat("-n", "2", XDG_STATE_HOME="/proc")
        session.type("Hello\r")
        session.expect("/proc/verbatim/history")
        session.expect(PROMPT)
        session.type("Hello\r")
        session.expect(PROMPT)
        self.assertEqual(session.received.count(b"/proc/verbatim/history"), 1)


if __name__ == "__main__":
    unittest.main()
