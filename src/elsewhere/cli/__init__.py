"""The command line. It has no algorithms: each command calls the package and shows the result."""

from __future__ import annotations

import atexit
import gc
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from elsewhere import __version__
from elsewhere.cli.app import app
from elsewhere.cli.audit import audit
from elsewhere.cli.batch import batch
from elsewhere.cli.demo import demo
from elsewhere.cli.evaluate import evaluate
from elsewhere.cli.frontier import frontier
from elsewhere.cli.key import key
from elsewhere.cli.labels import labels
from elsewhere.cli.look import look
from elsewhere.cli.profile import profile
from elsewhere.cli.release import avoid, hide, resemble
from elsewhere.cli.reproduce import reproduce
from elsewhere.cli.taxonomy import taxonomy
from elsewhere.cli.verify import verify
from elsewhere.extras import leave_out_unused
from elsewhere.model.errors import (
    ElsewhereError,
    Infeasible,
    PrivacyNotMet,
    TooFewReleased,
    Unchanged,
    sufficient_limit,
)

_BAD_INPUT, _NO_RELEASE, _INTERRUPTED = 2, 3, 130
#: New objects after which Python looks for garbage. Importing modules makes many objects and hardly any garbage.
_MANY_OBJECTS = 200_000
#: Arrow's own allocator clears pages of 2 MB, far more than a batch needs at a time.
_MEMORY_OF_ARROW = "ARROW_DEFAULT_MEMORY_POOL", "system"
#: Options whose names differ from their arguments.
_OPTIONS = {
    "spared": "--spare",
    "candidates": "--candidate",
    "as_json": "--json",
    "keys": "--key",
    "input": "INPUT",
    "kinds": "--kind",
    "start": "--from",
    "sensitive_zones": "--sensitive-zone",
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="elsewhere")
def commands() -> None:
    """Edit your location history before you share it.

    \b
    hide      remove every visit to sensitive places
    resemble  make the history look more like a target profile
    avoid     make the history look less like a target profile

    HISTORY is a table with the columns location,count (or location alone, one row per visit), an export of Google or
    Swarm, a browser's history, or - for standard input. Everything happens on this machine.

    \b
    Two numbers describe a release. Both are 0 when nothing differs:
      quality loss      distance from your true history; a recommender serves
                        you better if it is small
      privacy distance  distance from the target profile

    The default distance, js, runs from 0 to 1. At 0.01 hardly any visit has moved, at 0.1 a good part of them has, and
    at 1 no place is left in common.

    \b
    Example:
      elsewhere hide history.csv --sensitive preset:health -o release.csv
    """


for command in (
    hide, resemble, avoid, frontier, verify, app, look, labels, profile, taxonomy, key, batch, evaluate, audit,
    reproduce, demo,
):  # fmt: skip
    commands.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command. A failure is one sentence on standard error and an exit status."""
    if "_ELSEWHERE_COMPLETE" in os.environ:
        commands.main(prog_name="elsewhere")  # the shell asks for completions
    if arguments is None:
        leave_out_unused()
        gc.set_threshold(_MANY_OBJECTS)
        os.environ.setdefault(*_MEMORY_OF_ARROW)
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may not support every letter of a name
    try:
        with commands.make_context("elsewhere", list(sys.argv[1:] if arguments is None else arguments)) as context:
            status = commands.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        status = ended.exit_code
    except NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(0)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "elsewhere"
        _fail(f"{error.format_message().rstrip('.')} (see {command} --help)", error.exit_code)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except Unchanged as error:
        _fail(f"{error} (add --allow-unchanged to write it anyway)", _NO_RELEASE)
    except (Infeasible, PrivacyNotMet) as error:
        _fail(f"{_with_options(error)}{_remedy(error)}", _NO_RELEASE)
    except TooFewReleased as error:
        _fail(_with_options(error), _NO_RELEASE)
    except ElsewhereError as error:
        _fail(_with_options(error), _BAD_INPUT)
    except MemoryError:
        _fail("there is not enough memory for this", _BAD_INPUT)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # drop the rest of the output
        if isinstance(error, BrokenPipeError):
            sys.exit(0)  # the reader closed the pipe
        _fail(f"the output cannot be written: {error.strerror}", _BAD_INPUT)
    except (KeyboardInterrupt, click.Abort) as interrupted:
        _fail(f"interrupted; {str(interrupted) or 'nothing was written'}", _INTERRUPTED)
    status = status if isinstance(status, int) else 0
    if arguments is None:
        _leave(status)
    sys.exit(status)


def _leave(status: int) -> NoReturn:
    """End this process at once. Taking its modules apart takes a quarter of a second if Numba is among them."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _fail(sentence: str, status: int) -> NoReturn:
    click.echo(f"elsewhere: {sentence}", err=True)
    sys.exit(status)


def _with_options(error: ElsewhereError) -> str:
    """The message with options instead of arguments, except in quotes and paths."""
    if not error.arguments:
        return str(error)
    names = "|".join(map(re.escape, error.arguments))
    parts = re.compile(rf"""(?<!\w)'[^']*'|(?<!\w)"[^"]*"|\S*[/\\]\S*|\b(?P<argument>{names})\b""")

    def option(found: re.Match[str]) -> str:
        name = found["argument"]
        return _OPTIONS.get(name, "--" + name.replace("_", "-")) if name else found[0]

    return parts.sub(option, str(error))


def _remedy(error: Infeasible | PrivacyNotMet) -> str:
    """The option that would help."""
    needed = error.needed_quality_loss
    return f" (set --max-quality-loss {sufficient_limit(needed)})" if 0.0 < needed < float("inf") else ""
