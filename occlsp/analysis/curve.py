"""The block-size curve as a picture, for clients that show pictures in hovers."""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Any

from occlsp.analysis.cases import Case
from occlsp.analysis.join import Row
from occlsp.analysis.present import sweep_candidates

WIDTH, HEIGHT = 420, 150
GREY, BLUE, ORANGE = "#8a8a8a", "#4a9eff", "#ff8c42"
"""Readable on light and dark backgrounds alike: a picture does not know the theme."""

Points = tuple[tuple[int, float], ...]


def picture(row: Row, case: Case) -> list[str]:
    """Occupancy against block size as a Markdown image with the picture in it; nothing where a
    resource is not known. The same curve is drawn once."""
    if case.is_bound:
        return []
    points = tuple(
        (one.block, round(100 * one.result.occupancy, 1)) for one in sweep_candidates(row, case)
    )
    if len(points) < 2:
        return []
    return [_image(points, case.threads, round(100 * case.result.occupancy, 1))]


def warm() -> None:
    """Loads the chart library, which takes a tenth of a second: for a thread at idle time."""
    _image(((32, 50.0), (64, 100.0)), 32, 50.0)


@lru_cache(maxsize=64)
def _image(points: Points, block: int, share: float) -> str:
    svg = base64.b64encode(_svg(points, block, share)).decode()
    return f"![Occupancy by block size](data:image/svg+xml;base64,{svg})"


def _svg(points: Points, block: int, share: float) -> bytes:
    import pygal
    from pygal.style import Style

    style = Style(
        background="transparent",
        plot_background="transparent",
        foreground=GREY,
        foreground_strong=GREY,
        foreground_subtle=GREY,
        colors=(BLUE, ORANGE),
        label_font_size=11,
        major_label_font_size=11,
    )
    chart: Any = pygal.XY(
        style=style,
        width=WIDTH,
        height=HEIGHT,
        explicit_size=True,
        show_legend=False,
        js=[],
        margin=6,
        dots_size=0,
        range=(0, 100),
        x_labels=[0, 256, 512, 768, 1024],
        y_labels=[0, 50, 100],
        value_formatter=lambda value: f"{value:g}",
    )
    chart.add("occupancy in percent", list(points), show_dots=False)
    chart.add("now", [{"value": (block, share)}], dots_size=5)
    svg: bytes = chart.render(disable_xml_declaration=False)
    return svg
