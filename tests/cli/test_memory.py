"""Too little memory: one line and exit 1 at every limit under which the program starts at all. Not under sanitizers,
whose shadow memory is larger than any limit."""

import re
import resource
import subprocess
import tempfile
import unittest

from support import BINARY, NANO, SOURCE, environment

TINY = SOURCE / "models" / "tiny-qwen35-4bit"
# Where the probe found no memory for itself, exact declines with a warning before what comes next fails.
LINE = re.compile(rb"^(?:warning: [^\n]+ received a failed allocation[^\n]*\n)?\[[^\]\n]+\] expected [^\n]+, received [^\n]+\n$")
MIB = 2**20


def limited(limit, *arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, env=environment(), timeout=120,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


class MemoryTest(unittest.TestCase):
    def sweep(self, *arguments):
        """Limits from one under which even `version` fails, in steps of a fortieth, until all goes well."""
        limit = 8 * MIB
        refused = 0
        while limit < 4096 * MIB:
            if limited(limit, "version").returncode == 0:
                done = limited(limit, *arguments)
                with self.subTest(arguments=arguments, limit=limit):
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    if done.returncode == 0:
                        break
                    refused += 1
                    self.assertEqual(done.stdout, b"")
                    self.assertRegex(done.stderr, LINE)
            limit += limit // 40
        self.assertLess(limit, 4096 * MIB)
        self.assertGreater(refused, 0)

    def test_load(self):
        self.sweep("generate", "-m", NANO, "-p", "x", "-n", "2", "-q", "-t", "2")

    def test_large_context(self):
        self.sweep("generate", "-m", NANO, "-p", "x", "-n", "2", "-q", "-t", "1", "-c", "8192", "--kv-type", "f32")

    def test_quantize_and_inspect(self):
        self.sweep("inspect", TINY)

    def test_a_prompt_that_does_not_fit(self):
        """Read, encoded, refused for its length: wherever memory ends."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"word and word " * (8 * MIB // 14))
            file.flush()
            codes = set()
            for limit in range(24, 200, 8):
                if limited(limit * MIB, "version").returncode != 0:
                    continue
                done = limited(limit * MIB, "generate", "-m", NANO, "-f", file.name, "-q", "-t", "1")
                with self.subTest(limit=limit):
                    self.assertIn(done.returncode, (1, 2), done.stderr)
                    self.assertRegex(done.stderr, LINE)
                    codes.add(done.returncode)
            self.assertIn(1, codes)

    def test_a_context_of_any_size(self):
        done = limited(512 * MIB, "score", "-m", NANO, "--ids", "5,6,7", "-q", "-c", "8192", "--width", "4096")
        self.assertIn(done.returncode, (0, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
