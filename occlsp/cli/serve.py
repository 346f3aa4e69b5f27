"""`occlsp serve`: the language server."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import sys

import click


def _address(context: click.Context, parameter: click.Parameter, value: str | None) -> object:
    """`HOST:PORT` taken apart."""
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, as in 127.0.0.1:7000")
    return host.strip("[]") or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return bool(found) and all(
        ipaddress.ip_address(str(item[4][0]).partition("%")[0]).is_loopback for item in found
    )


@click.command(
    epilog="Example: occlsp serve    (an editor starts it so, and talks to it)",
    short_help="Run the language server.",
)
@click.option(
    "--tcp",
    metavar="HOST:PORT",
    callback=_address,
    help="Serve one client on a socket instead, for debugging.",
)
@click.option(
    "--allow-remote", is_flag=True, help="Let --tcp listen on an address that others can reach."
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Write the log from this level on to standard error, too; without it there is only what "
    "the client's log cannot have.",
)
def command(tcp: tuple[str, int] | None, allow_remote: bool, log_level: str | None) -> None:
    """Run the language server on standard input and output."""
    if tcp is not None and not allow_remote and not _is_loopback(tcp[0]):
        click.echo(
            f"occlsp serve: {tcp[0]} can be reached from other machines, and whoever connects can "
            "read files and, where trusted, compile; say --allow-remote if that is meant",
            err=True,
        )
        sys.exit(2)
    import gc

    gc.disable()  # until all is imported: it would look through the same objects again and again
    from occlsp.server.setup import create_server

    server = create_server(log_level)
    if tcp is not None:
        try:
            code = server.run_tcp(*tcp)
        except OSError as error:
            click.echo(f"occlsp serve: {tcp[0]}:{tcp[1]}: {error.strerror or error}", err=True)
            sys.exit(2)
    else:
        from occlsp.server.server import protected_stdio

        code = server.run_stdio(*protected_stdio())
    # A thread may wait for a disk that does not answer: that must not keep the process.
    logging.shutdown()
    os._exit(code)
