"""The `occlsp` command: subcommands are imported when they run, so that `--help` is instant."""

from __future__ import annotations

import gc
import importlib

import click

from occlsp import __version__
from occlsp.cli.usage import one_line

COMMANDS = {
    "serve": ("occlsp.cli.serve", "Run the language server on standard input and output."),
    "check": ("occlsp.cli.check", "Report the findings of sources, without an editor."),
    "calc": ("occlsp.cli.calc", "Compute the occupancy of one configuration, or of many."),
    "scan": ("occlsp.cli.scan", "Print what CUDA sources say: kernels, launches, bounds."),
    "reports": ("occlsp.cli.reports", "Print the resources in logs, objects and cubins."),
    "record": ("occlsp.cli.record", "Run a compiler and keep the resource report of its output."),
    "whatif": ("occlsp.cli.whatif", "Ask the compiler what other launch bounds would give."),
    "diff": ("occlsp.cli.diff", "Compare two baselines or two sets of reports."),
    "rank": ("occlsp.cli.rank", "Rank the configurations of one kernel (estimated)."),
    "measured": ("occlsp.cli.measured", "Read measurements and say what binds each kernel."),
    "fuse": ("occlsp.cli.fuse", "Judge whether neighbouring launches can be one kernel."),
    "doctor": ("occlsp.cli.doctor", "Say what was found and from where, and what is missing."),
}
"""Name → module that holds a click command `command`, and its line in the help."""


class _LazyGroup(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise one_line(error, ctx) from None

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise one_line(error, ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="occlsp")
@click.pass_context
def main(ctx: click.Context) -> None:
    """CUDA occupancy from the compiler's own numbers, in the editor and in CI."""
    # Hardly anything that a command makes is in a cycle: looking for it cost a tenth of a check.
    gc.set_threshold(1_000_000, 50, 1_000)
    # Nor is it looked for at the end, when the interpreter would go through all that was made.
    ctx.call_on_close(gc.freeze)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
