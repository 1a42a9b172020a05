"""Why a text is not JSON."""

import msgspec

# An escaped surrogate pair, \ud83d\ude00, takes six bytes after its first half.
_ROOM = b" " * 6


def json_error(text: bytes | str, error: Exception) -> str:
    r"""Return the reason for which msgspec did not decode a text.

    msgspec calls a text truncated if half of a surrogate pair, such as `\ud800`, stands near its
    end; if spaces follow the text, the error names the fault and its byte.
    """
    if str(error) != "Input data was truncated":
        return str(error)
    data = text.encode() if isinstance(text, str) else text
    try:
        msgspec.json.decode(data + _ROOM)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as reason:
        return str(reason)
    return str(error)
