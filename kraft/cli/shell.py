"""``kraft shell``: browse the metadata of a snapshot or a directory like a file system.

With COMMAND it runs that command, as kafka-metadata-shell does. Without, it reads commands from standard input; on a
terminal with readline's editing and history.
"""

from __future__ import annotations

import cmd
import itertools
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence

import click

from kraft.cli.metadata_files import directory_image, snapshot_image
from kraft.cli.shell_text import provenance_text
from kraft.cli.shell_tree import Directory, File, Place, resolve, tree_of
from kraft.metadata.image import Image
from kraft.storage.errors import StorageError

_PIPE_WIDTH = 0


@click.command(
    "shell",
    short_help="Browse the metadata in a snapshot or a directory.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-s", "--snapshot", metavar="FILE", help="A snapshot of the metadata log, or a bootstrap.checkpoint.")
@click.option("-d", "--directory", metavar="DIR", help="A log directory with a metadata log; its node may be running.")
@click.argument("words", nargs=-1, metavar="[COMMAND]...", type=click.UNPROCESSED)
def command(snapshot: str | None, directory: str | None, words: tuple[str, ...]) -> int:
    """Browse cluster metadata like a file system, with ls, cat, cd, pwd, find and tree.

    Without COMMAND the shell reads commands from standard input. It locks nothing and writes nothing, so a node may use
    the directory meanwhile. It shows the state at its start, which may include uncommitted records.
    """
    if (snapshot is None) == (directory is None):
        raise click.UsageError("Give one of --snapshot and --directory.")
    try:
        image = snapshot_image(snapshot) if snapshot is not None else directory_image(directory or "")
    except StorageError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    commands = Commands(tree_of(image), width=_width())
    if words:
        return commands.run(words)
    return Prompt(commands, image).run()


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH


class Commands:
    """The commands, and their current directory. ``width`` is that of the terminal in columns, 0 without a terminal."""

    def __init__(self, root: Directory, width: int) -> None:
        self.root = root
        self.here: tuple[str, ...] = ()
        self._width = width
        self.table: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
            "cat": (self._cat, " FILE...: print files"),
            "cd": (self._cd, " [DIRECTORY]: change the current directory"),
            "find": (self._find, " [PATH...]: print the paths of everything below"),
            "help": (self._help, ": print this help"),
            "ls": (self._ls, " [PATH...]: list directories"),
            "pwd": (self._pwd, ": print the current directory"),
            "tree": (self._tree, " [PATH...]: print everything below, with the contents of the files"),
        }

    def run(self, words: Sequence[str]) -> int:
        """Run one command; return its exit status."""
        name, *arguments = words
        if name not in self.table:
            click.echo(f"{name}: no such command; the commands are {', '.join(self.table)}", err=True)
            return 1
        return self.table[name][0](arguments)

    def places(self, path: str) -> list[Place]:
        return resolve(self.root, self.here, path)

    def _found(self, name: str, paths: Iterable[str]) -> tuple[list[Place], int]:
        """Return the places of all paths, and exit status 1 if a path matches none."""
        found: list[Place] = []
        status = 0
        for path in paths:
            places = self.places(path)
            if not places:
                status = _print_error(f"{name}: {path}: no such file or directory.")
            found += places
        return found, status

    def _cat(self, paths: Sequence[str]) -> int:
        if not paths:
            return _print_error("cat: name a file")
        places, status = self._found("cat", paths)
        for place in places:
            if isinstance(place.node, File):
                click.echo(place.node.read())
            else:
                status = _print_error(f"cat: {place}: Is a directory")
        return status

    def _cd(self, paths: Sequence[str]) -> int:
        if len(paths) > 1:
            return _print_error("cd: name one directory")
        places = self.places(paths[0] if paths else "/")
        if len(places) != 1 or not isinstance(places[0].node, Directory):
            return _print_error(f"cd: {paths[0]}: {'not a directory' if places else 'no such directory'}.")
        self.here = places[0].path
        return 0

    def _pwd(self, _: Sequence[str]) -> int:
        click.echo("/" + "/".join(self.here))
        return 0

    def _ls(self, paths: Sequence[str]) -> int:
        places, status = self._found("ls", paths or ["."])
        files = [place for place in places if isinstance(place.node, File)]
        directories = [place for place in places if isinstance(place.node, Directory)]
        if files:
            self._columns([str(place) for place in files])
        for number, place in enumerate(directories):
            if len(places) > 1:
                click.echo(("\n" if number or files else "") + f"{place.name}:")
            self._columns([child.name for child in place.children()])
        return status

    def _columns(self, names: list[str]) -> None:
        """Print names in columns, sorted downwards, as wide as the terminal; without a terminal, one per line."""
        widest = max(map(len, names), default=0) + 2
        columns = max(1, self._width // widest)
        rows = -(-len(names) // columns)
        for row in range(rows):
            click.echo("".join(name.ljust(widest) for name in names[row::rows]).rstrip())

    def _find(self, paths: Sequence[str]) -> int:
        status = 0
        for path in paths or ["."]:
            places, missing = self._found("find", [path])
            status |= missing
            for place in places:
                shown = path if len(places) == 1 else str(place)
                _walk(place, shown.rstrip("/"), shown)
        return status

    def _tree(self, paths: Sequence[str]) -> int:
        places, status = self._found("tree", paths or ["."])
        for place in places:
            _print_tree(place, 0)
        return status

    def _help(self, _: Sequence[str]) -> int:
        for name, (_run, text) in self.table.items():
            click.echo(f"{name}{text}")
        click.echo("exit: leave")
        click.echo("In a path, * stands for any text within a name, ? for any character, {a,b} for either.")
        return 0


def _walk(place: Place, prefix: str, shown: str) -> None:
    click.echo(shown)
    for child in place.children():
        _walk(child, f"{prefix}/{child.name}", f"{prefix}/{child.name}")


def _print_tree(place: Place, depth: int) -> None:
    indent = "  " * depth
    if isinstance(place.node, File):
        click.echo(f"{indent}{place.node.read()}")
    for child in place.children():
        click.echo(f"{indent}{child.name}:")
        _print_tree(child, depth + 1)


def _print_error(what: str) -> int:
    click.echo(what, err=True)
    return 1


class Prompt(cmd.Cmd):
    """Reads commands from standard input until its end or ``exit``."""

    doc_header = ""

    def __init__(self, commands: Commands, image: Image) -> None:
        super().__init__()
        self._commands = commands
        self._status = 0
        self._interactive = sys.stdin.isatty()
        self.prompt = ">> " if self._interactive else ""
        if self._interactive:
            self.intro = f"Cluster metadata: {provenance_text(image)}. `help` lists the commands."

    def run(self) -> int:
        """Run commands until the end of the input. Return the exit status of the last one."""
        self.cmdloop()
        return self._status

    def onecmd(self, line: str) -> bool:
        if line == "EOF":
            if self._interactive:
                click.echo("")
            return True
        try:
            words = shlex.split(line)
        except ValueError as error:
            self._status = _print_error(f"{line}: {error}")
            return False
        if not words:
            return False
        if words[0] in ("exit", "quit"):
            return True
        self._status = self._commands.run(words)
        return False

    def completenames(self, text: str, *_: object) -> list[str]:
        return [f"{name} " for name in (*self._commands.table, "exit") if name.startswith(text)]

    def completedefault(self, text: str, line: str, begidx: int, endidx: int) -> list[str]:
        """Return the completions of a path. Readline passes the text after the last slash or blank."""
        typed = line[:endidx].rpartition(" ")[2]
        above = os.path.dirname(typed)
        places = self._commands.places(above or ("/" if typed.startswith("/") else "."))
        children = itertools.chain.from_iterable(place.children() for place in places)
        names = {child.name + ("/" if isinstance(child.node, Directory) else " ") for child in children}
        already = len(typed) - len(text) - len(above) - (1 if "/" in typed else 0)
        return sorted(name[max(0, already) :] for name in names if name.startswith(os.path.basename(typed)))
