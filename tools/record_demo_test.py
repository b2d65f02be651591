"""record_demo.py's screen and drawing on small inputs. Not a comparison of pictures."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import record_demo  # noqa: E402


def screen_text(output, columns=20):
    screen = record_demo.Screen(columns)
    screen.feed(output)
    return ["".join(char for char, _ in line) for line in screen.visible_lines()]


class RecordDemoTest(unittest.TestCase):
    def test_screen(self):
        for output, lines in [
            ("a\r\nb\r\n\r\n", ["a", "b"]),
            ("loading 10%\rloading 100%\r\x1b[Kdone\r\n", ["done"]),
            ("abc\rX", ["Xbc"]),
            ("ab\tc", ["ab      c"]),
            ("one\r\ntwo\r\n\x1b[2A\x1b[2KONE", ["ONE", "two"]),
            ("one\r\ntwo\r\n\x1b[2A\x1b[J", []),
            ("\x1b]0;title\x07\x1b[?25lx\x1b(B\x1b[?25h", ["x"]),
            ("x" * 20 + "\r\ny", ["x" * 20, "y"]),  # a full line does not make an empty one
            ("x" * 21, ["x" * 20, "x"]),
            ("a\u4f60b", ["a\u4f60b"]),
        ]:
            self.assertEqual(screen_text(output), lines, repr(output))

    def test_wide_character_takes_two_cells(self):
        screen = record_demo.Screen(20)
        screen.feed("a\u4f60b")
        self.assertEqual(screen.column, 4)

    def test_colours(self):
        style = record_demo.apply_sgr(record_demo.PLAIN, "1;31;48;5;196")
        self.assertEqual(style[:3], (record_demo.PALETTE[1], "#ff0000", True))
        self.assertEqual(record_demo.apply_sgr(style, "38;2;1;2;3")[0], "#010203")
        self.assertEqual(record_demo.apply_sgr(style, ""), record_demo.PLAIN)

    def test_svg_of_a_command(self):
        script = 'test -t 1 && printf "\\033[32m<ok>\\033[0m & more\\n"'
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "a.svg"
            command = [sys.executable, record_demo.__file__, "--out", str(out), "--prompt", "make demo", "--", "sh", "-c"]
            texts = []
            for _ in range(2):
                subprocess.run([*command, script], check=True)
                texts.append(out.read_text(encoding="utf-8"))
            self.assertEqual(texts[0], texts[1])
            words = [node.firstChild.data for node in xml.dom.minidom.parseString(texts[0]).getElementsByTagName("text")]
            self.assertEqual(words, ["verbatim", "$", "make demo", "<ok>", "& more"])
            failed = subprocess.run([*command, "echo no; exit 3"], capture_output=True, text=True, check=False)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("exit code 3", failed.stderr)

    def test_several_blanks_are_kept_by_placing_what_follows(self):
        screen = record_demo.Screen(40)
        screen.feed("a b   \u4f60x  c")
        svg = record_demo.draw(screen.lines, 40, "t")
        texts = xml.dom.minidom.parseString(svg).getElementsByTagName("text")[1:]
        self.assertEqual([node.firstChild.data for node in texts], ["a b", "\u4f60x", "c"])
        columns = [(float(node.getAttribute("x")) - record_demo.PADDING) / record_demo.CELL_WIDTH for node in texts]
        self.assertEqual([round(column) for column in columns], [0, 6, 11])

    def test_typed_lines_are_answers_to_prompts(self):
        script = "while printf '\\n> ' && read -r line; do echo \"got $line\"; done; true"
        output, code = record_demo.run(["sh", "-c", script], 40, 10, ["one", "two"])
        self.assertEqual(code, 0)
        self.assertEqual([line for line in screen_text(output) if line.startswith("got")], ["got one", "got two"])


if __name__ == "__main__":
    unittest.main()
