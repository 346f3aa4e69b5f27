"""Runs a category: correctness first, then samples of all strategies in turn."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.benchmarks.registry.model import Category, Limit, Problem, Strategy, Unavailable

Say = Callable[[str], None]


class Wrong(Exception):
    """A strategy does not give what the reference gives: nothing is timed."""


def run(category: Category, samples: int, say: Say = lambda text: None) -> dict[str, Any]:
    """The results of a category as JSON data. Raises `Wrong`."""
    checked = _check(category)
    say(f"{category.id}: {category.label} ({checked})")
    problems = [_problem(category, problem, samples, say) for problem in category.problems]
    return {
        "id": category.id,
        "label": category.label,
        "checked": checked,
        "problems": problems,
    }


def _check(category: Category) -> str:
    pair = category.pair
    if pair is None:
        return "no correctness pair"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            ours, theirs = pair.strategy(stack, folder), pair.reference(stack, folder)
        except Unavailable as missing:
            return f"not checked: {missing}"
    if ours != theirs:
        raise Wrong(f"{category.id}: {pair.label}: the results differ")
    return f"checked: {pair.label}"


def _problem(category: Category, problem: Problem, samples: int, say: Say) -> dict[str, Any]:
    found: dict[str, Any] = {"id": problem.id, "label": problem.label, "unit": problem.unit}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            payload = problem.make(stack, folder)
        except Unavailable as missing:
            say(f"  {problem.id}: left out: {missing}")
            return {**found, "skipped": str(missing), "strategies": []}
        found["work"] = problem.work(payload)
        wanted = [s for s in category.strategies if s.problems is None or problem.id in s.problems]
        times = _times(wanted, payload, samples)
    medians = {name: statistics.median(some) for name, some in times.items() if some}
    rows = [_row(category, s, times[s.id], found["work"], medians) for s in wanted if s.id in times]
    rows += [
        {"id": s.id, "label": s.label, "skipped": "not on this machine"}
        for s in wanted
        if s.id not in times
    ]
    for row in rows:
        say(f"  {problem.id}: {_line(row, problem.unit)}")
    return {**found, "strategies": rows}


def _times(strategies: list[Strategy], payload: Any, samples: int) -> dict[str, list[float]]:
    """Seconds of each, in turn, so that noise of the machine hits all alike. The first run of
    each warms up and does not count."""
    times: dict[str, list[float]] = {}
    for strategy in strategies:
        try:
            strategy.run(payload)
        except Unavailable:
            continue
        times[strategy.id] = []
    able = [strategy for strategy in strategies if strategy.id in times]
    for _ in range(samples):
        for strategy in able:
            started = time.perf_counter()
            strategy.run(payload)
            times[strategy.id].append(time.perf_counter() - started)
    return times


def _row(
    category: Category,
    strategy: Strategy,
    times: list[float],
    work: float,
    medians: dict[str, float],
) -> dict[str, Any]:
    median = medians[strategy.id]
    low, high = _quartiles(times)
    row: dict[str, Any] = {
        "id": strategy.id,
        "label": strategy.label,
        "samples": times,
        "median": median,
        "quartiles": [low, high],
        "spread": (high - low) / median if median else 0.0,
        "rate": work / median if median else None,
    }
    for limit in category.limits:
        if limit.strategy == strategy.id:
            row.update(_against(limit, row, medians))
    return row


def _against(limit: Limit, row: dict[str, Any], medians: dict[str, float]) -> dict[str, Any]:
    if limit.rate is not None:
        return {"limit": f"at least {limit.rate:g} a second", "holds": row["rate"] >= limit.rate}
    if limit.against is None:
        return {"limit": f"at most {limit.at_most:g} s", "holds": row["median"] <= limit.at_most}
    if limit.against not in medians:
        return {}
    ratio = row["median"] / medians[limit.against]
    told: dict[str, Any] = {"against": limit.against, "ratio": ratio}
    if limit.at_most is not None:
        told |= {"limit": f"at most {limit.at_most:g} × {limit.against}"}
        told["holds"] = ratio <= limit.at_most
    return told


def _quartiles(times: list[float]) -> tuple[float, float]:
    if len(times) < 2:
        return times[0], times[0]
    low, _, high = statistics.quantiles(times, n=4)
    return low, high


def _line(row: dict[str, Any], unit: str) -> str:
    if "skipped" in row:
        return f"{row['label']}: left out: {row['skipped']}"
    return ", ".join(_parts(row, unit))


def _parts(row: dict[str, Any], unit: str) -> Iterator[str]:
    yield f"{row['label']}: {seconds(row['median'])} ± {row['spread'] * 50:.0f} %"
    if row["rate"]:
        yield f"{row['rate']:.4g} {unit} a second"
    if "ratio" in row:
        yield f"{row['ratio']:.2f} × {row['against']}"
    if "holds" in row:
        yield f"{row['limit']}: {'holds' if row['holds'] else 'DOES NOT HOLD'}"


def seconds(value: float) -> str:
    """ "12.3 ms"."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
