"""Unusable input: one clear line on standard error, exit status 2."""

from __future__ import annotations

from typing import IO, Any

import click


class Unusable(click.ClickException):
    """Input that cannot be worked with; the message says what to do about it."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the message, with no usage text around it."""
        click.echo(f"occlsp: {self.format_message()}", file=file, err=file is None)


def one_line(error: click.UsageError, ctx: click.Context) -> Unusable:
    """A usage error as one line, with where to read on."""
    path = (error.ctx or ctx).command_path
    return Unusable(f"{error.format_message().rstrip('.')}; see {path} --help")


class OneLineCommand(click.Command):
    """A command whose usage errors are one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise one_line(error, ctx) from None
