"""GPU models: capability, SM count and published peaks, each row with where it comes from.

Only waves, cooperative launches, minimum grids and measured fractions of peak need them. SM
counts are those of the product, not of the full chip. Peaks are the published ones at boost
clock; None where none is published, or where boards of the name differ.
"""

from __future__ import annotations

import difflib
import re

from msgspec import Struct


class UnknownGpu(ValueError):
    """A GPU model that the table does not hold. The message names those that are near."""

    def __init__(self, name: object) -> None:
        self.name = name
        near = _near(str(name))
        known = f"near are {', '.join(near)}" if near else f"known are {', '.join(GPUS)}"
        super().__init__(f"unknown GPU {name!r}; {known}")


class Gpu(Struct, frozen=True):
    """One product."""

    name: str
    arch: str
    """Canonical name of its architecture, `sm_90`."""
    sms: int
    source: str
    """Where the numbers of the row come from."""
    bandwidth: float | None = None
    """Peak of the device memory in GB/s (10^9 bytes)."""
    fp32: float | None = None
    """Peak of 32-bit floating point in TFLOP/s (10^12; a multiply-add is two), without tensor
    cores."""

    @property
    def capability(self) -> str:
        """The compute capability, `9.0`."""
        return f"{self.arch[3:-1]}.{self.arch[-1]}"


_PASCAL = "NVIDIA Tesla P100 whitepaper and data sheets; Pascal product pages"
_VOLTA = "NVIDIA Tesla V100 whitepaper and data sheet"
_TURING = "NVIDIA Turing whitepaper, T4 data sheet; product pages (64 CUDA cores per SM)"
_A100 = "NVIDIA A100 whitepaper and data sheet"
_GA10X = "NVIDIA GA102 whitepaper, data sheets; product pages (128 CUDA cores per SM)"
_ADA = "NVIDIA Ada whitepaper, data sheets; product pages (128 CUDA cores per SM)"
_HOPPER = "NVIDIA H100 whitepaper; H100, H200 and GH200 data sheets"
_BLACKWELL = "NVIDIA RTX Blackwell whitepaper, data sheets; product pages (128 CUDA cores per SM)"
_B200 = (
    "multiProcessorCount as devices report it; DGX B200 and B300 data sheets (64 TB/s for eight)"
)
_JETSON = "NVIDIA Jetson data sheets (128 CUDA cores per SM; 64 for Xavier)"

_ROWS: tuple[Gpu, ...] = (
    # Data centre
    Gpu("P100 SXM2", "sm_60", 56, _PASCAL, 732, 10.6),
    Gpu("P100 PCIe 16GB", "sm_60", 56, _PASCAL, 732, 9.3),
    Gpu("P40", "sm_61", 30, _PASCAL, 346, 12.0),
    Gpu("P4", "sm_61", 20, _PASCAL, 192, 5.5),
    Gpu("V100", "sm_70", 80, _VOLTA, 900),
    Gpu("V100 SXM2", "sm_70", 80, _VOLTA, 900, 15.7),
    Gpu("V100 PCIe", "sm_70", 80, _VOLTA, 900, 14.0),
    Gpu("V100S PCIe", "sm_70", 80, _VOLTA, 1134, 16.4),
    Gpu("T4", "sm_75", 40, _TURING, 320, 8.1),
    Gpu("A100", "sm_80", 108, _A100, None, 19.5),
    Gpu("A100 SXM4 40GB", "sm_80", 108, _A100, 1555, 19.5),
    Gpu("A100 SXM4 80GB", "sm_80", 108, _A100, 2039, 19.5),
    Gpu("A100 PCIe 40GB", "sm_80", 108, _A100, 1555, 19.5),
    Gpu("A100 PCIe 80GB", "sm_80", 108, _A100, 1935, 19.5),
    Gpu("A800", "sm_80", 108, _A100, None, 19.5),
    Gpu("A30", "sm_80", 56, _A100, 933, 10.3),
    Gpu("A40", "sm_86", 84, _GA10X, 696, 37.4),
    Gpu("A10", "sm_86", 72, _GA10X, 600, 31.2),
    Gpu("A10G", "sm_86", 80, _GA10X, 600),
    Gpu("A16", "sm_86", 10, _GA10X, 200, 4.5),
    Gpu("A2", "sm_86", 10, _GA10X, 200, 4.5),
    Gpu("L4", "sm_89", 58, _ADA, 300, 30.3),
    Gpu("L40", "sm_89", 142, _ADA, 864, 90.5),
    Gpu("L40S", "sm_89", 142, _ADA, 864, 91.6),
    Gpu("H100 SXM", "sm_90", 132, _HOPPER, 3350, 67.0),
    Gpu("H100 PCIe", "sm_90", 114, _HOPPER, 2000, 51.0),
    Gpu("H100 NVL", "sm_90", 132, _HOPPER, 3900, 60.0),
    Gpu("H200", "sm_90", 132, _HOPPER, 4800),
    Gpu("H200 SXM", "sm_90", 132, _HOPPER, 4800, 67.0),
    Gpu("H200 NVL", "sm_90", 132, _HOPPER, 4800, 60.0),
    Gpu("H800 SXM", "sm_90", 132, _HOPPER, 3350),
    Gpu("H20", "sm_90", 78, _HOPPER, 4000, 44.0),
    Gpu("GH200", "sm_90", 132, _HOPPER, None, 67.0),
    Gpu("B200", "sm_100", 148, _B200, 8000),
    Gpu("GB200", "sm_100", 152, _B200, 8000),
    Gpu("B300", "sm_103", 148, _B200, 8000),
    # Workstation
    Gpu("Quadro RTX 4000", "sm_75", 36, _TURING, 416, 7.1),
    Gpu("Quadro RTX 5000", "sm_75", 48, _TURING, 448, 11.2),
    Gpu("Quadro RTX 6000", "sm_75", 72, _TURING, 672, 16.3),
    Gpu("Quadro RTX 8000", "sm_75", 72, _TURING, 672, 16.3),
    Gpu("TITAN RTX", "sm_75", 72, _TURING, 672, 16.3),
    Gpu("RTX A2000", "sm_86", 26, _GA10X, 288, 8.0),
    Gpu("RTX A4000", "sm_86", 48, _GA10X, 448, 19.2),
    Gpu("RTX A4500", "sm_86", 56, _GA10X, 640, 23.7),
    Gpu("RTX A5000", "sm_86", 64, _GA10X, 768, 27.8),
    Gpu("RTX A5500", "sm_86", 80, _GA10X, 768, 34.1),
    Gpu("RTX A6000", "sm_86", 84, _GA10X, 768, 38.7),
    Gpu("RTX 2000 Ada", "sm_89", 22, _ADA, 224, 12.0),
    Gpu("RTX 4000 Ada", "sm_89", 48, _ADA, 360, 26.7),
    Gpu("RTX 4500 Ada", "sm_89", 60, _ADA, 432, 39.6),
    Gpu("RTX 5000 Ada", "sm_89", 100, _ADA, 576, 65.3),
    Gpu("RTX 6000 Ada", "sm_89", 142, _ADA, 960, 91.1),
    Gpu("RTX PRO 4000 Blackwell", "sm_120", 70, _BLACKWELL, 672),
    Gpu("RTX PRO 4500 Blackwell", "sm_120", 82, _BLACKWELL, 896),
    Gpu("RTX PRO 5000 Blackwell", "sm_120", 110, _BLACKWELL, 1344),
    Gpu("RTX PRO 6000 Blackwell", "sm_120", 188, _BLACKWELL),
    Gpu("RTX PRO 6000 Blackwell Workstation Edition", "sm_120", 188, _BLACKWELL, 1792, 125.0),
    Gpu("RTX PRO 6000 Blackwell Max-Q Workstation Edition", "sm_120", 188, _BLACKWELL, 1792, 110.0),
    Gpu("RTX PRO 6000 Blackwell Server Edition", "sm_120", 188, _BLACKWELL, 1597, 120.0),
    # GeForce
    Gpu("GTX 1060 6GB", "sm_61", 10, _PASCAL, 192, 4.4),
    Gpu("GTX 1070", "sm_61", 15, _PASCAL, 256, 6.5),
    Gpu("GTX 1080", "sm_61", 20, _PASCAL, 320, 8.9),
    Gpu("GTX 1080 Ti", "sm_61", 28, _PASCAL, 484, 11.3),
    Gpu("GTX 1650", "sm_75", 14, _TURING, 128),
    Gpu("GTX 1660 Ti", "sm_75", 24, _TURING, 288, 5.4),
    Gpu("RTX 2060", "sm_75", 30, _TURING, 336, 6.5),
    Gpu("RTX 2070", "sm_75", 36, _TURING, 448, 7.5),
    Gpu("RTX 2070 SUPER", "sm_75", 40, _TURING, 448, 9.1),
    Gpu("RTX 2080", "sm_75", 46, _TURING, 448, 10.1),
    Gpu("RTX 2080 SUPER", "sm_75", 48, _TURING, 496, 11.2),
    Gpu("RTX 2080 Ti", "sm_75", 68, _TURING, 616, 13.4),
    Gpu("RTX 3050", "sm_86", 20, _GA10X, 224, 9.1),
    Gpu("RTX 3060", "sm_86", 28, _GA10X, 360, 12.7),
    Gpu("RTX 3060 Ti", "sm_86", 38, _GA10X, 448, 16.2),
    Gpu("RTX 3070", "sm_86", 46, _GA10X, 448, 20.3),
    Gpu("RTX 3070 Ti", "sm_86", 48, _GA10X, 608, 21.7),
    Gpu("RTX 3080", "sm_86", 68, _GA10X, 760, 29.8),
    Gpu("RTX 3080 12GB", "sm_86", 70, _GA10X, 912, 30.6),
    Gpu("RTX 3080 Ti", "sm_86", 80, _GA10X, 912, 34.1),
    Gpu("RTX 3090", "sm_86", 82, _GA10X, 936, 35.6),
    Gpu("RTX 3090 Ti", "sm_86", 84, _GA10X, 1008, 40.0),
    Gpu("RTX 4060", "sm_89", 24, _ADA, 272, 15.1),
    Gpu("RTX 4060 Ti", "sm_89", 34, _ADA, 288, 22.1),
    Gpu("RTX 4070", "sm_89", 46, _ADA, 504, 29.1),
    Gpu("RTX 4070 SUPER", "sm_89", 56, _ADA, 504, 35.5),
    Gpu("RTX 4070 Ti", "sm_89", 60, _ADA, 504, 40.1),
    Gpu("RTX 4070 Ti SUPER", "sm_89", 66, _ADA, 672, 44.1),
    Gpu("RTX 4080", "sm_89", 76, _ADA, 717, 48.7),
    Gpu("RTX 4080 SUPER", "sm_89", 80, _ADA, 736, 52.2),
    Gpu("RTX 4090", "sm_89", 128, _ADA, 1008, 82.6),
    Gpu("RTX 4090 D", "sm_89", 114, _ADA, 1008),
    Gpu("RTX 5060", "sm_120", 30, _BLACKWELL, 448),
    Gpu("RTX 5060 Ti", "sm_120", 36, _BLACKWELL, 448, 23.7),
    Gpu("RTX 5070", "sm_120", 48, _BLACKWELL, 672, 30.9),
    Gpu("RTX 5070 Ti", "sm_120", 70, _BLACKWELL, 896, 43.9),
    Gpu("RTX 5080", "sm_120", 84, _BLACKWELL, 960, 56.3),
    Gpu("RTX 5090", "sm_120", 170, _BLACKWELL, 1792, 104.8),
    # Jetson and small systems
    Gpu("Jetson Nano", "sm_53", 1, _JETSON, 25.6),
    Gpu("Jetson TX2", "sm_62", 2, _JETSON, 59.7),
    Gpu("Jetson Xavier NX", "sm_72", 6, _JETSON, 59.7),
    Gpu("Jetson AGX Xavier", "sm_72", 8, _JETSON, 136.5),
    Gpu("Jetson Orin Nano 8GB", "sm_87", 8, _JETSON),
    Gpu("Jetson Orin NX", "sm_87", 8, _JETSON, 102.4),
    Gpu("Jetson AGX Orin 32GB", "sm_87", 14, _JETSON, 204.8),
    Gpu("Jetson AGX Orin 64GB", "sm_87", 16, _JETSON, 204.8),
    Gpu("Jetson Thor T5000", "sm_110", 20, _JETSON, 273),
    Gpu("DGX Spark", "sm_121", 48, "NVIDIA DGX Spark data sheet (6144 CUDA cores)", 273),
)

GPUS: dict[str, Gpu] = {row.name: row for row in _ROWS}
"""Name → model."""

_OTHER_NAMES = {
    "P100": "P100 SXM2",
    "P100 SXM2 16GB": "P100 SXM2",
    "V100 SXM2 16GB": "V100 SXM2",
    "V100 SXM2 32GB": "V100 SXM2",
    "V100 SXM3 32GB": "V100 SXM2",
    "V100 PCIE 16GB": "V100 PCIe",
    "V100 PCIE 32GB": "V100 PCIe",
    "V100S PCIE 32GB": "V100S PCIe",
    "A100 40GB": "A100 SXM4 40GB",
    "A100 80GB PCIe": "A100 PCIe 80GB",
    "A100 SXM 40GB": "A100 SXM4 40GB",
    "A100 SXM 80GB": "A100 SXM4 80GB",
    "A800 SXM4 80GB": "A800",
    "A800 80GB PCIe": "A800",
    "H100 80GB HBM3": "H100 SXM",
    "H100 SXM5": "H100 SXM",
    "H100 SXM5 80GB": "H100 SXM",
    "H100 SXM 80GB": "H100 SXM",
    "H100 PCIe 80GB": "H100 PCIe",
    "H800": "H800 SXM",
    "H200 SXM 141GB": "H200 SXM",
    "GH200 480GB": "GH200",
    "B200 SXM": "B200",
    "RTX 2000 Ada Generation": "RTX 2000 Ada",
    "RTX 4000 Ada Generation": "RTX 4000 Ada",
    "RTX 4500 Ada Generation": "RTX 4500 Ada",
    "RTX 5000 Ada Generation": "RTX 5000 Ada",
    "RTX 6000 Ada Generation": "RTX 6000 Ada",
    "RTX 3080 10GB": "RTX 3080",
    "RTX 3060 12GB": "RTX 3060",
    "AGX Thor": "Jetson Thor T5000",
    "Jetson AGX Thor": "Jetson Thor T5000",
    "Jetson AGX Orin": "Jetson AGX Orin 64GB",
    "Jetson Orin NX 16GB": "Jetson Orin NX",
    "Jetson Orin Nano": "Jetson Orin Nano 8GB",
    "GB10": "DGX Spark",
}
"""Other names that are in use, the driver's included → name in `GPUS`."""


def _key(name: str) -> str:
    words = re.findall(r"[a-z0-9]+", name.casefold())
    return "".join(word for word in words if word not in {"nvidia", "geforce", "tesla", "gpu"})


_BY_KEY: dict[str, Gpu] = {
    **{_key(other): GPUS[name] for other, name in _OTHER_NAMES.items()},
    **{_key(name): row for name, row in GPUS.items()},
}


def gpu(name: str) -> Gpu:
    """The model called `name`: "H100 SXM", "NVIDIA H100 80GB HBM3", "rtx-4090".

    Case, spaces, dashes and the words NVIDIA, GeForce and Tesla do not matter. Raises
    `UnknownGpu`, also for a name that stands for boards with different SM counts ("H100").
    """
    row = _BY_KEY.get(_key(name)) if isinstance(name, str) else None
    if row is None:
        raise UnknownGpu(name)
    return row


def _near(name: str) -> list[str]:
    key = _key(name)
    family = [row.name for row in _ROWS if key and _key(row.name).startswith(key)]
    close = difflib.get_close_matches(key, [_key(known) for known in GPUS], n=5, cutoff=0.6)
    return family[:6] or [_BY_KEY[match].name for match in close]
