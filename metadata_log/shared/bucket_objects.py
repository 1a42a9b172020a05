"""Conditional writes of objects in a bucket.

An error of a conditional write does not tell whether it succeeded, so the object is read then.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from records.errors import Outcome, UnavailableError

if TYPE_CHECKING:
    from obstore.store import S3Store


class Objects:
    """The objects under a prefix.

    Attributes:
        where: The prefix as a URL, for messages.
    """

    def __init__(self, store: "S3Store") -> None:
        """Use a store that adds the prefix to all keys and does not retry requests."""
        self._store = store
        self.where = f"s3://{store.config.get('bucket', '')}/{store.prefix or ''}/"

    async def put_larger(self, name: str, number: int) -> None:
        """Write a number to an object, unless the object already has a larger number."""
        while True:
            found = await self.versioned(name)
            if found is not None and int(found[0]) >= number:
                return
            if await self.replaced(name, b"%d" % number, found):
                return

    async def replaced(
        self, name: str, content: bytes, found: tuple[bytes, str | None] | None
    ) -> bool:
        """Replace an object that still has the version `found`; return False if it has another."""
        mode: Any = "create" if found is None else {"e_tag": found[1]}
        try:
            await self._store.put_async(name, content, mode=mode, use_multipart=False)
        except (BaseError, OSError) as error:
            now = await self.versioned(name)
            if now is not None and now[0] == content:
                return True
            if isinstance(error, AlreadyExistsError | PreconditionError) and now != found:
                return False
            raise UnavailableError(
                f"{self.where}{name}: {first_line(error)}; the object may have been replaced",
                outcome=Outcome.UNKNOWN,
            ) from error
        return True

    async def versioned(self, name: str) -> tuple[bytes, str | None] | None:
        """Return an object's content and ETag; None if there is no such object."""
        with contextlib.suppress(FileNotFoundError), self.named_errors(name):
            found = await self._store.get_async(name)
            return bytes(await found.bytes_async()), found.meta["e_tag"]
        return None

    async def get(self, name: str, size: int | None = None) -> bytes | None:
        """Return an object's content, or its first bytes; None if there is no such object."""
        with contextlib.suppress(FileNotFoundError), self.named_errors(name):
            if size is not None:
                return bytes(await self._store.get_range_async(name, start=0, end=size))
            return bytes(await (await self._store.get_async(name)).bytes_async())
        return None

    @contextlib.contextmanager
    def named_errors(self, name: str) -> Iterator[None]:
        """Convert the store's errors to ours; a missing object stays a FileNotFoundError."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (BaseError, OSError) as error:
            raise UnavailableError(f"{self.where}{name}: {first_line(error)}; try again") from error


def first_line(error: Exception) -> str:
    """Return the first line of a library's error; the other lines are for the library's authors."""
    return str(error).partition("\n")[0]
