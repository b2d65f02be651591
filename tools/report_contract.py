"""The sections of report.py on the contract: what `verbatim parity` and `verbatim flips` print. Not measurements of speed."""

import datetime

from report_figures import shown

# The greedy mode's products as this processor has them, and as one without bf16 instructions has them: oneDNN's own switch.
VENDOR_PATHS = (("", {}), ("with `DNNL_MAX_CPU_ISA=AVX512_CORE`, so that products are binary32", {"DNNL_MAX_CPU_ISA": "AVX512_CORE"}))


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
    positions, greedy = report.arguments.positions, report.arguments.greedy_positions
    text = ("## Flip rate\n\n"
            "How often a block chooses another token than the chain does, with the interval (docs/measuring.md). No flips are "
            "reported with the bound 3/n.\n\n")
    for model in tiny_models(report)[:1]:
        text += measured(report, ["flips", "-m", model, "--positions", str(positions)])
    for model in tiny_models(report):
        for intro, environment in VENDOR_PATHS:
            text += measured(report, ["flips", "-m", model, "--contract", "greedy", "--positions", str(greedy)], environment,
                             f"Greedy {intro}:\n\n" if intro else "")
    return text + stamp(report)
