"""What tools/setup.sh says when something is missing, against stubs in a PATH of their own. Installs nothing."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL_TOOLS = ["bash", "grep", "sed", "tail", "mktemp", "rm", "touch"]
ALL_INSTALLED = 'shift 3; for p in "$@"; do printf "installed:%s " "$p"; done'
# Only what apt-get "installed" by leaving a file behind, and all but the two named here.
TWO_MISSING = """shift 3
for p in "$@"; do
  case "$p" in libhwy-dev|ninja-build) [ -e "$STATE/$p" ] && printf "installed:%s " "$p" ;;
  *) printf "installed:%s " "$p" ;; esac
done
exit 1"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name) / "bin"
        self.home = pathlib.Path(folder.name) / "home"
        self.state = pathlib.Path(folder.name) / "state"
        for path in (self.bin, self.home, self.state):
            path.mkdir()
        for tool in REAL_TOOLS:
            for where in ("/usr/bin", "/bin"):
                if os.path.exists(f"{where}/{tool}"):
                    (self.bin / tool).symlink_to(f"{where}/{tool}")
                    break
        # A machine where all is well; each test breaks one thing.
        self.stub("cargo", "echo 'cargo 1.87.0 (99624be96 2025-05-06)'")
        self.stub("c++", '[ "$1" = --version ] && echo "c++ (Debian 12.2.0-14) 12.2.0" || echo 12')
        self.stub("dpkg-query", ALL_INSTALLED)
        self.stub("apt-get", 'echo "apt-get $*" >>"$STATE/calls"')
        self.stub("id", "echo 0")

    def stub(self, name, script, folder=None):
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{self.bin}/bash\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def setup_sh(self, *arguments):
        environment = {"PATH": str(self.bin), "HOME": str(self.home), "STATE": str(self.state),
                       "TMPDIR": str(self.state)}
        return subprocess.run([str(self.bin / "bash"), str(ROOT / "tools/setup.sh"), *arguments], env=environment,
                              capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL)

    def apt_calls(self):
        calls = self.state / "calls"
        return calls.read_text(encoding="utf-8") if calls.exists() else ""

    def assert_fails(self, run, *parts):
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(run.stdout, "")
        for part in parts:
            self.assertIn(part, run.stderr)

    def test_nothing_missing_is_silent_and_installs_nothing(self):
        run = self.setup_sh()
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        self.assertEqual(self.apt_calls(), "")

    def test_no_cargo(self):
        (self.bin / "cargo").unlink()
        self.assert_fails(self.setup_sh(), "expected cargo 1.87 or newer, received none", "~/.cargo/bin", "rustup")
        self.assertEqual(self.apt_calls(), "")

    def test_old_cargo_is_named(self):
        self.stub("cargo", "echo 'cargo 0.66.0'")  # Debian 12's
        self.assert_fails(self.setup_sh(), f"received {self.bin}/cargo (0.66.0)", "rustup")

    def test_cargo_just_too_old_and_just_new_enough(self):
        for version, code in [("1.86.1", 1), ("1.9.0", 1), ("1.87.0", 0), ("1.100.0-nightly", 0), ("2.0.0", 0)]:
            self.stub("cargo", f"echo 'cargo {version} (abc 2025-01-01)'")
            self.assertEqual(self.setup_sh().returncode, code, version)

    def test_cargo_that_does_not_run(self):
        self.stub("cargo", "echo 'error: rustup could not choose a version of cargo' >&2; exit 1")
        self.assert_fails(self.setup_sh(), "cargo (does not run)", "rustup default stable")

    def test_new_cargo_in_home_wins_over_an_old_one_in_path(self):
        self.stub("cargo", "echo 'cargo 0.66.0'")
        self.stub("cargo", "echo 'cargo 1.95.0 (abc 2026-01-01)'", self.home / ".cargo/bin")
        self.assertEqual(self.setup_sh().returncode, 0)
        self.assertEqual(self.setup_sh("--cargo-dir").stdout.strip(), str(self.home / ".cargo/bin"))

    def test_no_compiler(self):
        (self.bin / "c++").unlink()
        self.assert_fails(self.setup_sh(), "[compiler] expected a C++20 compiler", "apt-get install -y g++")
        self.assertEqual(self.apt_calls(), "")

    def test_old_compiler(self):
        self.stub("c++", '[ "$1" = --version ] && echo "c++ (Debian 10.2.1-6)" || echo 10')
        self.assert_fails(self.setup_sh(), "expected g++ 12 or newer, received c++ 10")

    def test_cargo_and_compiler_are_reported_together(self):
        (self.bin / "cargo").unlink()
        (self.bin / "c++").unlink()
        self.assert_fails(self.setup_sh(), "[cargo]", "[compiler]")

    def test_missing_packages_are_installed_in_one_go(self):
        self.stub("dpkg-query", TWO_MISSING)
        self.stub("apt-get", 'echo "apt-get $*" >>"$STATE/calls"; touch "$STATE/libhwy-dev" "$STATE/ninja-build"')
        run = self.setup_sh()
        self.assertEqual(run.returncode, 0, run.stderr)
        installs = [line for line in self.apt_calls().splitlines() if " install " in line]
        self.assertEqual(len(installs), 1)
        self.assertTrue(installs[0].endswith("--no-install-recommends libhwy-dev ninja-build"), installs)

    def test_ordinary_user_gets_the_exact_command(self):
        self.stub("dpkg-query", TWO_MISSING)
        self.stub("id", "echo 1000")
        self.assert_fails(self.setup_sh(), "missing: libhwy-dev ninja-build", "sudo sh -c 'apt-get update && apt-get "
                          "install -y --no-install-recommends libhwy-dev ninja-build'")
        self.assertEqual(self.apt_calls(), "")

    def test_no_network(self):
        self.stub("dpkg-query", TWO_MISSING)
        self.stub("apt-get", "echo 'E: Unable to fetch some archives' >&2; exit 100")
        self.assert_fails(self.setup_sh(), "E: Unable to fetch some archives", "missing: libhwy-dev ninja-build",
                          "try, with network access:  apt-get update && apt-get install")

    def test_apt_that_claims_success_is_not_believed(self):
        self.stub("dpkg-query", TWO_MISSING)
        self.assert_fails(self.setup_sh(), "missing: libhwy-dev ninja-build")

    def test_not_debian(self):
        (self.bin / "dpkg-query").unlink()
        self.assert_fails(self.setup_sh(), "received another system", "libhwy-dev", "cmake --preset release")

    def test_clients_are_a_browser_and_what_makes_python_environments(self):
        self.stub("dpkg-query", TWO_MISSING.replace("libhwy-dev|ninja-build", "chromium|python3-venv"))
        self.stub("apt-get", 'echo "apt-get $*" >>"$STATE/calls"; touch "$STATE/chromium" "$STATE/python3-venv"')
        self.assertEqual(self.setup_sh().returncode, 0)
        self.assertEqual(self.apt_calls(), "")
        self.assertEqual(self.setup_sh("clients").returncode, 0)
        self.assertIn("--no-install-recommends chromium python3-venv", self.apt_calls())

    def test_arm64_adds_the_architecture_before_it_updates(self):
        self.stub("rustc", f"echo {self.state}")
        self.stub("dpkg", 'case "$1" in --add-*) echo "dpkg $*" >>"$STATE/calls" ;; esac')
        self.stub("dpkg-query", TWO_MISSING.replace("libhwy-dev|", "libhwy-dev:arm64|"))
        self.stub("apt-get", 'echo "apt-get $*" >>"$STATE/calls"; touch "$STATE/libhwy-dev:arm64" "$STATE/ninja-build"')
        run = self.setup_sh("arm64")
        self.assertEqual(run.returncode, 0, run.stderr)
        calls = self.apt_calls().splitlines()
        self.assertEqual(calls[0], "dpkg --add-architecture arm64")
        self.assertTrue(calls[1].endswith(" update"), calls)
        self.assertTrue(calls[2].endswith("ninja-build libhwy-dev:arm64"), calls)
        self.stub("id", "echo 1000")
        for package in ("libhwy-dev:arm64", "ninja-build"):
            (self.state / package).unlink()
        self.assert_fails(self.setup_sh("arm64"), "sudo sh -c 'dpkg --add-architecture arm64 && apt-get update")

    def test_arm64_needs_rusts_library_for_it(self):
        self.stub("rustc", 'echo "$STATE/rustlib"')
        self.assert_fails(self.setup_sh("arm64"), "standard library for aarch64-unknown-linux-gnu", "rustup target add")
        self.assertEqual(self.setup_sh().returncode, 0)
        self.stub("rustup", 'echo "$*" >"$STATE/rustup"; echo >"$STATE/rustlib"')
        self.assert_fails(self.setup_sh("arm64"), "rustup target add")  # a rustup that only claims to
        (self.state / "rustlib").unlink()
        (self.bin / "mkdir").symlink_to("/bin/mkdir")
        self.stub("rustup", 'echo "$*" >"$STATE/rustup"; mkdir "$STATE/rustlib"')
        run = self.setup_sh("arm64")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("target add aarch64-unknown-linux-gnu", (self.state / "rustup").read_text(encoding="utf-8"))

    def test_unknown_argument(self):
        run = self.setup_sh("everything")
        self.assertEqual(run.returncode, 2)
        self.assertIn("received everything", run.stderr)


if __name__ == "__main__":
    unittest.main()
