"""Names and validity of certificates, compared with those that `cryptography` reads."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import NameAttribute, RelativeDistinguishedName, _ASN1Type
from cryptography.x509.oid import NameOID

from api.security.certificates import decode_certificate

FROM, TO = dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.datetime(2061, 3, 4, 5, 6, tzinfo=dt.UTC)


def der(*parts: list[NameAttribute[str]]) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([RelativeDistinguishedName(part) for part in parts])
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(x509.Name([NameAttribute(NameOID.COMMON_NAME, "an authority")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(FROM)
        .not_valid_after(TO)
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.DER)


def subject(*attributes: tuple[x509.ObjectIdentifier, str]) -> str:
    return decode_certificate(der(*[[NameAttribute(*a)] for a in attributes])).subject


def test_a_name_is_written_from_its_last_part_on_as_kafka_does() -> None:
    assert (
        subject(
            (NameOID.COUNTRY_NAME, "DE"),
            (NameOID.ORGANIZATION_NAME, "Example"),
            (NameOID.ORGANIZATIONAL_UNIT_NAME, "Team a"),
            (NameOID.COMMON_NAME, "ann"),
        )
        == "CN=ann,OU=Team a,O=Example,C=DE"
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a,b", r"a\,b"),
        ('say "a=b"+c', r"say \"a\=b\"\+c"),
        ("# <a>;\\", r"\# \<a\>\;\\"),
        (" a  b  ", r"\ a  b\ \ "),
        ("Jörg 本", "Jörg 本"),
        ("a\nb\x00", r"a\0Ab\00"),
    ],
)
def test_what_could_be_taken_for_another_name_is_escaped(name: str, shown: str) -> None:
    assert subject((NameOID.COMMON_NAME, name)) == f"CN={shown}"


def test_attributes_without_a_keyword_are_written_by_number_and_content() -> None:
    email = NameAttribute(NameOID.EMAIL_ADDRESS, "a@b", _type=_ASN1Type.IA5String)
    found = decode_certificate(der([NameAttribute(NameOID.COMMON_NAME, "ann")], [email])).subject
    assert found == "1.2.840.113549.1.9.1=#1603614062,CN=ann"


def test_a_part_of_several_attributes_is_joined() -> None:
    part = [NameAttribute(NameOID.COMMON_NAME, "ann"), NameAttribute(NameOID.USER_ID, "7")]
    found = decode_certificate(der(part)).subject
    assert sorted(found.split("+")) == ["CN=ann", "UID=7"]


def test_times_of_both_centuries_are_read() -> None:
    certificate = decode_certificate(der())
    assert (certificate.not_before, certificate.not_after) == (FROM, TO)
    assert certificate.subject == ""


def test_a_cut_certificate_is_refused_at_every_length() -> None:
    whole = der([NameAttribute(NameOID.COMMON_NAME, "ann")])
    for size in range(len(whole)):
        with pytest.raises(ValueError, match="not a certificate"):
            decode_certificate(whole[:size])
