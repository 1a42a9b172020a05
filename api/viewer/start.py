"""Start of the viewer: the page's first answers are computed while the HTTP server is imported.

Importing the server takes about as long as reading 200,000 records, so this module imports nothing
of it.
"""

import asyncio
import importlib
from collections.abc import Callable

from api.viewer.first_answers import FirstAnswers
from api.viewer.options import ViewOptions, ViewReady


async def view_until_stopped(
    options: ViewOptions,
    ready: Callable[[ViewReady], None],
    advance: Callable[[int], None] = lambda offset: None,
    loaded: Callable[[], None] = lambda: None,
) -> None:
    """Show logs until SIGTERM or SIGINT.

    Pages are served at once, and show how far the log has been read. If a single log cannot be
    read, an error is raised; of several logs, the list shows the error, and the log is tried again.

    Args:
        ready: Called once the server listens.
        advance: Called, in a thread, with the offset up to which a single log was read.
        loaded: Called once the single log was read.

    Raises:
        MetadataLogError: a single log cannot be loaded; later errors are reported in answers.
        UnavailableError: the address is in use.
    """
    first = None
    if len(options.logs) == 1:
        first = FirstAnswers.begin(options.logs[0], options.range)
    try:
        # In a thread, so that the answers are begun meanwhile.
        viewer = await asyncio.to_thread(importlib.import_module, "api.viewer.viewer")
        await viewer.show_until_stopped(options, first, ready, advance, loaded)
    finally:
        if first is not None:
            await first.workers.close()
