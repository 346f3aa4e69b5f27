"""May the compiler run for this folder? The user's word, never the workspace's.

In this order: what the client says (`trusted`), what the user once answered for this folder and
we keep in the user's own configuration directory, the answer to one question, asked at the first
moment that a compile would start. Until there is an answer nothing is executed.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lsprotocol import types

if TYPE_CHECKING:
    from occlsp.server.server import Server

log = logging.getLogger("occlsp.trust")

Answer = Literal["always", "never"]
THIS_TIME, ALWAYS, NEVER = "This time", "Always for this folder", "Never"


class Store:
    """Answers by folder, in a file of the user."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is `trust.json` in the user's configuration directory if not given."""
        if path is None:
            import platformdirs

            path = Path(platformdirs.user_config_dir("occlsp")) / "trust.json"
        self.path = path

    def read(self, folder: str) -> Answer | None:
        """The answer for a folder, links resolved; None when there is none or it is unreadable."""
        answer = self._read().get(os.path.realpath(folder))
        return answer if answer in ("always", "never") else None

    def write(self, folder: str, answer: Answer) -> None:
        """Remembers an answer. Failing to is logged: the user is asked again next time."""
        answers = {**self._read(), os.path.realpath(folder): answer}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix="trust")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(answers, file, indent=1)
            Path(name).replace(self.path)
        except OSError as error:
            log.warning("the answer is not remembered: %s", error)

    def _read(self) -> dict[str, Answer]:
        try:
            answers = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            log.warning("%s is ignored: %s", self.path, error)
            return {}
        return answers if isinstance(answers, dict) else {}


class Trust:
    """Answers for the folders of this session."""

    def __init__(self, server: Server, store: Store | None = None) -> None:
        self._server = server
        self._store = store or Store()
        self._answers: dict[str, bool] = {}
        self._asking: set[str] = set()

    def known(self, folder: str, said: bool | None) -> bool | None:
        """Whether `folder` is trusted; None when nobody has said. `said` is the client's word."""
        if said is not None:
            return said
        if folder not in self._answers and (answer := self._store.read(folder)) is not None:
            self._answers[folder] = answer == "always"
        return self._answers.get(folder)

    async def ask(self, folder: str, said: bool | None) -> bool:
        """Whether `folder` is trusted, asking the user where nobody has said: once a session.

        While the question is open, and when it is dismissed, the answer is no.
        """
        known = self.known(folder, said)
        if known is not None or folder in self._asking:
            return bool(known)
        self._asking.add(folder)
        choice = await self._question(folder)
        self._answers[folder] = choice in (THIS_TIME, ALWAYS)
        if choice == ALWAYS:
            self._store.write(folder, "always")
        elif choice == NEVER:
            self._store.write(folder, "never")
        return self._answers[folder]

    async def _question(self, folder: str) -> str | None:
        try:
            answer = await self._server.request(
                types.WINDOW_SHOW_MESSAGE_REQUEST,
                types.ShowMessageRequestParams(
                    type=types.MessageType.Info,
                    message=f"occlsp can compile the CUDA files of {folder} on save, to show what "
                    "registers and shared memory they use. This runs nvcc with the flags of this "
                    "folder. Do you trust it?",
                    actions=[types.MessageActionItem(t) for t in (THIS_TIME, ALWAYS, NEVER)],
                ),
            )
        except Exception as error:
            log.warning("the client cannot ask for trust (%s): %s stays untrusted", error, folder)
            return None
        return answer.title if isinstance(answer, types.MessageActionItem) else None
