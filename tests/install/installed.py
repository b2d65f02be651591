"""An installed tree for the tests: staged with DESTDIR under /usr, then moved, so that nothing can lean on either place. Not a test."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))

BUILD = pathlib.Path(os.environ["VERBATIM_BUILD_DIR"])


def checked(*command, **options):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=200, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def workplace():
    """A folder that goes when the tests end."""
    folder = tempfile.mkdtemp(prefix="verbatim-install-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


@functools.cache
def prefix():
    """The tree, where it was not installed to."""
    stage, moved = workplace() / "stage", workplace() / "moved here"
    checked("cmake", "--install", BUILD, "--prefix", "/usr", env={**os.environ, "DESTDIR": str(stage)})
    assert [entry.name for entry in stage.iterdir()] == ["usr"], "DESTDIR holds everything"
    (stage / "usr").rename(moved)
    return moved
