"""docs/qwen35_pitfalls.md has a row for each pitfall, and every test that it names exists."""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ.get("VERBATIM_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
TABLE = SOURCE / "docs" / "qwen35_pitfalls.md"
NUM_PITFALLS = 52  # qwen3_5.md section 9
REFERENCE = re.compile(r"`([\w/]+\.(?:cc|py)): (\w+)\.(\w+)`")


def rows(text):
    """number -> (lesson, held by) of every table row, in the file's order."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if line.startswith("|") and cells[0].isdigit():
            found.append((int(cells[0]), *cells[1:]))
    return found


def has_test(path, suite, name):
    """Whether the file under tests/ defines the test."""
    file = SOURCE / "tests" / path
    if not file.is_file():
        return False
    text = file.read_text(encoding="utf-8")
    if path.endswith(".py"):
        return bool(re.search(rf"^class {suite}\(", text, re.M)
                    and re.search(rf"^    def {name}\(self", text, re.M))
    return bool(re.search(rf"^TEST(?:_F|_P)?\(\s*{suite},\s*{name}\)", text, re.M))


class PitfallTableTest(unittest.TestCase):
    def setUp(self):
        self.rows = rows(TABLE.read_text(encoding="utf-8"))

    def test_every_pitfall_has_one_row(self):
        self.assertEqual([row[0] for row in self.rows], list(range(1, NUM_PITFALLS + 1)))
        for row in self.rows:
            self.assertEqual(len(row), 3, row)

    def test_every_named_test_exists(self):
        for number, _, held_by in self.rows:
            for reference in REFERENCE.findall(held_by):
                self.assertTrue(has_test(*reference), f"pitfall {number}: {reference}")

    def test_rows_without_tests_say_why(self):
        for number, _, held_by in self.rows:
            if not REFERENCE.search(held_by):
                self.assertRegex(held_by, r"^Not yet: .*(issue \d|later)", f"pitfall {number}")

    def test_no_reference_is_overlooked(self):
        """Whatever stands in backticks and names a test file is a well-formed reference."""
        for number, _, held_by in self.rows:
            for span in re.findall(r"`([^`]*)`", held_by):
                if ".cc" in span or ".py" in span:
                    self.assertRegex(f"`{span}`", REFERENCE, f"pitfall {number}")

    def test_a_missing_test_is_noticed(self):
        chain = "contract/chain_test.cc"
        self.assertTrue(has_test(chain, "ChainTest", "AWrongAcceptanceIsSeen"))
        self.assertFalse(has_test(chain, "ChainTest", "NoSuchTest"))
        self.assertFalse(has_test("contract/none.cc", "ChainTest", "AWrongAcceptanceIsSeen"))
        self.assertFalse(has_test("cli/test_score.py", "ScoreTest", "test_no_such"))


if __name__ == "__main__":
    unittest.main()
