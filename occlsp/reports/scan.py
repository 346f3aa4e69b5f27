"""Asks the preprocessor alone which headers a unit needs that are not there: 0.1 to 0.6 s."""

from __future__ import annotations

import os
from pathlib import Path

from occlsp.reports.compile import Context, scratch_folder, whose_content_counts
from occlsp.reports.dependencies import read_scan
from occlsp.reports.flags import Filtered
from occlsp.reports.invocation import prepare_scan
from occlsp.reports.run import run
from occlsp.reports.toolchain import clean_environment


def missing_headers(
    context: Context, unit: Path, arch: str, flags: Filtered, text: bytes | None
) -> list[str]:
    """The headers that the preprocessor does not find; empty also where it does not say."""
    with scratch_folder(context.cache) as scratch:
        invocation = prepare_scan(context.compiler, unit, arch, flags, scratch, text)
        env = os.environ if context.env is None else context.env
        run(
            invocation.argv,
            cwd=scratch,
            env=clean_environment(env, context.workspaces, scratch),
            timeout=context.timeout,
            cancelled=context.cancelled,
        )
        found, missing = read_scan(invocation.dependency_file)
        if context.reads is not None:
            read = (path for path in found if not path.startswith(str(scratch) + os.sep))
            context.reads.files.update(whose_content_counts(read, context.compiler))
        return missing
