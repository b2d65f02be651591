#!/usr/bin/env python3
"""Runs a command in a pseudo-terminal and writes its final screen as an SVG, for the README. Not a terminal emulator.

  tools/record_demo.py --out docs/demo.svg --prompt "make demo" -- make demo
  tools/record_demo.py --out docs/chat.svg --type "Hello" --type "/stats" -- build/verbatim chat -m MODEL

Understood: text, newline, carriage return, backspace, tab, SGR colours and styles (16, 256 and 24-bit), cursor left,
right, up, down and to a column, erase in line, erase below. Other escape sequences are dropped. Standard library only;
the same output of the command gives the same bytes.
"""

import argparse
import bisect
import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata
from xml.sax.saxutils import escape

FONT_SIZE = 14  # px
CELL_WIDTH = 8.4  # px; the usual monospace advance, 0.6 em
LINE_HEIGHT = 19  # px
PADDING = 16  # px
TITLE_HEIGHT = 36  # px
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
BACKGROUND, TITLE_BAR, FOREGROUND, DIM = "#0d1117", "#161b22", "#d0d7de", "#8b949e"
# The sixteen ANSI colours: normal, then bright; contrast with BACKGROUND is at least 4.5 but for the two blacks.
PALETTE = ["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
           "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"]
CONTROL = re.compile(r"\x1b\[([0-9;:?]*)([ -/]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
PLAIN = (None, None, False, False, False, False)  # foreground, background, bold, dim, italic, underline


def indexed_colour(index):
    """The colour of an xterm palette index."""
    if index < 16:
        return PALETTE[index]
    if index < 232:  # a 6 x 6 x 6 cube
        levels = [0, 95, 135, 175, 215, 255]
        index -= 16
        return "#%02x%02x%02x" % (levels[index // 36], levels[index // 6 % 6], levels[index % 6])
    return "#%02x%02x%02x" % ((8 + 10 * (index - 232),) * 3)


def apply_sgr(style, parameters):
    """The style after one "select graphic rendition" sequence."""
    fore, back, bold, dim, italic, underline = style
    codes = [int(code or 0) for code in re.split("[;:]", parameters)]
    while codes:
        code = codes.pop(0)
        if code == 0:
            fore, back, bold, dim, italic, underline = PLAIN
        elif code == 1:
            bold = True
        elif code == 2:
            dim = True
        elif code == 3:
            italic = True
        elif code == 4:
            underline = True
        elif code == 22:
            bold = dim = False
        elif code == 23:
            italic = False
        elif code == 24:
            underline = False
        elif code in (38, 48):
            colour = None
            if len(codes) >= 2 and codes[0] == 5:
                colour, codes = indexed_colour(min(codes[1], 255)), codes[2:]
            elif len(codes) >= 4 and codes[0] == 2:
                colour, codes = "#%02x%02x%02x" % tuple(min(c, 255) for c in codes[1:4]), codes[4:]
            if code == 38:
                fore = colour
            else:
                back = colour
        elif code == 39:
            fore = None
        elif code == 49:
            back = None
        elif 30 <= code <= 37 or 90 <= code <= 97:
            fore = PALETTE[code - 30 if code < 90 else code - 82]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            back = PALETTE[code - 40 if code < 100 else code - 92]
    return fore, back, bold, dim, italic, underline


class Screen:
    """Lines of (character, style) cells that grow downwards without end; a wide character is followed by an empty cell."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [[]]
        self.row = self.column = 0
        self.style = PLAIN

    def put(self, char):
        width = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        line = self.lines[self.row]
        if width == 0:
            if 0 < self.column <= len(line):
                line[self.column - 1] = (line[self.column - 1][0] + char, line[self.column - 1][1])
            return
        if self.column + width > self.columns:
            self.newline()
            self.column = 0
            line = self.lines[self.row]
        line.extend([(" ", PLAIN)] * (self.column + width - len(line)))
        line[self.column] = (char, self.style)
        if width == 2:
            line[self.column + 1] = ("", self.style)
        self.column += width

    def newline(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def control(self, parameters, final):
        if final == "m":
            self.style = apply_sgr(self.style, parameters)
            return
        digits = parameters.split(";")[0]
        count = int(digits) if digits.isdigit() else 0
        line = self.lines[self.row]
        if final == "A":
            self.row = max(0, self.row - max(count, 1))
        elif final == "B":
            for _ in range(max(count, 1)):
                self.newline()
        elif final == "C":
            self.column = min(self.columns - 1, self.column + max(count, 1))
        elif final == "D":
            self.column = max(0, self.column - max(count, 1))
        elif final == "G":
            self.column = min(self.columns, max(count, 1)) - 1
        elif final == "K" and count == 0:
            del line[self.column:]
        elif final == "K" and count == 1:
            line[:self.column + 1] = [(" ", PLAIN)] * min(self.column + 1, len(line))
        elif final == "K":
            line.clear()
        elif final == "J" and count == 0:
            del line[self.column:], self.lines[self.row + 1:]

    def feed(self, text):
        position = 0
        while position < len(text):
            char = text[position]
            match = CONTROL.match(text, position) if char == "\x1b" else None
            if match:
                if match.group(3):
                    self.control(match.group(1), match.group(3))
                position = match.end()
                continue
            if char == "\n":
                self.newline()
                self.column = 0
            elif char == "\r":
                self.column = 0
            elif char == "\b":
                self.column = max(0, self.column - 1)
            elif char == "\t":
                self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
            elif char >= " " and char != "\x7f":
                self.put(char)
            position += 1

    def visible_lines(self):
        lines = list(self.lines)
        while lines and not any(char.strip() or style[1] for char, style in lines[-1]):
            lines.pop()
        return lines


class Typist:
    """Types each line when the program shows its prompt, and the end of the input after the last."""

    PROMPT = "> "

    def __init__(self, lines):
        self.keys = [line.encode() + b"\r" for line in lines] + [b"\x04"] if lines else []
        self.answered = 0  # output up to here has been answered

    def keys_for(self, output):
        """What to type now that this much output has come; empty: nothing yet."""
        if not self.keys or len(output) == self.answered or not ("\n" + CONTROL.sub("", output)).endswith("\n" + self.PROMPT):
            return b""
        self.answered = len(output)
        return self.keys.pop(0)


def run(command, columns, rows, typed=()):
    """(output, exit code) of a command that believes it writes to a terminal of this size; `typed` lines are its input."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = dict(os.environ, TERM="xterm-256color", COLORTERM="truecolor", LANG="C.UTF-8")
    for name in ("NO_COLOR", "COLUMNS", "LINES", "MAKEFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    typist = Typist(typed)
    # A history of its own: neither what others typed before nor what is typed here stays anywhere.
    with tempfile.TemporaryDirectory() as state:
        environment["XDG_STATE_HOME"] = state
        with subprocess.Popen(command, stdin=follower if typed else subprocess.DEVNULL, stdout=follower, stderr=follower,
                              env=environment, start_new_session=True) as process:
            os.close(follower)
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            output = ""
            while True:
                try:
                    data = os.read(leader, 65536)
                except OSError:  # Linux's way of saying that the last writer has closed the terminal
                    data = b""
                if not data:
                    break
                output += decoder.decode(data)
                os.write(leader, typist.keys_for(output))
            os.close(leader)
            return output + decoder.decode(b"", True), process.wait()


def runs_of(line):
    """(column, width, text, style) of neighbouring cells in one style."""
    runs = []
    for column, (char, style) in enumerate(line):
        if runs and runs[-1][3] == style:
            start, width, text, _ = runs[-1]
            runs[-1] = (start, width + 1, text + char, style)
        else:
            runs.append((column, 1, char, style))
    return runs


def draw_run(column, width, text, style, top):
    """SVG elements of one run; textLength pins the grid whatever monospace font the reader has."""
    fore, back, bold, dim, italic, underline = style
    x = PADDING + column * CELL_WIDTH
    elements = []
    if back:
        elements.append(f'<rect x="{x:.1f}" y="{top}" width="{width * CELL_WIDTH:.1f}" height="{LINE_HEIGHT}" fill="{back}"/>')
    if back and fore == PALETTE[0]:  # black is lifted to be seen on the window's own background only
        fore = BACKGROUND
    attributes = f' fill="{fore}"' if fore else ""
    attributes += ' font-weight="bold"' if bold else ""
    attributes += ' opacity="0.65"' if dim else ""
    attributes += ' font-style="italic"' if italic else ""
    attributes += ' text-decoration="underline"' if underline else ""
    # Blanks at the ends and several in a row are not drawn: renderers disagree about them. A wide character is one
    # character of two cells.
    cells = [i for i, char in enumerate(text) for _ in range(2 if unicodedata.east_asian_width(char) in "WF" else 1)
             if not unicodedata.combining(char)]
    for words in re.finditer(r"[^ ]+(?: [^ ]+)*", text):
        before = bisect.bisect_left(cells, words.start())
        length = (bisect.bisect_left(cells, words.end()) - before) * CELL_WIDTH
        elements.append(f'<text x="{x + before * CELL_WIDTH:.1f}" y="{top + FONT_SIZE}" textLength="{length:.1f}"{attributes}>'
                        f"{escape(words.group())}</text>")
    return elements


def draw(lines, columns, title):
    """The SVG of a window with these lines of cells."""
    width = round(2 * PADDING + columns * CELL_WIDTH)
    height = TITLE_HEIGHT + 2 * PADDING + len(lines) * LINE_HEIGHT
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
        f'<path d="M0 {TITLE_HEIGHT}V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V{TITLE_HEIGHT}z" fill="{TITLE_BAR}"/>',
    ]
    for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{20 + 20 * i}" cy="{TITLE_HEIGHT // 2}" r="6" fill="{colour}"/>')
    out.append(f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" fill="{FOREGROUND}" xml:space="preserve">')
    out.append(f'<text x="{width / 2:.1f}" y="{TITLE_HEIGHT // 2 + 5}" text-anchor="middle" fill="{DIM}">{escape(title)}</text>')
    for row, line in enumerate(lines):
        for cells in runs_of(line):
            out += draw_run(*cells, TITLE_HEIGHT + PADDING + row * LINE_HEIGHT)
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="the SVG to write")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=40, help="keep the last ROWS lines (40)")
    parser.add_argument("--title", default="verbatim")
    parser.add_argument("--prompt", help="shown as a typed command above the output")
    parser.add_argument("--type", action="append", default=[], metavar="LINE", help="type this at the command's next prompt")
    parser.add_argument("command", nargs="+", help="after --")
    arguments = parser.parse_args()
    output, code = run(arguments.command, arguments.columns, arguments.rows, arguments.type)
    if code != 0:
        sys.stderr.write(output)
        print(f"[record_demo] expected a command that succeeds, received exit code {code}", file=sys.stderr)
        return 1
    screen = Screen(arguments.columns)
    screen.feed(output)
    lines = screen.visible_lines()[-arguments.rows:]
    if arguments.prompt:
        prompt = Screen(arguments.columns)
        prompt.feed(f"\x1b[32m$\x1b[0m \x1b[1m{arguments.prompt}\x1b[0m")
        lines = prompt.lines + lines
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write(draw(lines, arguments.columns, arguments.title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
