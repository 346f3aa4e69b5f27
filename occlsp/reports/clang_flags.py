"""Translates the flags of clang's CUDA mode to nvcc's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from occlsp.reports.commandline import Dropped

_ONE_TO_ONE = {
    "-ffast-math": ["--use_fast_math"],
    "-fgpu-approx-transcendentals": ["--use_fast_math"],
    "-fcuda-approx-transcendentals": ["--use_fast_math"],
    "-fcuda-flush-denormals-to-zero": ["--ftz=true"],
    "-fgpu-flush-denormals-to-zero": ["--ftz=true"],
    "-fgpu-rdc": ["--relocatable-device-code=true"],
    "-fcuda-rdc": ["--relocatable-device-code=true"],
    "-fno-gpu-rdc": ["--relocatable-device-code=false"],
    "-ffp-contract=off": ["--fmad=false"],
    "-fgpu-default-stream=per-thread": ["--default-stream=per-thread"],
    "-foffload-lto": ["-dlto"],
    "--cuda-noopt-device-debug": ["-G"],
    "-fno-exceptions": ["--no-exceptions"],
    "-Ofast": ["--use_fast_math"],
    "-Os": [],
    "-Oz": [],
    "-Og": [],
}
_OF_NO_USE = re.compile(
    r"--cuda-(device|host)-only|--cuda-compile-host-device|--no-cuda-version-check|-nocuda\w+"
    r"|-nogpu\w+|--cuda-feature=.*|--(no-)?cuda-include-ptx=.*|-Wno-.*|--offload-\w+-only"
    r"|-fuse-ld=\w+|-Qunused-arguments|-gline-tables-only|-S|-emit-llvm|-fcolor-diagnostics"
)
_REFUSED_WITH_VALUE = {
    "-Xclang": "it can load a plugin",
    "-mllvm": "it can load a plugin",
    "-Xarch_device": "flags for one side are not translated",
    "-Xarch_host": "flags for one side are not translated",
    "-Xpreprocessor": "it can write files",
    "-Xassembler": "of no use for resource numbers",
    "--config": "an options file of clang's own",
    "-target": "CUDA is compiled for this host",
    "-wrapper": "it runs a program",
}


def to_nvcc(words: Sequence[str], dropped: list[Dropped]) -> list[str]:
    """`words` for clang as words for nvcc; those that have no counterpart stay as they are, and
    are judged as flags of the host compiler."""
    translated: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        value = words[position] if position < len(words) else ""
        if word in _ONE_TO_ONE:
            translated += _ONE_TO_ONE[word]
        elif word in _REFUSED_WITH_VALUE:
            dropped.append(Dropped(f"{word} {value}", _REFUSED_WITH_VALUE[word], is_refused=True))
            position += 1
        elif word == "-Xcuda-ptxas":
            translated += ["-Xptxas", value]
            position += 1
        elif word in {"-Xcuda-fatbinary", "-Xoffload-linker"}:
            position += 1
        elif match := re.fullmatch(r"--?(?:cuda-gpu-arch|offload-arch)=(.*)", word):
            translated.append(f"--gpu-code={match[1]}")
        elif re.fullmatch(r"--(cuda|ptxas)-path=.*", word):
            dropped.append(Dropped(word, "our own toolkit is used", is_refused=True))
        elif not _OF_NO_USE.fullmatch(word):
            translated.append(word)
    return translated
