"""The registry: correctness before timing, limits, results that two commits are compared by."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.benchmarks.__main__ import main
from tests.benchmarks.registry.categories import CATEGORIES
from tests.benchmarks.registry.measure import Wrong, run
from tests.benchmarks.registry.model import (
    Category,
    Limit,
    Pair,
    Problem,
    Strategy,
    Unavailable,
)
from tests.benchmarks.registry.results import compare, document


def missing(payload: object) -> None:
    raise Unavailable("a peer")


def category(pair: Pair | None = None, **more: Any) -> Category:
    problem = Problem("p", "a problem", lambda stack, folder: 0.002, lambda payload: 10, "items")
    strategies = (
        Strategy("slow", "slow", lambda payload: time.sleep(3 * payload)),
        Strategy("quick", "quick", time.sleep),
        Strategy("peer", "peer", missing),
    )
    return Category("c", "a category", (problem,), strategies, pair, **more)


def test_samples_median_spread_and_ratio() -> None:
    limits = (Limit("slow", "quick", at_most=2.0), Limit("quick", rate=1.0))
    found = run(category(limits=limits), 3)
    slow, quick, peer = found["problems"][0]["strategies"]
    assert len(slow["samples"]) == 3
    assert slow["median"] >= 0.006
    assert slow["quartiles"][0] <= slow["median"] <= slow["quartiles"][1]
    assert slow["rate"] == pytest.approx(10 / slow["median"])
    assert slow["ratio"] == pytest.approx(slow["median"] / quick["median"])
    assert (slow["against"], slow["holds"]) == ("quick", slow["ratio"] <= 2)
    assert (quick["limit"], quick["holds"]) == ("at least 1 a second", True)
    assert peer["skipped"] == "not on this machine"


def test_nothing_is_timed_where_the_results_differ() -> None:
    wrong = Pair("ones and twos", lambda stack, folder: 1, lambda stack, folder: 2)
    with pytest.raises(Wrong, match=r"^c: ones and twos: the results differ$"):
        run(category(wrong), 1)


def test_a_reference_that_is_not_there_is_told() -> None:
    def absent(stack: ExitStack, folder: Path) -> int:
        raise Unavailable("a header")

    found = run(category(Pair("x", lambda stack, folder: 1, absent)), 1)
    assert found["checked"] == "not checked: a header"


def test_every_id_is_its_own() -> None:
    assert len({one.id for one in CATEGORIES}) == len(CATEGORIES)
    for one in CATEGORIES:
        assert len({problem.id for problem in one.problems}) == len(one.problems)
        ids = {strategy.id for strategy in one.strategies}
        assert len(ids) == len(one.strategies)
        assert {limit.strategy for limit in one.limits} <= ids
        assert {limit.against for limit in one.limits} <= {None, *ids}


def results(median: float) -> dict[str, Any]:
    row = {"id": "s", "median": median, "quartiles": [median * 0.95, median * 1.05]}
    problem = {"id": "p", "strategies": [row, {"id": "peer", "skipped": "x"}]}
    return document([{"id": "c", "problems": [problem]}])


@pytest.mark.parametrize(
    ("after", "verdict"), [(1.0, "same"), (1.07, "same"), (1.5, "slower"), (0.5, "faster")]
)
def test_two_commits_are_compared(after: float, verdict: str) -> None:
    (change,), alone = compare(results(1.0), results(after))
    assert (change.name, change.verdict) == ("c/p/s", verdict)
    assert change.ratio == pytest.approx(after)
    assert alone == []


def test_what_only_one_has_is_told() -> None:
    changes, alone = compare(results(1.0), document([]))
    assert (changes, alone) == ([], ["c/p/s"])


def test_the_commands(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["list"]).output
    assert "rank: ranking a space" in shown
    assert "  strategy cuxray: cuxray" in shown
    out = tmp_path / "a.json"
    ran = CliRunner().invoke(main, ["run", "rank", "--samples", "1", "-o", str(out)])
    assert ran.exit_code == 0, ran.output
    assert "checked: costs and the documented formula" in ran.output
    assert json.loads(out.read_text("utf-8"))["commit"]
    compared = CliRunner().invoke(main, ["compare", str(out), str(out)])
    assert compared.exit_code == 0
    assert "rank/ten-thousand/rank: " in compared.output
    assert CliRunner().invoke(main, ["run", "none"]).exit_code == 2
    out.write_text("[]", "utf-8")
    assert CliRunner().invoke(main, ["compare", str(out), str(out)]).exit_code == 1
