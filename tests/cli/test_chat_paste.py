"""Pasting into the verb chat, through a pseudo-terminal: bracketed paste. Not the rest of chat (test_chat.py)."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest

from support import BINARY, NANO, WAIT, environment
from terminal_session import TerminalSession

PROMPT = b"> "
START, END = b"\x1b[200~", b"\x1b[201~"
ON, OFF = b"\x1b[?2004h", b"\x1b[?2004l"
LIMIT = 1 << 20  # PasteParser::kMaxBytes
# Every key that means something to the editor or to the terminal, and a sequence that would be one.
KEYS = b"".join(bytes([byte]) for byte in range(32) if byte not in b"\t\n\r") + b"\x7f\xc2\x9b\xc2\x9e\x1b[A"


def pasted(text):
    return START + (text if isinstance(text, bytes) else text.encode()) + END


class PasteTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.saves = 0

    def chat(self, *arguments, tokens=2, before=(), **variables):
        session = self.enterContext(TerminalSession(
            [*before, BINARY, "chat", "-m", NANO, "-n", str(tokens), *arguments],
            **{"XDG_STATE_HOME": str(self.folder), "HOME": str(self.folder), **variables}))
        session.expect("Ctrl-D ends")
        session.expect(PROMPT)
        return session

    def users_messages(self, session):
        """What was sent to the model so far."""
        self.saves += 1
        path = self.folder / f"saved{self.saves}.json"
        session.type(f"/save {path}\r")
        session.expect("Wrote")
        session.expect(PROMPT)
        return [m["content"] for m in json.loads(path.read_text())["messages"] if m["role"] == "user"]

    def sent(self, *typed, **options):
        """The messages that came of what was typed, all of it ending with Enter."""
        session = self.chat(**options)
        for part in typed:
            session.type(part)
        session.expect(PROMPT)
        return self.users_messages(session)

    def is_on(self, session):
        """The mode, at the place up to which the test has looked."""
        seen = session.received[:session.seen]
        return seen.rfind(ON) > seen.rfind(OFF)

    # The text.

    def test_a_paste_is_one_message_and_waits_for_enter(self):
        session = self.chat()
        self.assertIn(ON, session.received)
        session.type(pasted("one\r\n\ttwo\rthree\n\nla\u20acst\n"))
        session.expect("one\r\n        two\r\nthree\r\n\r\nla\u20acst")
        self.assertEqual(self.users_messages_after(session, "!"), ["one\n\ttwo\nthree\n\nla\u20acst\n!"])

    def users_messages_after(self, session, typed):
        session.type(typed + "\r")
        session.expect(PROMPT)
        return self.users_messages(session)

    def test_line_breaks_at_the_end_are_dropped(self):
        self.assertEqual(self.sent(pasted("one\ntwo\n\n"), "\r"), ["one\ntwo"])

    def test_goes_where_the_cursor_is_and_can_be_edited(self):
        self.assertEqual(self.sent(b"ad\x1b[D", pasted("b\nc"), b"\x7fC\x01>\x05<\r"), [">ab\nCd<"])

    def test_nothing_in_a_paste_is_a_key(self):
        self.assertEqual(self.sent(b"a", pasted(b"b\n" + KEYS + b"\tc"), b"d\r"), ["ab\n[A\tcd"])

    def test_markers_and_text_cut_at_every_byte(self):
        data = b"a" + pasted(b"b\n" + KEYS + b"\x1b[20\x1b[201") + pasted("c\r\n\u20ac") + b"\x1b[D\x1b[201~d\r"
        session = self.chat()
        for byte in data:
            session.type(bytes([byte]))
            time.sleep(0.002)  # each is a read of its own, or few of them are; the result is the same
        session.expect(PROMPT)
        self.assertEqual(self.users_messages(session), ["ab\n[A[20[201c\nd\u20ac"])

    def test_where_no_command_can_be_given(self):
        for before in (b"\x12ab", b"\x16", b"\x1b"):  # in a search, behind quote-the-next, behind Escape
            self.assertEqual(self.sent(before, pasted("1\n2"), b"z\r"), ["1\n2z"], before)

    def test_vi_keys(self):
        (self.folder / ".editrc").write_text("bind -v\n")
        self.assertEqual(self.sent(pasted("1\n2"), b"\x1b", pasted("a\nb"), b"\r"), ["1\na\nb2"])

    def test_an_empty_paste(self):
        self.assertEqual(self.sent(START + END, START + b"\x01" + END, b"a\r"), ["a"])

    def test_is_text_as_it_is(self):
        for text in ('"""Doc."""\nx = 1', '"""\nx', "x \\\ny\\"):
            self.assertEqual(self.sent(pasted(text), "\r"), [text])
        self.assertEqual(self.sent('"""\r', pasted("a\\\n\nb"), '\r"""\r'), ["a\\\n\nb"])
        self.assertEqual(self.sent("a\\\r", pasted("b\nc"), "\r"), ["a\nb\nc"])

    def test_commands_are_not_obeyed_line_by_line(self):
        session = self.chat()
        session.type(pasted("/exit\nmore\n/exit") + b"\r")
        session.expect("[/exit] expected nothing behind it")
        session.expect(PROMPT)
        session.type(b"/system " + pasted("Be brief.\nBe kind.") + b"\r")
        session.expect("System message: Be brief.\r\nBe kind.")

    # Limits.

    def type_much(self, session, data):
        """More than a terminal holds: the answer is read meanwhile."""
        terminal = os.dup(session.master)  # where the program has ended, the writing may not: nobody waits for it

        def write():
            with contextlib.suppress(OSError):
                for i in range(0, len(data), 2048):
                    os.write(terminal, data[i:i + 2048])
            os.close(terminal)

        threading.Thread(target=write, daemon=True).start()

    def test_the_largest_and_one_too_large(self):
        session = self.chat()
        session.type("ab\x1b[D")
        self.type_much(session, pasted(b"y" * (LIMIT + 1)))
        session.expect(f"[paste] expected at most {LIMIT} bytes, received more; try")
        session.expect("> ab")
        self.assertEqual(self.users_messages_after(session, "c"), ["acb"])
        self.type_much(session, pasted(b"y" * LIMIT) + b"\r")
        session.expect("[context] expected")  # it arrived as a message, which the context has no room for
        session.expect(PROMPT)
        # More than a history's line may have, so that no file grows without bound.
        self.assertEqual((self.folder / "verbatim" / "history").read_text().splitlines()[0], "acb")
        self.assertLess((self.folder / "verbatim" / "history").stat().st_size, 1000)

    def test_no_end_marker_at_the_end_of_the_input(self):
        saved = self.folder / "never"
        master, slave = pty.openpty()
        with subprocess.Popen([BINARY, "chat", "-m", NANO, "-n", "2"], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                              start_new_session=True,
                              env=environment(TERM="xterm", NO_COLOR="1", HOME=str(self.folder), XDG_STATE_HOME=str(self.folder))) as process:
            shown = b""
            while PROMPT not in shown:
                shown += os.read(master, 4096)
            os.write(master, START + f"/save {saved}\rmore\r".encode())
            while struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4))[0] > 0:
                time.sleep(0.01)
            os.close(master)  # nobody's controlling terminal: no SIGHUP, the input ends
            os.close(slave)
            process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 0)
        self.assertFalse(saved.exists())
        self.assertFalse((self.folder / "verbatim" / "history").exists())

    def test_no_end_marker_and_ctrl_c(self):
        session = self.chat()
        session.type(START + b"one\rtwo")
        for _ in range(20):
            time.sleep(1.5)  # behind a pause, Ctrl-C is a person's; too short on a busy machine, it is pasted
            session.type(b"\x03")
            while b"Ctrl-C again" not in session.received and session._read(1):
                pass
            if b"Ctrl-C again" in session.received:
                break
        session.expect("Ctrl-C again")
        session.expect(PROMPT)
        self.assertEqual(self.users_messages_after(session, "three"), ["three"])

    # Signals, and the mode.

    def test_a_signal_drops_the_whole_paste(self):
        session = self.chat()
        session.type(b"x" + START + b"one\rtwo")
        session.expect("x")
        session.process.send_signal(2)
        session.expect("Ctrl-C again")
        session.expect(PROMPT)
        session.type(b"three\rfour" + END)
        self.assertEqual(self.users_messages_after(session, "five"), ["five"])

    def test_ctrl_c_right_behind_enter_ends_the_answer(self):
        session = self.chat("-c", "8192", "--ban-ids", "1015,1017", tokens=8000)  # an answer that doesn't end
        session.type(b"Tell me\r\x03")
        session.expect("(interrupted)")
        session.expect(PROMPT)

    def test_the_mode_is_off_outside_of_the_line(self):
        for end, code in ((b"\x04", 0), (b"/exit\r", 0), (b"\x03", 130), (None, 143)):
            session = self.chat()
            session.type("Hello\r")
            session.expect("Hello\r\n")
            session.expect(OFF, plain=False)
            session.expect(ON, plain=False)
            session.expect(PROMPT)
            if end == b"\x03":
                session.type(end)
                session.expect("Ctrl-C again")
                session.expect(PROMPT)
            if end is None:
                session.process.terminate()
            else:
                session.type(end)
            self.assertEqual(session.wait(), code)
            session.seen = len(session.received)
            self.assertFalse(self.is_on(session))
            self.assertEqual(session.received.count(ON), session.received.count(OFF))
        session = self.chat(TERM="dumb")  # which knows no such sequences
        session.type("/exit\r")
        self.assertEqual(session.wait(), 0)
        self.assertNotIn(b"2004", session.received)

    def test_stopped_and_continued(self):
        shell = ("bash", "-c", 'set -m; "$@"; stty -a; echo "stopped here"; stty sane; fg >/dev/null; echo "ended $?"; stty -a', "bash")
        session = self.chat(before=shell)
        session.type("ab")
        session.expect("ab")
        session.type(b"\x1a")
        settings = session.expect("stopped here").decode().replace(";", " ").split()
        for name in ("isig", "icanon", "echo", "ixon", "icrnl"):
            self.assertIn(name, settings)
        self.assertFalse(self.is_on(session))
        session.expect("> ab")
        self.assertTrue(self.is_on(session))
        session.type(pasted(b"c\n\x1ad") + b"\r")
        session.expect(PROMPT)
        self.assertEqual(self.users_messages(session), ["abc\nd"])
        session.type("/exit\r")
        settings = session.expect("ended 0") + session.expect("-echoprt")
        self.assertNotIn("-isig", settings.decode())
        self.assertFalse(self.is_on(session))

    def test_continued_after_the_terminal_was_changed(self):
        session = self.chat()
        session.process.send_signal(19)  # SIGSTOP
        subprocess.run(["stty", "sane"], stdin=session.master, check=True)
        session.process.send_signal(18)  # SIGCONT
        session.expect(PROMPT)
        session.type(pasted(b"c\n\x03d") + b"\r")
        session.expect(PROMPT)
        self.assertEqual(self.users_messages(session), ["c\nd"])

    # History.

    def test_history_has_it_as_one_line(self):
        text = "one \\n\n\ttwo\\"
        session = self.chat()
        session.type(pasted(text) + b"\r")
        session.expect(PROMPT)
        session.type(b"other\r")
        session.expect(PROMPT)
        session.type(b"\x1b[A\x1b[A!\r")
        session.expect(PROMPT)
        self.assertEqual(self.users_messages(session)[2], text + "!")
        session.type(b"\x04")
        session.wait()
        stored = (self.folder / "verbatim" / "history").read_bytes().splitlines()
        self.assertEqual(stored[:2], [b"\x1eone \\\\n\\n\ttwo\\\\", b"other"])
        session = self.chat()
        session.type(b"\x12one\x01>\r")  # Ctrl-R: the newest that has it
        session.expect(PROMPT)
        self.assertEqual(self.users_messages(session), [">" + text + "!"])

    def test_up_and_down_leave_a_long_line_as_it_was(self):
        text = "word\n" * 500
        session = self.chat("-c", "8192")
        session.type("old\r")
        session.expect(PROMPT)
        session.type(pasted(text) + b"\x1b[A\x1b[B!\r")
        session.expect(PROMPT)
        self.assertEqual(self.users_messages(session), ["old", text + "!"])


if __name__ == "__main__":
    unittest.main()
