"""The page on labelwood and its peers: tables and a chart of figures that were measured before."""

import charts
import rows
import systems
from trainings import table

CUTS = [1, 3, 5]
COLOURS = {"omikuji": "#d55e00", "pecos": "#009e73", "napkinxc": "#cc79a7", "libmultilabel": "#b8860b", "scikit": "#555555"}
OURS = "#0072b2"


def seconds(value):
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def megabytes(value):
    return f"{value / 1e6:.1f}" if value < 1e7 else f"{value / 1e6:.0f}"


def percent(pair, runs):
    mean, spread = pair
    return f"{mean:.2f} ± {spread:.2f}" if runs > 1 else f"{mean:.2f}"


def cells_of(figures):
    """The cells of a set in the order of the kinds of rows, then of the systems."""
    for kind in figures["facts"]["empty"]:
        for system in systems.ALL.values():
            found = figures["cells"].get(f"{system.name} {kind}")
            if found:
                yield system, kind, found


def title(system):
    return f"**{system.name}**" if system.is_ours else system.name


def costs(figures):
    head = ["system", "rows", "fit, CPU s", "with reading and saving", "peak MB", "model MB", "predict, ms a row"]
    head += [f"P@{k}" for k in CUTS]
    lines = []
    for system, kind, found in cells_of(figures):
        if "failed" in found:
            lines.append([title(system), kind, found["failed"], *[""] * (len(head) - 3)])
            continue
        lines.append([
            title(system), kind, seconds(found["fit"]), seconds(found["whole"]), f"{found['memory'] / 1e6:.0f}",
            megabytes(found["model"]), f"{found['predict']:.3f}",
            *(percent(found["metrics"][f"p@{k}"], found["runs"]) for k in CUTS),
        ])
    return table(head, lines)


def more_metrics(figures):
    names = ["ndcg@3", "ndcg@5", "psp@1", "psp@3", "psp@5"]
    head = ["system", "rows", *(name.replace("ndcg", "nDCG").replace("psp", "PSP") for name in names)]
    lines = [
        [title(system), kind, *(percent(found["metrics"][name], found["runs"]) for name in names)]
        for system, kind, found in cells_of(figures) if "failed" not in found
    ]
    return "<details><summary>nDCG and PSP</summary>\n\n" + table(head, lines) + "\n\n</details>"


def times(value):
    return "" if value is None else f"{value:.2f}"


def gap(found):
    """A difference with its interval; bold where the interval does not hold 0."""
    mean, low, high = found
    words = f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
    return f"**{words}**" if low > 0 or high < 0 else words


def apart(figures):
    head = ["ours against", "rows", "fit", "whole", "predict", "model"] + [f"P@{k}" for k in CUTS]
    lines = []
    for one in figures["differences"]:
        ratios = [times(one["ratios"][name]) for name in ["fit", "whole", "predict", "model"]]
        gaps = [gap(one["points"][f"p@{k}"]) for k in CUTS]
        lines.append([f"**{one['ours']}** against {one['peer']}", one["rows"], *ratios, *gaps])
    return table(head, lines)


def glance(figures):
    """Every peer against its counterpart on every set, on the rows that suit the peer best."""
    names = list(figures["sets"])
    lines = []
    for peer in systems.PEERS:
        line = [f"**{peer.against}** against {peer.name}"]
        for name in names:
            found = figures["sets"][name]
            pairs = [one for one in found["differences"] if one["peer"] == peer.name]
            if not pairs:
                line.append("")
                continue
            best = max(pairs, key=lambda one: found["cells"][f"{peer.name} {one['rows']}"]["metrics"]["p@1"])
            cost = best["ratios"]["fit"] or best["ratios"]["whole"]
            mean, low, high = best["points"]["p@1"]
            points = f"**{mean:+.1f}**" if low > 0 or high < 0 else f"{mean:+.1f}"
            line.append(f"{cost:.2f}x, {points}")
        lines.append(line)
    return table(["ours against", *names], lines)


def facts_of(figures):
    facts = figures["facts"]
    sizes = f"{facts['instances']['train']:,} training and {facts['instances']['test']:,} test rows, "
    words = sizes + f"{facts['features']:,} features, {facts['labels']:,} labels."
    kinds = list(facts["empty"])
    if "unit" not in kinds:
        words += " The rows have length 1 already and are no counts, so there is one kind of them."
    elif "weighted" not in kinds:
        words += " The values are no counts, so labelwood does not weigh them."
    train, test = (facts["empty"]["raw"][part] for part in rows.NAMES)
    if train or test:
        words += f" {train:,} training and {test:,} test rows have no features."
    if facts["blank"]["raw"]:
        words += f" omikuji cannot read the {facts['blank']['raw']:,} training rows with neither labels nor features"
        words += " and was trained without them."
    runs = {found["runs"] for _, _, found in cells_of(figures) if "failed" not in found}
    if runs == {1}:
        words += " One run of each system."
    elif runs:
        words += f" {min(runs)} to {max(runs)} runs; lines without ± are of one." if len(runs) > 1 else f" {min(runs)} runs."
    return words


def all_systems():
    lines = [[title(system), system.words, f"**{system.against}**" if system.against else ""] for system in systems.ALL.values()]
    return table(["system", "settings", "set against"], lines).replace("| --: | --: |", "|---|---|", 1)


def page(words, figures):
    sections = []
    for name, found in figures["sets"].items():
        sections += [f"## {name}", facts_of(found), costs(found)]
        if found["differences"]:
            sections += ["Ours as a multiple of theirs, and points ahead:", apart(found)]
        sections.append(more_metrics(found))
    machine = figures["conditions"]
    starts = [
        found["start_memory"] / 1e6
        for one in figures["sets"].values() for found in one["cells"].values() if "start_memory" in found
    ]
    places = {
        "machine": f"{machine['processor']}, {machine['cores']} cores; {machine['threads']} threads",
        "limits": f"{machine['seconds']} CPU seconds and {machine['gigabytes']} GiB",
        "packages": ", ".join(f"{name} {version}" for name, version in machine["packages"].items()),
        "start": f"{min(starts):.0f} to {max(starts):.0f} MB" if starts else "unknown",
        "glance": glance(figures),
        "systems": all_systems(),
        "kinds": "\n".join(f"- **{kind}**: {words}" for kind, words in rows.KINDS.items()),
        "sets": "\n\n".join(sections),
    }
    for place, text in places.items():
        words = words.replace(f"{{{{{place}}}}}", text)
    return words


def chart(figures):
    """P@1 against the CPU seconds of fitting, each system on the rows that suit it best."""
    marks = {}
    for at, system in enumerate(systems.ALL.values(), start=1):
        family = system.name.split("-")[0]
        colour = OURS if system.is_ours else COLOURS.get(family, "#555555")
        marks[system.name] = charts.mark(str(at), system.name, colour, filled=system.is_ours)
    panels = []
    for name, found in figures["sets"].items():
        best = {}
        for system, _, one in cells_of(found):
            if "failed" not in one:
                best[system.name] = max(best.get(system.name, one), one, key=lambda cell: cell["metrics"]["p@1"])
        points = [(one["fit"] or one["whole"], one["metrics"]["p@1"][0], marks[system]) for system, one in best.items()]
        if points:
            # Ours come last, on top of the others.
            panels.append(charts.points(name, "CPU seconds", "P@1", points[::-1]))
    return charts.draw(panels, list(marks.values())) if panels else ""
