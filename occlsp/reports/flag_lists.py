"""Which flags of nvcc, ptxas, cudafe and the host compiler are passed on, and in what form.

From the help of nvcc 10 to 13.5 and of ptxas 11.8 to 13.5. Names are the long ones, without
dashes, as nvcc takes every flag with one dash or two.
"""

from __future__ import annotations

_BOOL = r"true|false|0|1"
_INT = r"\d{1,6}"
_WORD = r"[\w-]{1,40}"

VALUES = {
    "std": r"(c|gnu)\+\+\w{2}",
    "optimize": r"[0-3]",
    "dopt": r"on|off",
    "Ofast-compile": r"max|mid|min|0",
    "ftz": _BOOL,
    "prec-div": _BOOL,
    "prec-sqrt": _BOOL,
    "fmad": _BOOL,
    "maxrregcount": r"\d{1,3}|archmin|archmax",
    "default-stream": r"legacy|null|per-thread",
    "ftemplate-depth": _INT,
    "ftemplate-backtrace-limit": _INT,
    "diag-suppress": r"[\w,-]{1,400}",
    "diag-warn": r"[\w,-]{1,400}",
    "static-global-template-stub": _BOOL,
    "device-entity-has-hidden-visibility": _BOOL,
    "jump-table-density": _INT,
    "machine": r"64",
}
"""Kept, with a value of this pattern."""

FLAGS = {
    name: f"--{name}"
    for name in (
        "use_fast_math",
        "expt-relaxed-constexpr",
        "expt-extended-lambda",
        "extended-lambda",
        "restrict",
        "extra-device-vectorization",
        "disable-warnings",
        "no-exceptions",
        "no-host-device-initializer-list",
        "no-host-device-move-forward",
        "allow-unsupported-compiler",
        "no-align-double",
        "m64",
        "keep-device-functions",
        "Wno-deprecated-gpu-targets",
        "Wno-deprecated-declarations",
        "display-error-number",
        "no-display-error-number",
    )
}
"""Kept, without a value."""

ALIASES = {
    "D": "define-macro",
    "U": "undefine-macro",
    "I": "include-path",
    "isystem": "system-include",
    "include": "pre-include",
    "arch": "gpu-architecture",
    "code": "gpu-code",
    "gencode": "generate-code",
    "Xcompiler": "compiler-options",
    "Xptxas": "ptxas-options",
    "Xcudafe": "cudafe-options",
    "Xlinker": "linker-options",
    "Xarchive": "archive-options",
    "Xnvlink": "nvlink-options",
    "ccbin": "compiler-bindir",
    "rdc": "relocatable-device-code",
    "dc": "device-c",
    "dw": "device-w",
    "G": "device-debug",
    "g": "debug",
    "dlto": "dlink-time-opt",
    "O": "optimize",
    "Ofc": "Ofast-compile",
    "m": "machine",
    "w": "disable-warnings",
    "noeh": "no-exceptions",
    "nohdinitlist": "no-host-device-initializer-list",
    "nohdmoveforward": "no-host-device-move-forward",
    "err-no": "display-error-number",
    "no-err-no": "no-display-error-number",
    "o": "output-file",
    "odir": "output-directory",
    "c": "compile",
    "MF": "dependency-output",
    "MT": "dependency-target-name",
    "MQ": "dependency-target-name",
    "MD": "generate-dependencies-with-compile",
    "MMD": "generate-nonsystem-dependencies-with-compile",
    "M": "generate-dependencies",
    "MM": "generate-nonsystem-dependencies",
    "MP": "generate-dependency-targets",
    "l": "library",
    "L": "library-path",
    "t": "threads",
    "v": "verbose",
    "lineinfo": "generate-line-info",
    "res-usage": "resource-usage",
    "ldir": "libdevice-directory",
    "target-dir": "target-directory",
    "arbin": "archiver-binary",
    "idp": "input-drive-prefix",
    "ddp": "dependency-drive-prefix",
    "dp": "drive-prefix",
    "hls": "host-linker-script",
    "e": "entries",
    "opt-info": "optimization-info",
    "objtemp": "objdir-as-tempdir",
    "noprof": "dont-use-profile",
    "src-in-ptx": "source-in-ptx",
    "link": "link",
    "E": "preprocess",
    "jtd": "jump-table-density",
    "ewp": "extensible-whole-program",
    "err": "Werror",
    "diag_suppress": "diag-suppress",
}
"""Short name → long name."""

_RUNS = "it runs a program"
_WRITES = "it writes outside the cache"
_LOADS = "it has tools or their data taken from elsewhere"

REFUSED = {
    "run": _RUNS,
    "run-args": _RUNS,
    "archiver-binary": _RUNS,
    "output-directory": _WRITES,
    "keep": _WRITES,
    "keep-dir": _WRITES,
    "save-temps": _WRITES,
    "time": _WRITES,
    "fdevice-time-trace": _WRITES,
    "clean-targets": _WRITES,
    "objdir-as-tempdir": _WRITES,
    "host-linker-script": _WRITES,
    "augment-host-linker-script": _WRITES,
    "gen-opt-lto": _WRITES,
    "libdevice-directory": _LOADS,
    "target-directory": _LOADS,
    "dont-use-profile": _LOADS,
    "qpp-config": _LOADS,
    "use-local-env": _LOADS,
    "force-cl-env-setup": _LOADS,
    "input-drive-prefix": _LOADS,
    "dependency-drive-prefix": _LOADS,
    "drive-prefix": _LOADS,
}
"""Dropped and told, with the reason."""

OF_NO_USE = {
    "output-file",
    "compile",
    "dependency-output",
    "dependency-target-name",
    "generate-dependencies-with-compile",
    "generate-nonsystem-dependencies-with-compile",
    "generate-dependencies",
    "generate-nonsystem-dependencies",
    "generate-dependency-targets",
    "library",
    "library-path",
    "linker-options",
    "archive-options",
    "nvlink-options",
    "threads",
    "split-compile",
    "split-compile-extended",
    "verbose",
    "dryrun",
    "generate-line-info",
    "resource-usage",
    "debug",
    "profile",
    "pg",
    "entries",
    "optimization-info",
    "source-in-ptx",
    "link",
    "lib",
    "dlink",
    "device-link",
    "shared",
    "cuda",
    "cubin",
    "ptx",
    "fatbin",
    "optix-ir",
    "ltoir",
    "preprocess",
    "cudart",
    "cudadevrt",
    "no-device-link",
    "nodlink",
    "no-compress",
    "compress-mode",
    "frandom-seed",
    "Werror",
    "Wreorder",
    "Wdefault-stream-launch",
    "Wmissing-launch-bounds",
    "Wext-lambda-captures-this",
    "diag-error",
    "brief-diagnostics",
    "brief-diag",
    "forward-unknown-to-host-compiler",
    "forward-unknown-to-host-linker",
    "forward-unknown-opts",
    "extensible-whole-program",
    "relocatable-link",
    "relocatable-ptx",
    "device-stack-protector",
    "fdevice-syntax-only",
    "list-gpu-code",
    "list-gpu-arch",
}
"""Dropped in silence: outputs, linking, messages."""

TAKES_VALUE = {
    *VALUES,
    "define-macro",
    "undefine-macro",
    "include-path",
    "system-include",
    "pre-include",
    "gpu-architecture",
    "gpu-code",
    "generate-code",
    "compiler-options",
    "ptxas-options",
    "cudafe-options",
    "linker-options",
    "archive-options",
    "nvlink-options",
    "compiler-bindir",
    "relocatable-device-code",
    "x",
    "output-file",
    "output-directory",
    "dependency-output",
    "dependency-target-name",
    "library",
    "library-path",
    "threads",
    "split-compile",
    "split-compile-extended",
    "keep-dir",
    "time",
    "fdevice-time-trace",
    "run-args",
    "archiver-binary",
    "libdevice-directory",
    "target-directory",
    "input-drive-prefix",
    "dependency-drive-prefix",
    "drive-prefix",
    "host-linker-script",
    "entries",
    "optimization-info",
    "cudart",
    "cudadevrt",
    "compress-mode",
    "frandom-seed",
    "Werror",
    "diag-error",
    "brief-diagnostics",
    "brief-diag",
    "qpp-config",
    "gen-opt-lto",
    "device-stack-protector",
}

PTXAS_FLAGS = {
    "--opt-level": r"[0-4]",
    "-opt-level": r"[0-4]",
    "-O": r"[0-4]",
    "--def-load-cache": r"c[agsv]",
    "-dlcm": r"c[agsv]",
    "--def-store-cache": r"[\w]{2}",
    "-dscm": r"[\w]{2}",
    "--maxrregcount": _INT,
    "-maxrregcount": _INT,
    "--fmad": _BOOL,
    "-fmad": _BOOL,
    "--allow-expensive-optimizations": _BOOL,
    "-allow-expensive-optimizations": _BOOL,
    "--disable-optimizer-constants": "",
    "-disable-optimizer-consts": "",
    "--register-usage-level": r"\d{1,2}",
    "--regUsageLevel": r"\d{1,2}",
    "-regUsageLevel": r"\d{1,2}",
    "--force-load-cache": r"c[agsv]",
    "-flcm": r"c[agsv]",
    "--force-store-cache": r"[\w]{2}",
    "-fscm": r"[\w]{2}",
    "--disable-warnings": "",
    "-w": "",
    "--suppress-double-demote-warning": "",
    "--suppress-stack-size-warning": "",
    "--preserve-relocs": "",
    "--opt-shared-memory": _BOOL,
    "--sp-bounds-check": "",
    "--Ofast-compile": _WORD,
    "-Ofc": _WORD,
}
"""Flags of ptxas that change the code, with the pattern of their value."""

CUDAFE = r"--?(diag_(suppress|warning|remark|default)=[\w,]+|(no_)?display_error_number)"

HOST_WITH_VALUE = (
    r"[-/][DUI]|-(isystem|iquote|idirafter|include|imacros|iprefix|iwithprefixbefore|iwithprefix"
    r"|isysroot|wrapper|B|o|x|MF|MT|MQ|aux-info|dumpbase|dumpdir|T|Xclang|mllvm|Xpreprocessor"
    r"|Xassembler|Xlinker|specs|-param|L|l)(?![A-Za-z]*=)"
)
"""Flags of the host compiler whose value is attached or is the next word."""

HOST_KEPT = (
    r"-O([0-3sgz]|fast)?|-pthread|-fopenmp(=\w+)?|-f(no-)?(exceptions|rtti|unsigned-char"
    r"|signed-char|short-enums|short-wchar|char8_t|permissive|ms-extensions|strict-aliasing"
    r"|PIC|pic|PIE|pie|coroutines|concepts|sized-deallocation|aligned-new|fast-math"
    r"|math-errno|finite-math-only|freestanding|hosted)|-ffast-math|-m64"
    r"|-m(arch|cpu|tune|fpmath|abi)=[\w.+-]+|-m(no-)?(sse[\w.]*|ssse3|avx[\w.-]*|fma4?|f16c"
    r"|bmi2?|popcnt|aes|sha|lzcnt|pclmul|movbe|xsave\w*|rdrnd|amx-\w+|vsx|altivec)"
)
"""What predefines a macro or changes what the host's headers declare."""

HOST_LOUD = (
    r"-f(plugin|pass-plugin|dump|profile|test-coverage|callgraph|save-|time-trace|modules|auto-"
    r"|opt-info|stack-usage|compare-debug|instrument|xray|thinlto|crash|debug-|use-|lto|diagnostics)"
    r".*|-save-temps.*|-specs.*|-aux-info.*|-d[A-Z].*|-W[palL],.*|-B.*|-wrapper.*|-ftrapv=.*"
)
"""Could run, load or write: told, while others are dropped in silence."""

HOST_QUIET = (
    r"-[Ww][\w=+,.-]*|-g[\w-]*|-f[\w-]+(=[\w.,+-]+)?|-std=[\w+]+|-pedantic(-errors)?|-ansi|-pipe|-s"
    r"|-c|-MM?D?|-MP|-p|-m[\w.=+-]+|/[A-Za-z][\w:+.,-]*|-stdlib=[\w+]+|-nostdinc\+\+|-no-pie|-static"
    r"|-shared|-r"
)
"""Of no use for a preprocessor: dropped in silence."""
