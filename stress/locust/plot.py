"""Lines as SVG, over time or another axis, with nothing but the standard library."""

from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 44, 30
COLOURS = ["#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce"]


@dataclass(frozen=True)
class Line:
    """A named line of points (x, y)."""

    name: str
    points: list[tuple[float, float]]


def nice_top(value: float) -> float:
    """The next round number from `value` up, so that the axis reads well."""
    if value <= 0:
        return 1.0
    power = 10 ** (len(str(int(value))) - 1) if value >= 1 else 0.1
    return next(power * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if power * step >= value)


def number(value: float) -> str:
    """A tick's text."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def chart(title: str, lines: list[Line], ticks: list[tuple[float, str]] | None = None) -> str:
    """One chart as an `<svg>` element; over seconds, unless the x axis has other ticks."""
    points = [point for line in lines for point in line.points] or [(0.0, 0.0)]
    right, top = max(x for x, _ in points) or 1.0, nice_top(max(y for _, y in points))

    def x(value: float) -> float:
        return LEFT + value / right * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="18" font-weight="600">{escape(title)}</text>']
    for tick in (0, top / 2, top):
        parts.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#d4d4d4"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick, name in ticks or [(tick, f"{tick:.0f} s") for tick in (0, right / 2, right)]:
        parts.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{name}</text>')
    for index, line in enumerate(lines):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{LEFT + 130 * index}" y="36" fill="{colour}">{escape(line.name)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="#333">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>'
    )
