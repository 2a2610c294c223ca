"""From committed records to published images, with metadata transactions.

Nothing is published between BeginTransaction and EndTransaction; AbortTransaction drops the records in between
(KIP-868). A transaction may span any number of batches.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraft.messages.abort_transaction_record import AbortTransactionRecord
from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.end_transaction_record import EndTransactionRecord
from kraft.metadata.delta import Changes, Delta, MetadataError
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps, finished


class Loader:
    """Replays batches of records, in the order of the log, into one image after the other."""

    def __init__(self, image: Image | None = None) -> None:
        self.image = Image() if image is None else image
        self._open: tuple[Delta, Delta] | None = None  # the open transaction, and the state to restore on abort

    @property
    def in_transaction(self) -> bool:
        """Whether the loaded part of the log ends inside a metadata transaction."""
        return self._open is not None

    def copy(self) -> Loader:
        """Return an independent loader in the same state. Both share the image."""
        copy = Loader(self.image)
        if self._open is not None:
            copy._open = self._open[0].copy(), self._open[1].copy()
        return copy

    def settled(self) -> Image:
        """The image without the open transaction's records, at the offset before it."""
        if self._open is None:
            return self.image
        image, _ = self._open[1].finish(self.image.offset, self.image.epoch, self.image.timestamp_ms)
        return image

    def load(
        self, records: Iterable[object], offset: int, epoch: int, timestamp_ms: int
    ) -> tuple[Image, Changes] | None:
        """Replay one batch, whose last record is at ``offset``. Return the image and changes to publish, or None in a
        transaction.

        Raises MetadataError if a record is unknown, contradicts the image, or opens or closes a transaction wrongly.
        """
        return finished(self.load_in_steps(records, offset, epoch, timestamp_ms))

    def load_in_steps(
        self, records: Iterable[object], offset: int, epoch: int, timestamp_ms: int
    ) -> Steps[tuple[Image, Changes] | None]:
        """Do the same as :meth:`load`, in steps. The image changes with the last one. If the steps before it are not
        followed by the others, nothing has changed, unless a transaction is open.
        """
        delta = self._open[0] if self._open is not None else Delta(self.image)
        for record in records:
            if isinstance(record, BeginTransactionRecord):
                self._require_transaction(False, record)
                self._open = delta, delta.copy()
            elif isinstance(record, EndTransactionRecord):
                self._require_transaction(True, record)
                self._open = None
            elif isinstance(record, AbortTransactionRecord):
                delta = self._require_transaction(True, record) or delta
                self._open = None
            else:
                delta.replay(record)
            yield 1
        if self._open is not None:
            return None
        self.image, changes = yield from delta.finish_in_steps(offset, epoch, timestamp_ms)
        return self.image, changes

    def _require_transaction(self, expected: bool, record: object) -> Delta | None:
        """Return the state to restore. Raises MetadataError if no transaction is open, or one is that must not be."""
        if self.in_transaction != expected:
            raise MetadataError(f"{type(record).__name__} {'outside' if expected else 'inside'} of a transaction")
        return None if self._open is None else self._open[1]
