"""Certificates for tests: an authority and the certificates it issues, as PEM files."""

import datetime as dt
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID, ObjectIdentifier

from api.security.tls import TlsFiles


class Authority:
    """A certificate authority with its files in a directory."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self._ca = trustme.CA()
        self._directory = directory
        self.path = directory / f"{name}.pem"
        self._ca.cert_pem.write_to_path(str(self.path))

    @property
    def private_key(self) -> bytes:
        """The authority's key, in PEM."""
        return self._ca.private_key_pem.bytes()

    def issue(self, name: str, *hosts: str, **fields: object) -> TlsFiles:
        """Issue a certificate whose common name is `name`; hosts default to this machine."""
        fields = {"common_name": name, **fields}
        leaf = self._ca.issue_cert(*(hosts or ("localhost", "127.0.0.1")), **fields)  # type: ignore[arg-type]
        files = self._files(name)
        assert files.certificate is not None and files.key is not None
        files.certificate.write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))
        files.key.write_bytes(leaf.private_key_pem.bytes())
        return files

    def issue_for(
        self,
        purpose: ObjectIdentifier,
        name: str,
        *,
        key_bits: int = 2_048,
        is_self_signed: bool = False,
    ) -> TlsFiles:
        """Issue a certificate that allows one purpose only, such as SERVER_AUTH."""
        key = rsa.generate_private_key(public_exponent=65_537, key_size=key_bits)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        ca = x509.load_pem_x509_certificate(self._ca.cert_pem.bytes())
        ca_key = load_pem_private_key(self._ca.private_key_pem.bytes(), None)
        now = dt.datetime.now(dt.UTC)
        hosts = [x509.DNSName("localhost")]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if is_self_signed else ca.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .sign(key if is_self_signed else ca_key, hashes.SHA256())  # type: ignore[arg-type]
        )
        files = self._files(name)
        assert files.certificate is not None and files.key is not None
        files.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
        files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return files

    def _files(self, name: str) -> TlsFiles:
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        return TlsFiles(certificate=certificate, key=key, ca=self.path)
