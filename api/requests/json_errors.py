"""Error messages for text that is not JSON."""

import msgspec

# An escaped surrogate pair, \ud83d\ude00, takes six bytes after its first half.
_ROOM = b" " * 6


def json_error(text: bytes | str, error: Exception) -> str:
    r"""Return the reason for which msgspec did not decode a text.

    msgspec reports a text as truncated if half of a surrogate pair, such as `\ud800`, is near the
    end. With spaces after the text, its error names the fault and the byte.
    """
    if str(error) != "Input data was truncated":
        return str(error)
    data = text.encode() if isinstance(text, str) else text
    try:
        msgspec.json.decode(data + _ROOM)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as reason:
        return str(reason)
    return str(error)
