"""What tools/python_env.sh does where packages can't be had, and that it makes nothing twice. Stubs in a PATH of their own; installs nothing."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "python_env.sh"
# `python3 -m venv FOLDER` that makes an interpreter which notes what it is called with.
VENV = """mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$*" >>"%s/calls"\\nexit %s\\n' "$STATE" "${PIP_CODE:-0}" >"$3/bin/python"
chmod +x "$3/bin/python"
"""


class PythonEnvTest(unittest.TestCase):
    def setUp(self):
        self.state = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.bin = self.state / "bin"
        self.bin.mkdir()
        self.stub("python3", VENV)

    def stub(self, name, script):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def call(self, *arguments, **environment):
        return subprocess.run([str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60, check=False, env={
            "PATH": f"{self.bin}:{os.environ['PATH']}", "STATE": str(self.state),
            "VERBATIM_PYTHON_ENV": str(self.state / "env"), **environment})

    def calls(self):
        file = self.state / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def test_it_is_made_once(self):
        for _ in range(2):
            done = self.call("setup")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.calls()), 1)
        self.assertIn("pip install", self.calls()[0])
        self.assertIn(str(ROOT / "tests/requirements.txt"), self.calls()[0])

    def test_other_requirements_make_it_anew(self):
        self.call("setup")
        (self.state / "env" / "made_from.txt").write_text("openai==1\n", encoding="utf-8")
        self.assertEqual(self.call("run", "x.py").returncode, 77)
        self.call("setup")
        self.assertEqual(len(self.calls()), 2)

    def test_without_network_it_says_so_and_leaves_nothing(self):
        done = self.call("setup", PIP_CODE="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("[python-env] expected to install tests/requirements.txt", done.stderr)
        self.assertIn("are skipped", done.stderr)
        self.assertFalse((self.state / "env").exists())

    def test_without_venv_it_says_so(self):
        self.stub("python3", "echo 'No module named venv' >&2; exit 1")
        done = self.call("setup")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No module named venv", done.stderr)

    def test_a_script_without_it_is_skipped_with_the_reason(self):
        done = self.call("run", "x.py")
        self.assertEqual(done.returncode, 77)
        self.assertIn("skipped: no up-to-date", done.stdout)

    def test_a_script_runs_in_it_or_with_the_given_interpreter(self):
        self.call("setup")
        self.assertEqual(self.call("run", "x.py", "-k", "y").returncode, 0)
        self.assertEqual(self.calls()[-1], "-B x.py -k y")
        done = self.call("run", "a.py", VERBATIM_TEST_PYTHON="/bin/echo", VERBATIM_PYTHON_ENV="/nowhere")
        self.assertEqual(done.stdout, "-B a.py\n")

    def test_unknown_argument(self):
        self.assertEqual(self.call("remove").returncode, 2)


if __name__ == "__main__":
    unittest.main()
