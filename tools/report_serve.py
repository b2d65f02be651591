"""The section of tools/report.py about the server: MTP against classic decode at several numbers of clients. Not the report itself.

One server; `verbatim bench serve` sends the same trace to it with and without speculation, by turns in one run, and compares every answer. No states are
kept between requests, since the arm that comes second would find those of the first.
"""

import contextlib
import json
import re
import subprocess

from report_contract import stamp, tiny_models
from report_figures import ROOT, ReportError, table

CLIENTS = (1, 2, 4, 8, 16)
ROUNDS = 8  # of both arms
REQUESTS = 16  # of an arm in a round, but at least two for every client
TOKENS = 96
SERVE = ("--port", "0", "--parallel", "16", "--prefix-cache-memory", "0", "--log-level", "error")


@contextlib.contextmanager
def served(binary, model):
    """The address of a server."""
    server = subprocess.Popen([str(binary), "serve", "-m", model, *SERVE], cwd=ROOT, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr:
            if match := re.match(r"serving +(\S+) as ", line):
                yield match[1]
                return
        raise ReportError(f"[serve] expected a server, received exit code {server.wait()}")
    finally:
        server.terminate()
        server.wait()
        server.stderr.close()


def bench(report, url, clients):
    command = ["bench", "serve", url, "--concurrency", clients, "--requests", max(2 * clients, REQUESTS) * ROUNDS, "--rounds", ROUNDS, "-n", TOKENS,
               "--set", "temperature=0", "--set", "ignore_eos=true", "--arm", "speculation=off", "-q", "--json"]
    done = subprocess.run([str(report.program.binary), *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode == 3:
        report.program.differences += 1
    if done.returncode not in (0, 3):
        raise ReportError(f"[bench serve] expected exit code 0, received {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def serving(report):
    """Markdown."""
    text = f"## Server: MTP on against off\n\n{stamp(report)}"
    text += (f"Server: `verbatim serve -m MODEL {' '.join(SERVE)}`. Per line: `verbatim bench serve URL --concurrency N --requests R --rounds {ROUNDS} "
             f"-n {TOKENS} --set temperature=0 --set ignore_eos=true --arm speculation=off`, where R is {REQUESTS} a round, or two for each client where "
             "that is more. Both arms take turns; the ratio is the median of the rounds' with its quartiles; every answer of one arm equals that of the "
             "other. Client and server share the cores.\n\n")
    for model in tiny_models(report):
        rows = []
        with served(report.program.binary, model) as url:
            for clients in CLIENTS:
                report.note(f"serving {model}, {clients} clients")
                result = bench(report, url, clients)
                mtp, off = result["arms"]
                compared = result["comparison"]
                ratio = compared["ratios"]["tokens_per_s_of_rounds"] if compared["ratios"] else None
                rows.append([str(clients), f"{mtp['tokens_per_s']:.0f}", f"{off['tokens_per_s']:.0f}",
                             f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})" if ratio else "outputs differ", f"{mtp['tpot_ms']['p50']:.2f}", f"{off['tpot_ms']['p50']:.2f}",
                             f"{mtp['ttft_ms']['p50']:.0f}", f"{off['ttft_ms']['p50']:.0f}", f"{mtp['e2e_ms']['p99']:.0f}",
                             f"{off['e2e_ms']['p99']:.0f}", f"{compared['compared']}", f"{compared['differing']}"])
        text += f"### {model}\n\n" + table(
            ["clients", "tokens/s MTP", "classic", "ratio", "ms/token p50 MTP", "classic", "first token ms p50 MTP", "classic", "answer ms p99 MTP",
             "classic", "answers compared", "differing"], rows) + "\n"
    return text
