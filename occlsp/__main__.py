"""`python -m occlsp`: the command line, for editors that know an interpreter."""

from occlsp.cli.main import main

main(prog_name="occlsp")
