"""demo from outside: two arms, the table, the verdict. What it says when arms differ is tests/apps/demo_report_test.cc."""

import unittest

from support import NANO, run


class DemoTest(unittest.TestCase):
    def test_arms_and_verdict(self):
        for drafts in ("1", "auto"):
            done = run("demo", "-m", NANO, "-n", "24", "--draft-tokens", drafts, "-p", "The king")
            self.assertEqual(done.returncode, 0, done.stderr)
            out = done.stdout.decode()
            self.assertEqual(out.count("The king"), 2)
            first, second = (part.split("\n\n")[0] for part in out.split("The king")[1:])
            self.assertEqual(first, second)
            self.assertRegex(out, r"tokens +24 +24\n")
            self.assertRegex(out, r"speed-up +1.00x +[0-9.]+x\n")
            self.assertRegex(out, r"draft 1 accepted +[0-9.]+ % +\d+ of \d+\n")
            self.assertRegex(out, r"tokens compared +24 +0 differ\n")
            self.assertRegex(out, r"logits bytes compared +98,304 +0 differ\n")  # 24 * 1024 * 4
            self.assertNotIn("\x1b", out)

    def test_one_token_has_no_speed(self):
        done = run("demo", "-m", NANO, "-n", "1", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertRegex(done.stdout.decode(), r"tokens/s +- +-\n +speed-up +- +-\n")

    def test_a_refused_request_has_no_heading(self):
        for arguments in (("-p", ""), ("-p", "a b c d e f g h", "-c", "4")):
            done = run("demo", "-m", NANO, "-q", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_colour_marks_drafted_tokens(self):
        done = run("demo", "-m", NANO, "-n", "24", "--color", "always")
        self.assertIn(b"\x1b[1;32m", done.stdout)


if __name__ == "__main__":
    unittest.main()
