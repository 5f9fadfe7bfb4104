"""``elsewhere labels``: write a table of the places in a history, to be filled in."""

from __future__ import annotations

import sys
from typing import Any

import click

from elsewhere.cli import options
from elsewhere.text import plural, printable


@click.command(short_help="List the places of a history, to name them.")
@options.history
@options.reading
@click.option("-o", "--output", metavar="FILE", help="Write the table to this private .csv file. "
              "Default: standard output.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only errors.")
def labels(history: options.Paths, **given: Any) -> None:
    """List the places of a history with their visits, to name them and to correct their kinds.

    The table has the columns id, label, kind, count, reason and map. Fill in label where it is empty, and correct kind:
    a node of `elsewhere taxonomy show`, or none for a place without a kind. Then give the table back with --labels. To
    update a table that you have filled in, give it here with --labels, and write to another file.

    The column map links to a map, or to the site of a browser's history. elsewhere opens no link. If you open one, you
    tell the operator of the map which place you look at.

    \b
    Example:
      elsewhere labels Timeline.json -o labels.csv
      elsewhere hide Timeline.json --labels labels.csv \\
        --sensitive preset:health -o release.csv
    """
    from elsewhere.files import write_atomic
    from elsewhere.histories import label_table, read_labels

    options.check_paths(history, given, ("output",))
    notes = list[str]()
    # Read without labels first, because the ids must be those of the file.
    unlabelled = options.read_history(history, {**given, "labels": None}, notes.append)
    known = None if given["labels"] is None else read_labels(given["labels"])
    table = label_table(unlabelled, known, given["locations"])
    content = table.encode()
    if given["output"] not in (None, "-"):
        write_atomic(given["output"], content, private=True)
    elif sys.stdout.isatty():
        click.echo("\n".join(map(printable, content.decode().splitlines())))
    else:
        click.echo(content, nl=False)
    say = options.speaker(given)
    for note in notes:
        say(note)
    say(_summary(len(table.rows), table.with_kind, table.without_label))


def _summary(places: int, with_kind: int, without_label: int) -> str:
    kinds = f"{with_kind:,} of {plural(places, 'place')} {'has' if with_kind == 1 else 'have'} a kind"
    if not without_label:
        return f"{kinds}, and none needs a label."
    return f"{kinds}, and {without_label:,} {'needs' if without_label == 1 else 'need'} a label."
