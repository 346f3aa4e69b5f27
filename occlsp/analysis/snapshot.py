"""One consistent state of everything that an answer rests on. Immutable; new states share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from occlsp.analysis.advice.matching import Measured
from occlsp.analysis.architecture import DEFAULT, Architectures
from occlsp.analysis.entries import EntryIndex
from occlsp.analysis.freshness import History
from occlsp.analysis.sources import SourceFile, Sources
from occlsp.analysis.whatif import WhatIf
from occlsp.config import Settings
from occlsp.reports.facts import Report

Trust = Literal["trusted", "untrusted", "unknown"]
NO_ARCHITECTURES = Architectures((DEFAULT,), "the default, as nothing names an architecture")


@dataclass(frozen=True)
class Snapshot:
    """Sources, reports, settings, architectures, GPU, trust: what handlers work on.

    Make one by `Snapshot.of`, then further ones by the `with_…` methods, which keep every index
    that the change does not touch. What is computed for a file is kept in the snapshot.
    """

    sources: Sources = field(default_factory=Sources)
    entries: EntryIndex = field(default_factory=EntryIndex)
    settings: Settings = field(default_factory=Settings)
    architectures: Architectures = NO_ARCHITECTURES
    local_gpu: str | None = None
    """The model in this machine, where the settings name none."""
    history: History = field(default_factory=History)
    trust: Trust = "unknown"
    whatif: tuple[WhatIf, ...] = ()
    """The compiler's answers at hand, for hovers and titles."""
    measured: Measured = field(default_factory=Measured)
    """Measured runs (setting `measurements`)."""
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Answers already computed from exactly this state."""

    @property
    def gpu(self) -> str | None:
        """A GPU model; None: waves and cooperative launches are not judged."""
        return self.settings.gpu or self.local_gpu

    @staticmethod
    def of(
        files: tuple[SourceFile, ...] = (),
        reports: tuple[Report, ...] = (),
        settings: Settings | None = None,
        architectures: Architectures = NO_ARCHITECTURES,
        gpu: str | None = None,
        history: History | None = None,
        trust: Trust = "unknown",
    ) -> Snapshot:
        """A snapshot from its parts."""
        settings = settings if settings is not None else Settings()
        return Snapshot(
            Sources.of(files),
            EntryIndex.of(reports),
            settings,
            architectures,
            gpu,
            history if history is not None else History(),
            trust,
        )

    def with_file(
        self, file: SourceFile, time: float | None = None, *, before: SourceFile | None = None
    ) -> Snapshot:
        """After one file changed. `time` (seconds since the epoch) is when: the file's
        modification at first sight, now for an edit; None leaves the ages of logs unknown.
        `before`: the file when less of its includes was known, where that is all that changed
        for those of its kernels whose text is the same."""
        history = self.history if time is None else self.history.seen(file.facts, time)
        if before is not None:
            history = history.understood(before, file)
        return self._with(sources=self.sources.with_file(file), history=history)

    def without_file(self, path: str) -> Snapshot:
        """After a file went away."""
        return self._with(sources=self.sources.without(path))

    def with_sources(self, sources: Sources) -> Snapshot:
        """After many files changed."""
        return self._with(sources=sources)

    def with_history(self, history: History) -> Snapshot:
        """After more is known of when kernels changed."""
        return self._with(history=history)

    def with_reports(self, reports: tuple[Report, ...]) -> Snapshot:
        """After reports arrived, changed or went; those that are the same object stay indexed."""
        return self._with(entries=self.entries.updated(reports))

    def with_settings(self, settings: Settings) -> Snapshot:
        """After the settings changed."""
        return self._with(settings=settings)

    def with_architectures(self, architectures: Architectures) -> Snapshot:
        """After other architectures were chosen."""
        return self._with(architectures=architectures)

    def with_gpu(self, gpu: str | None) -> Snapshot:
        """After the GPU of this machine is known."""
        return self._with(local_gpu=gpu)

    def with_trust(self, trust: Trust) -> Snapshot:
        """After the user said whether the workspace is trusted."""
        return self._with(trust=trust)

    def with_whatif(self, rows: tuple[WhatIf, ...]) -> Snapshot:
        """After the compiler answered; the rows replace those at hand."""
        return self._with(whatif=rows)

    def with_measured(self, measured: Measured) -> Snapshot:
        """After measurements arrived, changed or went."""
        return self._with(measured=measured)

    def _with(self, **changes: Any) -> Snapshot:
        return replace(self, memo={}, **changes)
