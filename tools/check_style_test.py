"""check_style.py must fail on planted breaches. Not a check of this tree."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_style  # noqa: E402

MARKER = "TO" + "DO"


class CheckStyleTest(unittest.TestCase):
    def test_good_files(self):
        for path, text in [
            ("src/a.h", "// A: what it is. Not B.\n#ifndef A\n"),
            ("tools/a.py", '#!/usr/bin/env python3\n"""A: what it is."""\n'),
            ("tools/a.sh", "#!/bin/bash\n# A: what it is.\n"),
            ("data.json", "{}\n"),
        ]:
            self.assertEqual(check_style.faults_of(path, text), [], path)

    def test_first_line(self):
        for path, text in [
            ("src/a.h", "#ifndef A\n"),
            ("src/a.cc", "//\n// A: late.\n"),
            ("src/a.cc", ""),
            ("tools/a.py", "#!/usr/bin/env python3\nimport os\n"),
            (".ci/run", "#!/bin/bash\nset -e\n"),
        ]:
            self.assertEqual(len(check_style.faults_of(path, text)), 1, (path, text))

    def test_markers(self):
        faults = check_style.faults_of("src/a.h", f"// A: what it is.\nint x;  // {MARKER}: later\n")
        self.assertEqual([fault.split(": ")[0] for fault in faults], ["src/a.h:2"])


if __name__ == "__main__":
    unittest.main()
