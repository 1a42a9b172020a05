"""X.509 certificates: the subject's name as Kafka writes it, and the period of validity.

The standard library decodes neither a name with its attribute types nor a certificate that is not
verified yet. Only the fields before the public key are read here; OpenSSL does the verification.

Source: RFC 5280 (the fields), RFC 2253 (names), X500Principal.getName of Java 17 (escapes).
"""

import datetime as dt
from collections.abc import Iterator

import msgspec

_SEQUENCE, _SET, _OID = 0x30, 0x31, 0x06
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_VERSION = 0xA0

_ENCODINGS = {
    0x0C: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1E: "utf-16-be",
}
"""Encodings of strings in names, by ASN.1 tag: UTF8, Printable, T61, IA5, BMP."""

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The attributes that RFC 2253 has keywords for; others are written as `OID=#HEX`."""

_ESCAPED = frozenset(',=+<>#;"\\')


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a certificate that are shown and checked.

    `subject` is a distinguished name such as `CN=ann,OU=team,O=example`, empty if it has none.
    """

    subject: str
    not_before: dt.datetime
    not_after: dt.datetime


class _Element(msgspec.Struct, frozen=True):
    tag: int
    value: bytes
    raw: bytes


def decode_certificate(der: bytes) -> Certificate:
    """Decode a certificate.

    Raises:
        ValueError: the certificate is malformed.
    """
    try:
        certificate = next(_elements(der))
        signed = next(_elements(certificate.value))
        fields = list(_elements(signed.value))
        if fields[0].tag == _VERSION:
            fields = fields[1:]
        _, _, _, validity, subject = fields[:5]
        not_before, not_after = map(_time, _elements(validity.value))
        return Certificate(subject=_name(subject.value), not_before=not_before, not_after=not_after)
    except (StopIteration, IndexError, UnicodeDecodeError) as error:
        raise ValueError("this is not a certificate") from error


def _elements(content: bytes) -> Iterator[_Element]:
    """Yield the elements of a constructed value in DER."""
    at = 0
    while at < len(content):
        start, tag, size = at, content[at], content[at + 1]
        at += 2
        if size & 0x80:
            octets = size & 0x7F
            size = int.from_bytes(content[at : at + octets])
            at += octets
        end = at + size
        if end > len(content):
            raise ValueError("this is not a certificate: it ends too early")
        yield _Element(tag, content[at:end], content[start:end])
        at = end


def _time(element: _Element) -> dt.datetime:
    """Decode a time; a two-digit year is 1950 to 2049."""
    text = element.value.decode("ascii")
    if element.tag == _UTC_TIME:
        text = ("19" if text[:2] >= "50" else "20") + text
    elif element.tag != _GENERALIZED_TIME:
        raise ValueError("this is not a certificate: its validity has no time")
    return dt.datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=dt.UTC)


def _name(content: bytes) -> str:
    """Return a distinguished name in RFC 2253 form, i.e. with its last part first."""
    parts = [
        "+".join(_attribute(attribute.value) for attribute in _elements(part.value))
        for part in _elements(content)
    ]
    return ",".join(reversed(parts))


def _attribute(content: bytes) -> str:
    oid, value = _elements(content)
    identifier = _oid(oid.value)
    keyword = _KEYWORDS.get(identifier)
    encoding = _ENCODINGS.get(value.tag)
    if keyword is None or encoding is None:
        return f"{keyword or identifier}=#{value.raw.hex()}"
    return f"{keyword}={_escaped(value.value.decode(encoding))}"


def _oid(content: bytes) -> str:
    numbers, number = [], 0
    for octet in content:
        number = number << 7 | octet & 0x7F
        if not octet & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _escaped(text: str) -> str:
    inner = text.strip(" ")
    at = text.find(inner) if inner else len(text)
    before, after = at, len(text) - at - len(inner)
    shown = "".join(_escaped_character(character) for character in inner)
    return "\\ " * before + shown + "\\ " * after


def _escaped_character(character: str) -> str:
    if character in _ESCAPED:
        return f"\\{character}"
    if character.isprintable():
        return character
    # A name is shown in logs, so it must not bring lines and control characters of its own.
    return "".join(f"\\{octet:02X}" for octet in character.encode())
