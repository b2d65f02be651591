"""The installed program, man page, completions and documents. Not the library (test_library.py)."""

import hashlib
import os
import re
import shutil
import subprocess
import unittest

from installed import BUILD, checked, prefix, workplace
from support import BINARY, NANO, PROMPT, SOURCE, run

FILES = (
    "bin/verbatim",
    "share/man/man1/verbatim.1",
    "share/bash-completion/completions/verbatim",
    "share/zsh/site-functions/_verbatim",
    "share/fish/vendor_completions.d/verbatim.fish",
    "lib/libverbatim.so",
    "lib/cmake/verbatim/verbatimConfig.cmake",
    "lib/cmake/verbatim/verbatimConfigVersion.cmake",
    "lib/cmake/verbatim/verbatimTargets.cmake",
    "lib/pkgconfig/verbatim.pc",
    "share/doc/verbatim/LICENSE",
    "share/doc/verbatim/THIRD_PARTY.md",
    "share/doc/verbatim/cpp_api.md",
    "share/doc/verbatim/examples/CMakeLists.txt",
)


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


class InstallTest(unittest.TestCase):
    def test_files(self):
        for name in FILES:
            self.assertTrue((prefix() / name).is_file(), name)
        headers = sorted(path.name for path in (SOURCE / "include" / "verbatim").glob("*.h"))
        self.assertEqual(sorted(path.name for path in (prefix() / "include" / "verbatim").iterdir()), headers)
        self.assertEqual({entry.name for entry in prefix().iterdir()}, {"bin", "include", "lib", "share"})

    def test_texts_name_no_place_of_the_build(self):
        for path in prefix().rglob("*"):
            if path.is_file() and not path.match("bin/*") and ".so" not in path.name:
                text = path.read_text()
                self.assertNotIn(str(BUILD), text, path)
                self.assertNotIn(str(SOURCE), text, path)

    def test_program_is_that_of_the_build(self):
        program = prefix() / "bin" / "verbatim"
        self.assertEqual(output(program, "--version"), output(BINARY, "--version"))
        arguments = ("generate", "-m", NANO, "-p", PROMPT, "-n", "8", "-q")
        self.assertEqual(output(program, *arguments), output(BINARY, *arguments))
        dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout
        self.assertIsNone(re.search("R(UN)?PATH|libverbatim", dynamic), dynamic)

    def test_completions_are_the_programs(self):
        for shell, path in zip(("bash", "zsh", "fish"), FILES[2:5]):
            self.assertEqual((prefix() / path).read_bytes(), run("completion", shell).stdout)

    def test_man_page_names_everything(self):
        page = (prefix() / "share/man/man1/verbatim.1").read_text()
        self.assertIn(f'"verbatim {run("--version").stdout.decode().split()[1]}"', page.splitlines()[1])
        manual = run("help", "--markdown").stdout.decode()
        for verb in re.findall(r"^## (\w+)$", manual, re.M):
            self.assertIn(f"\n.SH {verb.upper()}\n", page)
        for option in re.findall(r"`(--[a-z-]+)", manual):
            self.assertIn(option.replace("-", "\\-"), page)

    def test_man_page_has_no_faults(self):
        page = prefix() / "share/man/man1/verbatim.1"
        linters = {"groff": ("groff", "-ww", "-man", "-Tascii", page), "mandoc": ("mandoc", "-T", "lint", page)}
        found = {name: command for name, command in linters.items() if shutil.which(name)}
        if not found:
            self.skipTest("neither groff nor mandoc is installed; tools/setup.sh check installs them")
        for name, command in found.items():
            code, shown, faults = output(*command)
            self.assertEqual((code, faults), (0, b""), name)
            if name == "mandoc":
                self.assertEqual(shown, b"")  # its findings

    def test_usage(self):
        for arguments, where in ((("completion",), "[SHELL]"), (("completion", "csh"), "[SHELL]"),
                                 (("help", "--man", "--markdown"), "[--man]"), (("help", "score", "--man"), "[--man]")):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)
            self.assertTrue(done.stderr.decode().startswith(where), done.stderr)


class UninstallTest(unittest.TestCase):
    def test_leaves_what_is_not_ours(self):
        stage = workplace() / "uninstall"
        environment = {**os.environ, "DESTDIR": str(stage)}
        checked("cmake", "--install", BUILD, "--prefix", "/opt/some where", env=environment)
        root = stage / "opt" / "some where"
        strangers = [root / "bin" / "other", root / "include" / "verbatim" / "other.h"]
        for stranger in strangers:
            stranger.touch()
        checked(SOURCE / "tools" / "uninstall.sh", BUILD, "/opt/some where", env=environment)
        self.assertEqual([path for path in root.rglob("*") if not path.is_dir()], strangers)
        self.assertFalse((root / "share" / "doc" / "verbatim").exists())
        self.assertFalse((root / "lib" / "cmake" / "verbatim").exists())


class ThirdPartyTest(unittest.TestCase):
    def test_current_with_the_lock_file(self):
        lock = (SOURCE / "src" / "text" / "ffi" / "Cargo.lock").read_bytes()
        text = (prefix() / "share/doc/verbatim/THIRD_PARTY.md").read_text()
        self.assertIn(hashlib.sha256(lock).hexdigest(), text, "run: tools/third_party.py")
        locked = set(re.findall(r'^name = "(.+)"\nversion = "(.+)"$', lock.decode(), re.M))
        listed = set(re.findall(r"^\| (\S+) (\S+) \| ", text, re.M))
        self.assertGreater(len(listed), 20)
        self.assertLessEqual(listed, locked)
        for name, version in listed:
            self.assertRegex(text, rf"(?m)^### .*{re.escape(name)} {re.escape(version)}\b")


if __name__ == "__main__":
    unittest.main()
