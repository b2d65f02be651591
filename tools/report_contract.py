"""The sections of report.py on the contract: what `verbatim parity` and `verbatim flips` print. Not measurements of speed."""

import concurrent.futures
import datetime

from report_figures import shown

def stamp(report):
    """Which machine and commit, and when."""
    version = report.program.version
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return f"{report.machine.name}, commit {version['commit']}, {version['compiler']}, {now}\n\n"


def measured(report, command, environment=None, intro=""):
    report.note(" ".join(command))
    settings = "".join(f"{name}={value} " for name, value in (environment or {}).items())
    return intro + report.program.measured(command, f"{settings}build/verbatim {' '.join(command)}", environment)


def tiny_models(report):
    """The 21 M model in 4 and 16 bits, those that exist."""
    return [shown(report.models[name]) for name in ("tiny-qwen35-4bit", "tiny-qwen35") if name in report.models]


def op_parity(report):
    text = ("## Op parity\n\n"
            "Every op as one call of T rows against T calls of one row on the same inputs: bytes, state and routes "
            "(docs/measuring.md). In greedy mode the products are oneDNN's, which promise nothing: their differences are counted.\n\n")
    text += measured(report, ["parity", "ops", "--target", "all"])
    text += measured(report, ["parity", "ops", "--contract", "greedy", "--ops", "linear"])
    return text + stamp(report)


def chain_parity(report):
    text = ("## Chain parity\n\n"
            "A chain of single tokens against the same tokens as blocks, with every draft accepted, rejected, or some of each: the "
            "outputs of every op, hidden states, logits and recurrent states.\n\n")
    for model in [shown(path) for path in report.models.values()]:
        text += measured(report, ["parity", "chain", "-m", model, "--tokens", "200"])
    return text + stamp(report)


def flips(report):
    arguments = report.arguments
    text = ("## Flip rate\n\n"
            "How often a block chooses another token than the chain does, with the interval (docs/measuring.md). No flips are "
            "reported with the bound 3/n. Of greedy mode's products those are measured that differ most from row to block: oneDNN's "
            "own switch `DNNL_MAX_CPU_ISA` chooses them, as op parity above shows which of its paths happen to be row-invariant on "
            "small matrices.\n\n")
    environment = {"DNNL_MAX_CPU_ISA": arguments.greedy_isa} if arguments.greedy_isa else {}
    runs = [(["flips", "-m", model, "--positions", str(arguments.positions)], {}) for model in tiny_models(report)[:1]]
    runs += [(["flips", "-m", model, "--contract", "greedy", "--positions", str(arguments.greedy_positions)], environment)
             for model in tiny_models(report)]
    # Counts, not times: as many at once as there are cores.
    with concurrent.futures.ThreadPoolExecutor(report.machine.cpus) as pool:
        texts = pool.map(lambda run: measured(report, [*run[0], "--widths", arguments.flip_widths, "-t", "1"], run[1]), runs)
        return text + "".join(texts) + stamp(report)
