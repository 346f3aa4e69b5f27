"""A build back end that builds nothing: it names the project and runs none of its code.

`pip download` asks a source distribution's back end for metadata before it keeps the file. With
this folder on `PYTHONPATH` the back ends that our sources name are these hooks.
"""

from __future__ import annotations

from email.parser import Parser
from pathlib import Path


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:
    return []


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: object = None
) -> str:
    known = Parser().parsestr(Path("PKG-INFO").read_text("utf-8"))
    name, version = known["Name"], known["Version"]
    folder = Path(metadata_directory, f"{name.replace('-', '_')}-{version}.dist-info")
    folder.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    folder.joinpath("METADATA").write_text(text, "utf-8")
    return folder.name
