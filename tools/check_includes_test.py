"""check_includes.py must fail on planted breaches and pass what the rule allows. Not a check of this tree."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_includes  # noqa: E402


class CheckIncludesTest(unittest.TestCase):
    def faults(self, files):
        """Writes {path: text} into a fresh tree and checks it."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return check_includes.check(root)

    def one(self, path, name):
        return self.faults({path: f'// A file.\n#include "{name}"\n'})

    def test_allowed(self):
        for path, name in [
            ("src/engine/step.cc", "model/qwen35/forward.h"),
            ("src/engine/step.cc", "backend/cpu/cpu_backend.h"),
            ("src/model/qwen35/forward.cc", "state/kv_pages.h"),
            ("src/model/qwen35/forward.cc", "model/rows.h"),
            ("src/backend/cpu/norm.cc", "numerics/exp.h"),
            ("src/base/status.cc", "verbatim/status.h"),
            ("src/engine/engine.cc", "verbatim/engine.h"),
            ("src/ops/linear.h", "hwy/highway.h"),
            ("include/verbatim/engine.h", "verbatim/status.h"),
            ("apps/verbatim/main.cc", "serve/http.h"),
            ("tests/model/forward_test.cc", "backend/cpu/cpu_backend.h"),
        ]:
            self.assertEqual(self.one(path, name), [], (path, name))

    def test_breaches(self):
        for path, name, why in [
            ("src/base/log.cc", "numerics/exp.h", "above"),
            ("src/numerics/exp.h", "checkpoint/loader.h", "peers"),
            ("src/text/tokenizer.cc", "checkpoint/loader.h", "peers"),
            ("src/backend/cpu/attention.cc", "state/kv_pages.h", "peers"),
            ("src/state/kv_pages.cc", "backend/cpu/cpu_backend.h", "peers"),
            ("src/ops/linear.h", "backend/cpu/cpu_backend.h", "above"),
            ("src/model/qwen35/forward.cc", "backend/cpu/cpu_backend.h", "never includes a backend"),
            ("src/backend/cpu/norm.cc", "engine/step.h", "above"),
            ("src/backend/cpu/norm.cc", "verbatim/engine.h", "above"),
            ("src/draft/mtp.cc", "engine/step.h", "above"),
            ("src/measure/flips.cc", "serve/http.h", "above"),
            ("src/engine/step.cc", "apps/verbatim/options.h", "above"),
            ("src/engine/step.cc", "src/serve/http.h", "above"),
            ("include/verbatim/engine.h", "engine/step.h", "public headers"),
            ("src/engine/step.cc", "tests/engine/fake.h", "tests/"),
            ("src/colour/red.cc", "base/check.h", "no place"),
        ]:
            faults = self.one(path, name)
            self.assertEqual(len(faults), 1, (path, name, faults))
            self.assertIn(why, faults[0])
            self.assertTrue(faults[0].startswith(f"{path}:"), faults[0])

    def test_relative_paths_and_angle_brackets_do_not_hide_a_breach(self):
        faults = self.faults({
            "src/engine/step.h": "// Step.\n",
            "src/model/rows.cc": '// Rows.\n#  include "../engine/step.h"\n#include <engine/step.h>\n',
        })
        self.assertEqual([line.split(": ")[0] for line in faults], ["src/model/rows.cc:2", "src/model/rows.cc:3"])

    def test_exit_code(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "src/base/log.cc"
            file.parent.mkdir(parents=True)
            file.write_text('// Log.\n#include "engine/step.h"\n', encoding="utf-8")
            command = [sys.executable, check_includes.__file__, folder]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1)
            self.assertIn("src/base/log.cc:2", run.stderr)
            self.assertIn("include rule: base <", run.stderr)
            file.write_text("// Log.\n", encoding="utf-8")
            self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
