"""What reading a file costs, as ratios to a bare tree-sitter parse of it in the same run.

    python tests/benchmarks/bench_parse.py DIRECTORY...

Processor time of one core. `facts` is all that `occlsp.source.parse` gives; `edit` is parsing
again after a line was put into the largest file, at its beginning, middle and end.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import tree_sitter
import tree_sitter_cuda

from occlsp.source.parse import parse, reparse

ROUNDS = 3


def cost(function: Callable[[bytes], object], text: bytes) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        before = time.process_time()
        function(text)
        best = min(best, time.process_time() - before)
    return best


def main() -> int:
    paths = [
        path
        for root in sys.argv[1:]
        for path in sorted(Path(root).rglob("*"))
        if path.suffix in {".cu", ".cuh"} and path.is_file() and path.stat().st_size
    ]
    if not paths:
        print("no CUDA files there; usage: bench_parse.py DIRECTORY...", file=sys.stderr)
        return 2
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    texts = [path.read_bytes() for path in paths]
    gc.freeze()
    bare = [cost(parser.parse, text) for text in texts]
    facts = [cost(parse, text) for text in texts]
    ratios = sorted(mine / theirs for mine, theirs in zip(facts, bare, strict=True))
    size = sum(map(len, texts))
    print(f"{len(texts)} files, {size / 1e6:.1f} MB")
    print(f"bare tree-sitter parse: {sum(bare):.3f} s, {size / 1e6 / sum(bare):.1f} MB/s")
    print(f"facts: {sum(facts):.3f} s, {sum(facts) / sum(bare):.2f} times that")
    high = ratios[len(ratios) * 95 // 100]
    print(f"by file: median {statistics.median(ratios):.2f}, 95th percentile {high:.2f}")
    text = max(texts, key=len)
    before = reparse(None, text)
    for share in (0.02, 0.5, 0.98):
        line = text.find(b"\n", int(len(text) * share))
        edited = text[:line] + b"\n int one_line;" + text[line:]
        took = cost(lambda edited: reparse(before, edited), edited)
        print(f"edit at {share:.0%} of {len(text) / 1e3:.0f} KB: {took * 1e3:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
