"""Trust: the user's word, remembered outside the workspace, asked for once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from occlsp.server.trust import ALWAYS, NEVER, THIS_TIME, Store, Trust


class Asked:
    """A client whose user answers each question in the same way."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.questions = 0

    async def request(self, method: str, params: Any) -> Any:
        assert method == types.WINDOW_SHOW_MESSAGE_REQUEST
        self.questions += 1
        await asyncio.sleep(0)
        return None if self.answer is None else types.MessageActionItem(self.answer)


def asked(answer: str | None, tmp_path: Path) -> tuple[Trust, Asked]:
    client = Asked(answer)
    return Trust(client, Store(tmp_path / "user" / "trust.json")), client  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "trusted", "asked_again_next_session"),
    [(THIS_TIME, True, True), (ALWAYS, True, False), (NEVER, False, False), (None, False, True)],
)
def test_the_answer_holds(
    answer: str | None, trusted: bool, asked_again_next_session: bool, tmp_path: Path
) -> None:
    trust, client = asked(answer, tmp_path)
    folder = str(tmp_path / "w")
    assert trust.known(folder, None) is None
    for _ in range(2):
        assert asyncio.run(trust.ask(folder, None)) is trusted
    assert client.questions == 1
    later, client = asked(None, tmp_path)
    assert asyncio.run(later.ask(folder, None)) is (trusted and not asked_again_next_session)
    assert (client.questions == 1) is asked_again_next_session


def test_nothing_runs_while_the_question_is_open(tmp_path: Path) -> None:
    trust, client = asked(ALWAYS, tmp_path)

    async def both() -> list[bool]:
        return await asyncio.gather(trust.ask("/w", None), trust.ask("/w", None))

    assert asyncio.run(both()) == [True, False]
    assert client.questions == 1


@pytest.mark.parametrize("said", [True, False])
def test_the_clients_word_needs_no_question(said: bool, tmp_path: Path) -> None:
    trust, client = asked(None, tmp_path)
    assert asyncio.run(trust.ask("/w", said)) is said
    assert client.questions == 0


@pytest.mark.parametrize("content", ["", "[]", "{", '{"/w": "perhaps"}', '{"/w": true}'])
def test_a_broken_store_is_no_yes(content: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "trust.json")
    store.path.write_text(content)
    assert store.read("/w") is None
    store.write("/w", "always")
    assert store.read("/w") == "always"


def test_a_link_to_a_folder_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = Store(tmp_path / "trust.json")
    store.write(str(tmp_path / "link"), "never")
    assert store.read(str(tmp_path / "real")) == "never"
