"""Line and point charts as SVG, several panels to a picture, without any library.

The background is white and the text dark, so that a picture reads the same on a light and on a dark page.
"""

import math
from xml.sax.saxutils import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
SHADES = ["#7ad151", "#22a884", "#2a788e", "#414487", "#440154"]
TEXT, GRID = "#333333", "#dddddd"

COLUMNS = 3
WIDTH, HEIGHT = 270, 200
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 30, 46
LEGEND = 18


def line(name, points, colour, dashed=False, ranges=None, joined=True):
    """A series of (x, y); ranges are the (least, greatest) y of each point."""
    return {"name": name, "points": points, "colour": colour, "dashed": dashed, "ranges": ranges, "joined": joined}


def mark(sign, name, colour, filled):
    """How a system is drawn in a chart of points: a sign in a circle. The picture has one legend of all marks."""
    return {"sign": sign, "name": name, "colour": colour, "filled": filled}


def panel(title, x_label, y_label, lines, names=None):
    """One chart of lines. Its x axis is logarithmic, or has the given names at 0, 1, 2..."""
    return {"title": title, "x": x_label, "y": y_label, "lines": lines, "names": names, "points": []}


def points(title, x_label, y_label, found):
    """One chart of points (x, y, mark), its x axis logarithmic."""
    lines = [line("", [(x, y)], one["colour"], joined=False) for x, y, one in found]
    return panel(title, x_label, y_label, lines) | {"points": found}


def draw(panels, marks=()):
    """A picture of the panels, row by row, each with its legend below; marks have theirs at the bottom."""
    columns = min(COLUMNS, len(panels))
    legend_rows = 0 if marks else max(len(legend_lines(one)) for one in panels)
    height = HEIGHT + TOP + BOTTOM + legend_rows * LEGEND + 16
    width = WIDTH + LEFT + RIGHT
    rows = math.ceil(len(panels) / columns)
    whole = rows * height + math.ceil(len(marks) / columns) * LEGEND + (16 if marks else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * width} {whole}" '
        f'font-family="sans-serif" font-size="12" fill="{TEXT}">',
        '<rect width="100%" height="100%" rx="6" fill="#ffffff"/>',
    ]
    for at, one in enumerate(panels):
        x, y = at % columns * width, at // columns * height
        parts.append(f'<g transform="translate({x + LEFT} {y + TOP})">')
        parts.extend(draw_panel(one))
        parts.append("</g>")
    for at, one in enumerate(marks):
        x, y = at % columns * width + LEFT, rows * height + at // columns * LEGEND + 8
        parts.extend([*draw_mark(x, y, one), text(x + 16, y + 4, one["name"], anchor="start")])
    return "\n".join([*parts, "</svg>", ""])


def draw_panel(one):
    xs = [x for series in one["lines"] for x, _ in series["points"]]
    ys = [y for series in one["lines"] for _, y in series["points"]]
    ys += [y for series in one["lines"] for pair in series["ranges"] or [] for y in pair]
    ticks = y_ticks(min(ys), max(ys))
    low, high = ticks[0], ticks[-1]

    if one["names"]:
        def place(x):
            return (x + 0.5) / len(one["names"]) * WIDTH
        x_ticks = list(enumerate(one["names"]))
    else:
        least, span = math.log(min(xs)), max(math.log(max(xs)) - math.log(min(xs)), 1e-6)

        def place(x):
            return 8 + (math.log(x) - least) / span * (WIDTH - 16)
        shown = round_numbers(min(xs), max(xs)) if one["points"] else sorted(set(xs))
        x_ticks = [(x, f"{x:g}") for x in apart(shown, place)]

    def rise(y):
        return HEIGHT - (y - low) / (high - low) * HEIGHT

    yield text(WIDTH / 2, -12, one["title"], weight="bold")
    for y in ticks:
        yield f'<path d="M0 {rise(y):.1f}H{WIDTH}" stroke="{GRID}"/>'
        yield text(-6, rise(y) + 4, f"{y:g}", anchor="end")
    for x, name in x_ticks:
        yield f'<path d="M{place(x):.1f} {HEIGHT}v4" stroke="{TEXT}"/>'
        yield text(place(x), HEIGHT + 17, name)
    yield f'<path d="M0 0V{HEIGHT}H{WIDTH}" fill="none" stroke="{TEXT}"/>'
    yield text(WIDTH / 2, HEIGHT + 34, one["x"])
    yield f'<text transform="translate(-38 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(one["y"])}</text>'
    if one["points"]:
        for x, y, sign in one["points"]:
            yield from draw_mark(place(x), rise(y), sign)
        return
    for series in one["lines"]:
        yield from draw_line(series, place, rise)
    yield from draw_legend(one)


def draw_mark(x, y, one):
    fill, ink = (one["colour"], "#ffffff") if one["filled"] else ("#ffffff", one["colour"])
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7.5" fill="{fill}" fill-opacity="0.85" stroke="{one["colour"]}"/>'
    yield f'<text x="{x:.1f}" y="{y + 3.5:.1f}" text-anchor="middle" font-size="9" fill="{ink}">{escape(one["sign"])}</text>'


def draw_line(series, place, rise):
    colour = series["colour"]
    points = [(place(x), rise(y)) for x, y in series["points"]]
    if series["joined"]:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashes = ' stroke-dasharray="5 4"' if series["dashed"] else ""
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
    for (x, _), (least, greatest) in zip(points, series["ranges"] or []):
        yield f'<path d="M{x:.1f} {rise(least):.1f}V{rise(greatest):.1f}" stroke="{colour}" stroke-width="2"/>'
    if not series["dashed"]:
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)


def legend_width(name):
    return 32 + 7 * len(name)


def legend_lines(one):
    """The series of a panel, in lines that fit its width."""
    lines, used = [[]], 0
    for series in one["lines"]:
        if used + legend_width(series["name"]) > WIDTH + LEFT - 10 and lines[-1]:
            lines.append([])
            used = 0
        lines[-1].append(series)
        used += legend_width(series["name"])
    return lines


def draw_legend(one):
    y = HEIGHT + BOTTOM + 10
    for row in legend_lines(one):
        x = (WIDTH - LEFT / 2 - sum(legend_width(series["name"]) for series in row)) / 2
        for series in row:
            dashes = ' stroke-dasharray="5 4"' if series["dashed"] else ""
            yield f'<path d="M{x:.1f} {y}h16" stroke="{series["colour"]}" stroke-width="3"{dashes}/>'
            yield text(x + 20, y + 4, series["name"], anchor="start")
            x += legend_width(series["name"])
        y += LEGEND


def text(x, y, words, anchor="middle", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def y_ticks(low, high):
    """Four to eight round numbers around the values."""
    rough = max(high - low, 1e-6) / 5
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in [1, 2, 5, 10] if unit * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(at * step, 10) for at in range(first, max(last, first + 1) + 1)]


def round_numbers(low, high):
    """1, 2 and 5 times the powers of ten from low to high."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [factor * 10.0 ** power for power in powers for factor in [1, 2, 5]]
    return [value for value in found if low <= value <= high] or [low]


def apart(values, place):
    """Those of the sorted values whose names do not run into each other; the last one always."""
    kept = [values[-1]]
    for value in reversed(values[:-1]):
        if place(kept[-1]) - place(value) >= 18 + 3.5 * (len(f"{value:g}") + len(f"{kept[-1]:g}")) / 2:
            kept.append(value)
    return kept
