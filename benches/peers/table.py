"""Formats results as a Markdown table and a plot."""

import math

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

import engines
import requests
from engines.casefilter import CACHED

SCAN_AIM, INDEXED_AIM, MEAN_AIM = 30, 10, 500


def number(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def median(result, engine, name):
    return result["engines"].get(engine, {}).get("requests", {}).get(name, {}).get("median_us")


def best(result, kind, name):
    times = [time for engine in kind if (time := median(result, engine, name))]
    return min(times) if times else None


def ratios(result, kind, of="casefilter"):
    """Returns for each request how many times longer the best of these engines takes than casefilter."""
    found = {}
    for name in requests.titles(result):
        own, other = median(result, of, name), best(result, kind, name)
        if own and other:
            found[name] = other / own
    return found


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def header(names):
    return row(names) + row(["---"] + ["---:"] * (len(names) - 1))


def about(machine):
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, L3 {machine['l3']}, "
        f"{machine['system']}, Python {machine['python']}; load average at the start {machine['load_average']}"
    )


def with_empty_caches(result):
    """Returns the same results with the times for empty caches."""
    def cold(line):
        return line | {"median_us": line.get("cold_us")}

    found = {
        engine: found | {"requests": {name: cold(line) for name, line in found["requests"].items()}}
        for engine, found in result["engines"].items()
    }
    return result | {"engines": found}


def times_and_ratios(result):
    names = list(result["engines"])
    scan, indexed = ratios(result, engines.SCAN), ratios(result, engines.INDEXED)
    text = header(["request", "matched", *names, "best scan / casefilter", "best indexed / casefilter"])
    for name, title in requests.titles(result).items():
        times = [number(median(result, engine, name)) for engine in names]
        text += row(
            [f"{name} {title}", f"{result['matched'][name]:,}", *times, number(scan.get(name)), number(indexed.get(name))]
        )
    means = [number(mean([time for name in requests.titles(result) if (time := median(result, engine, name))])) for engine in names]
    return text + row(["geometric mean", "", *means, number(mean(scan.values())), number(mean(indexed.values()))])


def table(result, plot):
    scan, indexed = ratios(result, engines.SCAN), ratios(result, engines.INDEXED)
    text = f"{result['cases']:,} cases, shape `{result['shape']}`, one thread each, median µs.\n\n"
    text += times_and_ratios(result) + "\n"
    for engine, found in result["engines"].items():
        bytes_per_case = f", {found['bytes_per_case']} bytes a case" if "bytes_per_case" in found else ""
        source = f" from {found['from']}" if "from" in found else ""
        text += f"- **{engine}** {found['version']}: {found['note']}. Loaded in {found['load_s']} s{source}{bytes_per_case}.\n"
    text += f"\n{about(result['machine'])}. {result['note']}".rstrip() + "\n"
    if result.get("failed"):
        text += f"\n**Not compared**, and so not among the best: {'; '.join(result['failed'])}.\n"
    bars(result, plot)
    text += f"\n![times]({plot.name})\n\n" + verdict(scan, indexed, every(result, engines.SCAN))
    if CACHED in result["engines"]:
        scan, indexed = ratios(result, engines.SCAN, CACHED), ratios(result, engines.INDEXED, CACHED)
        text += "\nWith the compiled filter from a cache:\n\n"
        text += verdict(scan, indexed, every(result, engines.SCAN, CACHED))
    cold = with_empty_caches(result)
    text += "\n## With empty caches\n\n256 MiB of other memory were read before each run. A larger cache may still hold a part of what a request reads.\n\n"
    text += times_and_ratios(cold) + "\n"
    text += verdict(ratios(cold, engines.SCAN), ratios(cold, engines.INDEXED), every(cold, engines.SCAN))
    return text


def every(result, kind, of="casefilter"):
    """Returns how many times longer each engine takes for each request, in one list."""
    pairs = [
        (median(result, of, name), median(result, engine, name))
        for name in requests.titles(result)
        for engine in kind
    ]
    return [other / own for own, other in pairs if own and other]


def verdict(scan, indexed, all_scans):
    """Returns the lines that meet the aim and those that miss it."""
    text = ""
    for ratio, aim, kind in ((scan, SCAN_AIM, "best scan engine"), (indexed, INDEXED_AIM, "better indexed engine")):
        if ratio:
            missed = [f"{name} ({number(value)})" for name, value in ratio.items() if value < aim]
            told = f"missed by {', '.join(missed)}" if missed else "met on every line"
            text += f"- at least {aim} times faster than the {kind}: {told} ({len(ratio) - len(missed)} of {len(ratio)} met)\n"
    if scan:
        value = mean(scan.values())
        text += f"- at least {MEAN_AIM} times in the geometric mean over the best scan engine: "
        text += f"{'met' if value >= MEAN_AIM else 'missed'}, {number(value)}; over all of them "
        value = mean(all_scans)
        text += f"{'met' if value >= MEAN_AIM else 'missed'}, {number(value)}\n"
    return text


def bars(result, path):
    names = list(result["engines"])
    figure, axes = plt.subplots(figsize=(10, 4.2), dpi=90)
    width = 0.85 / len(names)
    for place, engine in enumerate(names):
        times = [median(result, engine, name) or math.nan for name in requests.titles(result)]
        axes.bar([index + place * width for index in range(len(times))], times, width, label=engine)
    axes.set_yscale("log")
    axes.set_ylabel("median µs")
    axes.set_xticks([index + 0.4 for index in range(len(requests.titles(result)))], list(requests.titles(result)))
    axes.set_title(f"{result['cases']:,} cases, one thread: less is better")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(ncols=len(names), fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.08), frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def growth(result, plot):
    sizes = list(result["sizes"])
    text = f"casefilter {result['version']} alone, shape `{result['shape']}`, one thread, median µs"
    text += "; then with empty caches: 256 MiB of other memory were read before each run.\n\n"
    numbers = [f"{int(size):,}" for size in sizes]
    text += header(["request", *numbers, "last / first", *(f"{number}, empty caches" for number in numbers), "last / first"])

    def growing(name, key):
        return [result["sizes"][size]["requests"][name].get(key) for size in sizes]

    times = {name: growing(name, "median_us") for name in requests.titles(result)}
    for name, values in times.items():
        cells = []
        for each in (values, growing(name, "cold_us")):
            ratio = each[-1] / each[0] if each[0] and each[-1] else None
            cells += [*map(number, each), number(ratio)]
        text += row([f"{name} {requests.titles(result)[name]}", *cells])
    for key, title in (("bytes_per_case", "bytes a case"), ("load_s", "load, s")):
        values = [result["sizes"][size]["summary"][key] for size in sizes]
        text += row([title, *map(number, values), number(values[-1] / values[0]), *[""] * (len(sizes) + 1)])
    growth_of_rows = int(sizes[-1]) / int(sizes[0])
    text += f"\nThe rows grow {growth_of_rows:g} times. {about(result['machine'])}. {result['note']}".rstrip() + "\n"
    figure, axes = plt.subplots(figsize=(7, 4.2), dpi=90)
    for place, (name, values) in enumerate(times.items()):
        axes.plot([int(size) for size in sizes], values, "o-" if name[0] == "c" else "s--", color=f"C{place % 10}", label=name)
    axes.set(xscale="log", yscale="log", xlabel="cases", ylabel="median µs", title="growth")
    axes.grid(alpha=0.3)
    axes.legend(ncols=2, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(plot)
    plt.close(figure)
    return text + f"\n![growth]({plot.name})\n"
