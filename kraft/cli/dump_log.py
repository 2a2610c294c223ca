"""``kraft dump-log``: print segments, indexes and snapshots, with the options and the format of kafka-dump-log."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable

import attrs
import click

from kraft.cli.dump_batches import Damage, Echo, Printing, dump_batches
from kraft.cli.dump_decoders import (
    CLASSES,
    COORDINATORS,
    Decoder,
    coordinator_decoder,
    metadata_texts,
    plain_decoder,
)
from kraft.cli.dump_files import (
    IndexPrinting,
    dump_aborted_transactions,
    dump_checkpoint,
    dump_offset_index,
    dump_producer_snapshot,
    dump_time_index,
)
from kraft.cli.metadata_files import snapshot_of
from kraft.storage.checkpoint import LEADER_EPOCH
from kraft.storage.directory import BOOTSTRAP_CHECKPOINT
from kraft.storage.errors import StorageError

_ALL = 2**31 - 1
_OFFSET_CHECKPOINT = "-offset-checkpoint"
_DECODER = "StringDecoder"
_DECODERS = ", ".join(sorted(CLASSES))


@attrs.frozen
class DumpOptions:
    """The options of one call."""

    printing: Printing
    indexes: IndexPrinting


@click.command("dump-log", short_help="Print segments, indexes and snapshots.")
@click.option("--files", required=True, metavar="FILE,...", help="The files to print, separated by commas.")
@click.option("--print-data-log", is_flag=True, help="Print keys and values. Each decoder option implies it.")
@click.option("--deep-iteration", is_flag=True, help="Print records, not only batches. Printing data implies it.")
@click.option("--cluster-metadata-decoder", "decoder", flag_value="metadata", help="Decode metadata records to JSON.")
@click.option("--offsets-decoder", "decoder", flag_value="offsets", help="Decode records of __consumer_offsets.")
@click.option(
    "--transaction-log-decoder", "decoder", flag_value="transactions", help="Decode records of __transaction_state."
)
@click.option(
    "--share-group-state-decoder", "decoder", flag_value="share_states", help="Decode records of __share_group_state."
)
@click.option("--key-decoder-class", metavar="CLASS", help=f"The decoder of keys, {_DECODER} by default: {_DECODERS}.")
@click.option("--value-decoder-class", metavar="CLASS", help="The decoder of values, one of the same.")
@click.option("--skip-record-metadata", is_flag=True, help="Print only keys and values of records.")
@click.option(
    "--max-bytes",
    type=click.IntRange(0, _ALL),
    default=_ALL,
    help="Print only batches that end within this many bytes.",
)
@click.option("--max-message-size", type=int, expose_value=False, help="Accepted for compatibility; has no effect.")
@click.option("--verify-index-only", is_flag=True, help="Only compare indexes with their logs.")
@click.option("--index-sanity-check", is_flag=True, help="Only check that the entries of indexes ascend.")
def command(
    files: str,
    print_data_log: bool,
    deep_iteration: bool,
    decoder: str | None,
    key_decoder_class: str | None,
    value_decoder_class: str | None,
    skip_record_metadata: bool,
    max_bytes: int,
    verify_index_only: bool,
    index_sanity_check: bool,
) -> int:
    """Print log segments, indexes, snapshots and checkpoints.

    The exit status is 1 if a file is damaged, or missing, or cannot be read. Like Kafka's tool, the command ignores
    files of other kinds.
    """
    decode = _decoder(decoder, print_data_log, key_decoder_class, value_decoder_class)
    printing = Printing(deep_iteration or decode is not None, decode, skip_record_metadata, max_bytes)
    options = DumpOptions(printing, IndexPrinting(verify_index_only, index_sanity_check))
    status = 0
    for path in files.rstrip(",").split(","):
        try:
            dump(path.strip(), options, _echo)
        except Damage as damage:
            status = _print_error(f"{path}: {damage}")
        except StorageError as error:
            status = _print_error(str(error))
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            status = _print_error(f"{path}: {error.strerror or error}")
    return status


def _echo(line: str) -> None:
    """Print a line without flushing it: click would flush each of a million lines."""
    try:
        sys.stdout.write(line + "\n")
    except BrokenPipeError:
        raise
    except OSError as error:  # not of the file that is read
        raise click.ClickException(f"standard output: {error.strerror}") from None


def _print_error(what: str) -> int:
    sys.stdout.flush()
    click.echo(f"Error: {what}", err=True)
    return 1


def _decoder(name: str | None, print_data: bool, key_class: str | None, value_class: str | None) -> Decoder | None:
    # An unknown class is an error even if another decoder is used.
    plain = plain_decoder(_reader(key_class or _DECODER), _reader(value_class or _DECODER))
    if name == "metadata":
        return metadata_texts
    if name is not None:
        return coordinator_decoder(COORDINATORS[name])
    return plain if print_data or key_class or value_class else None


def _reader(name: str) -> Callable[[bytes], str]:
    reader = CLASSES.get(name.rpartition(".")[2])
    if reader is None:
        raise click.UsageError(f"Unknown decoder {name!r}; the decoders are {_DECODERS}.")
    return reader


def dump(path: str, options: DumpOptions, echo: Echo) -> None:
    """Print one file; its name decides how. Raises Damage, StorageError or OSError if that fails."""
    if stat.S_ISDIR(os.stat(path).st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory; name the files in it", path)
    echo(f"Dumping {path}")
    name = os.path.basename(path)
    stem, suffix = os.path.splitext(name)
    if suffix in (".log", ".checkpoint"):
        echo(_heading(stem, suffix, name))
        dump_batches(path, options.printing, echo)
    elif suffix == ".index":
        dump_offset_index(path, options.indexes, echo)
    elif suffix == ".timeindex":
        dump_time_index(path, options.indexes, echo)
    elif suffix == ".snapshot":
        dump_producer_snapshot(path, echo)
    elif suffix == ".txnindex":
        dump_aborted_transactions(path, echo)
    elif name == LEADER_EPOCH or name.endswith(_OFFSET_CHECKPOINT):
        dump_checkpoint(path, echo)
    else:
        click.echo(f"Ignoring unknown file {path}", err=True)


def _heading(stem: str, suffix: str, name: str) -> str:
    """Return the heading that a file of batches gets from its name. Raises Damage if the name is invalid."""
    if suffix == ".log":
        if not stem.isdecimal():
            raise Damage("its name is not an offset, such as 00000000000000000000.log")
        return f"Log starting offset: {int(stem)}"
    if name == BOOTSTRAP_CHECKPOINT:
        return "KRaft bootstrap snapshot"
    snapshot = snapshot_of(name)
    if snapshot is None:
        raise Damage("its name is not a snapshot's, such as 00000000000000000041-0000000001.checkpoint")
    return f"Snapshot end offset: {snapshot.end_offset}, epoch: {snapshot.epoch}"
