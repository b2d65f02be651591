"""The sections of report.py that `verbatim bench` measures: the machine's limits and the cost of exactness."""

from report_contract import measured, stamp, tiny_models
from report_figures import shown


def shapes(text):
    """Options of random weights for "0.8b:bf16,0.8b:q4"."""
    pairs = [pair.split(":") for pair in text.split(",") if pair]
    return [["--shape", shape, "--format", weights] for shape, weights in pairs]


def limits(report):
    """Real sizes with random weights, and the tiny model."""
    text = ("## Speed against the machine's limits\n\n"
            "`verbatim bench` measures read bandwidth and arithmetic peaks in the same interleaved run as the model's steps "
            "and says which share of the limit each step reaches, and what bounds it (docs/benchmarking.md). The 0.8B tables "
            "are random weights of that shape, since no trained checkpoint is in the repository: their speed is that of a "
            "trained one, but no draft is ever right.\n\n")
    runs = shapes(report.arguments.shapes)
    runs += [["-m", shown(path)] for name, path in report.models.items() if name == "tiny-qwen35-4bit"]
    for run in runs:
        text += measured(report, ["bench", *run, "--rounds", str(report.arguments.rounds)])
    return text + stamp(report)


def exactness(report):
    """Exact and greedy mode side by side: the tables of `verbatim bench --against greedy`."""
    text = ("## Cost of exactness\n\n"
            "`verbatim bench --against greedy` loads the model twice, with the products that keep the contract and with oneDNN's, "
            "and times both in turn in one run (docs/benchmarking.md, docs/decisions/0011). oneDNN multiplies quantized weights "
            "dequantized, as it has no product with a scale per group.\n\n")
    few = ["--prompt-tokens", "128", "--decode-tokens", "33"]  # the large shapes then take a minute or two each
    large = [run + few for run in shapes(report.arguments.exactness_shapes)]
    for run in [["-m", model] for model in tiny_models(report)] + large:
        text += measured(report, ["bench", *run, "--against", "greedy", "--rounds", str(report.arguments.rounds)])
    return text + stamp(report)
