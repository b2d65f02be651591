"""libverbatim, its CMake package and its pkg-config file, used as a stranger would: headers, exports, the examples. With --update: writes docs/cpp_api.md's example."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from installed import checked, prefix, workplace
from support import NANO, SOURCE, run_json

API_DOCUMENT = SOURCE / "docs" / "cpp_api.md"
EXAMPLE = re.compile(r"(<!-- (examples/\w+\.cc) -->\n)(.*?)(<!-- end -->)", re.S)
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
PROMPTS = ("Once upon a time", "The dog", "It was a dark night")


def with_examples(text):
    return EXAMPLE.sub(lambda m: f"{m[1]}\n```cpp\n{(SOURCE / m[2]).read_text()}```\n\n{m[4]}", text)


def public_names():
    """Free functions, and classes, that the installed headers declare."""
    functions, classes = set(), set()
    for header in (prefix() / "include" / "verbatim").iterdir():
        code = re.sub(r"//[^\n]*", "", header.read_text())
        classes |= set(re.findall(r"\b(?:class|struct)(?:\s*\[\[\w+\]\])?\s+(\w+)\s*\{", code))
        functions |= set(re.findall(r"^[\w:<>,&\s\[\]]+?\b(\w+)\((?:[^{};]|\{\})*\);", code, re.M))
    return functions, classes


def generated(prompt, tokens, *more):
    return run_json("generate", "-m", NANO, "-p", prompt, "-n", tokens, *more)


class HeadersTest(unittest.TestCase):
    def test_each_stands_alone_on_the_standard_library(self):
        include = prefix() / "include"
        for header in sorted((include / "verbatim").iterdir()):
            for included in re.findall(r'^#include ([<"].+[>"])', header.read_text(), re.M):
                self.assertRegex(included, r'^(<[a-z_]+>|"verbatim/\w+\.h")$', header.name)
        # Twice, for the guards; one after the other in one file each, for what a header forgets to include.
        for header in sorted((include / "verbatim").iterdir()):
            line = f'#include "verbatim/{header.name}"\n'
            done = subprocess.run(["c++", "-std=c++20", *WARNINGS.split(), "-fsyntax-only", "-I", include, "-xc++", "-"],
                                  input=line * 2, text=True, capture_output=True)
            self.assertEqual(done.stderr, "", header.name)


class ExportsTest(unittest.TestCase):
    def test_exactly_what_the_headers_declare(self):
        functions, classes = public_names()
        self.assertIn("MakeError", functions)
        self.assertIn("Engine", classes)

        def public(symbol):
            scope = re.match(r"verbatim::(\w+)(?:\[abi:cxx11\])?\(", symbol)
            member = re.match(r"verbatim::(\w+)::~?\w+(?:\[abi:cxx11\])?\([^{}]*$", symbol)
            return bool(scope and scope[1] in functions or member and member[1] in classes)

        library = prefix() / "lib" / "libverbatim.so"
        exported = {line[19:] for line in checked("nm", "-DC", "--defined-only", library).splitlines()}
        self.assertEqual({symbol for symbol in exported if not public(symbol)}, set(),
                         "exported, but in no public header: see cmake/libverbatim.map")
        # The library is not stripped: what is defined but not exported is in its other symbol table, as "t".
        # Parts of functions ([clone .cold]), and destructors and copies that the compiler wrote, belong to nobody.
        copies = re.compile(r"verbatim::(\w+)::\1\(verbatim::\1(?: const&|&&)\)")
        hidden = {line[19:] for line in checked("nm", "-C", "--defined-only", library).splitlines()
                  if line[17] == "t" and "[clone" not in line and ("~" not in line or "Engine::" in line) and not copies.fullmatch(line[19:])}
        self.assertEqual({symbol for symbol in hidden if public(symbol)} - exported, set(),
                         "declared in a public header, but not exported: add it to cmake/libverbatim.map")


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build = workplace() / "examples"
        checked("cmake", "-S", prefix() / "share/doc/verbatim/examples", "-B", cls.build,
                f"-DCMAKE_PREFIX_PATH={prefix()}", f"-DCMAKE_CXX_FLAGS={WARNINGS}", "-DCMAKE_BUILD_TYPE=Debug")
        checked("cmake", "--build", cls.build, "--parallel", "2")

    def test_the_installed_library_is_the_one_in_use(self):
        self.assertIn(str(prefix() / "lib" / "libverbatim.so."), checked("ldd", self.build / "generate"))

    def test_generate(self):
        classic = generated(PROMPTS[0], 48)
        done = subprocess.run([self.build / "generate", NANO, PROMPTS[0]], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (0, classic["text"] + "\n"))
        self.assertRegex(done.stderr, r"^\d+ tokens, (stop|length), [1-9]\d* of \d+ drafts accepted\n$")

    def test_several_sequences_a_cancel_and_a_refusal(self):
        lines = checked(self.build / "sequences", NANO).split("\n")
        self.assertRegex(lines[0], r"^refused: \[\S+\] expected .+, received .+")
        text = "\n".join(lines[1:])
        for prompt in (PROMPTS[0], PROMPTS[2]):
            self.assertIn(f"{prompt} | {generated(prompt, 24, '--ignore-eos')['text']} [length]\n", text)
        cancelled = re.search(rf"{PROMPTS[1]} \| (.*) \[cancelled\]\n", text, re.S)[1]
        whole = generated(PROMPTS[1], 24, "--ignore-eos")["text"]
        self.assertTrue(whole.startswith(cancelled) and 0 < len(cancelled) < len(whole), cancelled)

    def test_errors_are_values(self):
        done = subprocess.run([self.build / "generate", "/nowhere", "x"], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^\[/nowhere\] expected .+, received .+\n$")

    def test_another_minor_version_is_refused(self):
        project = workplace() / "newer"
        project.mkdir()
        for version, accepted in (("0.1", True), ("0.2", False), ("1.0", False)):
            (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(newer LANGUAGES CXX)\n"
                                                    f"find_package(verbatim {version} REQUIRED)\n")
            done = subprocess.run(["cmake", "-S", project, "-B", project / version, f"-DCMAKE_PREFIX_PATH={prefix()}"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode == 0, accepted, done.stderr)


@unittest.skipIf(shutil.which("pkg-config") is None, "pkg-config is not installed; tools/setup.sh build installs it")
class PkgConfigTest(unittest.TestCase):
    def ask(self, *arguments, tree=None):
        folder = (tree or prefix()) / "lib" / "pkgconfig"
        return subprocess.run(["pkg-config", *arguments], capture_output=True, text=True,
                              env={**os.environ, "PKG_CONFIG_PATH": str(folder)})

    def test_the_place_is_that_of_the_file(self):
        for name in ("includedir", "libdir"):
            place = shlex.split(self.ask(f"--variable={name}", "verbatim").stdout.strip())
            self.assertEqual([os.path.realpath(path) for path in place], [str(prefix().resolve() / name[:-3])])
        text = (prefix() / "lib/pkgconfig/verbatim.pc").read_text()
        self.assertNotRegex(text, r"(?m)^\w+=/|[-]I/|-L/")

    def test_one_shared_library_and_nothing_else(self):
        for more in ((), ("--static",)):
            words = shlex.split(self.ask(*more, "--libs", "verbatim").stdout)
            self.assertEqual([word[:2] for word in words], ["-L", "-l"])
            self.assertEqual(words[1], "-lverbatim")

    def test_version_is_the_programs(self):
        version = checked(prefix() / "bin" / "verbatim", "--version").split()[1]
        self.assertEqual(self.ask("--modversion", "verbatim").stdout.strip(), version)
        self.assertEqual(self.ask("--exists", "verbatim >= 0.1").returncode, 0)
        self.assertNotEqual(self.ask("--exists", "verbatim >= 1.0").returncode, 0)

    def test_the_example_as_documented(self):
        """The line of the document, in a shell, with a prefix that needs no quoting."""
        tree = workplace() / "plain"
        shutil.copytree(prefix(), tree, symlinks=True)
        line = re.search(r"^    (c\+\+ .*pkg-config.*)$", API_DOCUMENT.read_text(), re.M)[1]
        folder = workplace() / "by pkg-config"
        folder.mkdir()
        shutil.copy(tree / "share/doc/verbatim/examples/generate.cc", folder / "my_program.cc")
        checked("sh", "-c", line, cwd=folder, env={**os.environ, "PKG_CONFIG_PATH": str(tree / "lib/pkgconfig"),
                                                   "LD_RUN_PATH": str(tree / "lib")})
        program = folder / "my_program"
        self.assertIn(str(tree / "lib" / "libverbatim.so."), checked("ldd", program))
        done = subprocess.run([program, NANO, PROMPTS[0]], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (0, generated(PROMPTS[0], 48)["text"] + "\n"))

    def test_a_prefix_with_a_space(self):
        self.assertIn(" ", str(prefix()))
        words = shlex.split(self.ask("--cflags", "--libs", "verbatim").stdout)
        program = workplace() / "sequences"
        checked("c++", "-std=c++20", prefix() / "share/doc/verbatim/examples/sequences.cc", *words, "-o", program)
        checked(program, NANO, env={**os.environ, "LD_LIBRARY_PATH": str(prefix() / "lib")})


class DocumentTest(unittest.TestCase):
    def test_the_example_is_the_tested_one(self):
        text = API_DOCUMENT.read_text()
        self.assertEqual(text, with_examples(text), "run: tests/install/test_library.py --update")

    def test_every_header_is_listed(self):
        text = API_DOCUMENT.read_text()
        for header in (SOURCE / "include" / "verbatim").glob("*.h"):
            self.assertIn(f"`verbatim/{header.name}`", text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        API_DOCUMENT.write_text(with_examples(API_DOCUMENT.read_text()))
    else:
        unittest.main()
