"""docs/cli.md and README's option tables are what the program prints. With --update: writes them.

README marks a table with the lines `<!-- verbatim help VERB --markdown -->` and `<!-- end -->`.
"""

import re
import sys
import unittest

from support import SOURCE, run

MANUAL = SOURCE / "docs" / "cli.md"
README = SOURCE / "README.md"
TABLE = re.compile(r"(<!-- verbatim help (\w+) --markdown -->\n)(.*?)(<!-- end -->)", re.S)


def printed(*arguments):
    return run("help", *arguments, "--markdown").stdout.decode()


def with_tables(text):
    return TABLE.sub(lambda m: f"{m[1]}\n{printed(m[2])}\n{m[4]}", text)


class DocumentsTest(unittest.TestCase):
    def test_manual(self):
        self.assertEqual(MANUAL.read_text(), printed(), "run: make build && tests/cli/test_documents.py --update")

    def test_readme_tables(self):
        # A checkout without README has nothing to drift; the tables themselves are tested above.
        text = README.read_text() if README.is_file() else ""
        self.assertEqual(text, with_tables(text), "run: make build && tests/cli/test_documents.py --update")

    def test_tables_are_found(self):
        text = "a\n<!-- verbatim help score --markdown -->\nDRIFTED\n<!-- end -->\nb\n"
        self.assertIn(printed("score"), with_tables(text))
        self.assertNotIn("DRIFTED", with_tables(text))


def update():
    MANUAL.write_text(printed())
    if README.is_file():
        README.write_text(with_tables(README.read_text()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
