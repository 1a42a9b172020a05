"""Certificates for tests: an authority, and what it issues, as PEM files."""

from pathlib import Path

import trustme

from api.security.tls import TlsFiles


class Authority:
    """A certificate authority with its files in a directory."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self._ca = trustme.CA()
        self._directory = directory
        self.path = directory / f"{name}.pem"
        self._ca.cert_pem.write_to_path(str(self.path))

    def issue(self, name: str, *hosts: str, **fields: object) -> TlsFiles:
        """Issue a certificate whose common name is `name`; hosts default to this machine."""
        fields = {"common_name": name, **fields}
        leaf = self._ca.issue_cert(*(hosts or ("localhost", "127.0.0.1")), **fields)  # type: ignore[arg-type]
        certificate = self._directory / f"{name}.pem"
        key = self._directory / f"{name}.key"
        certificate.write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))
        key.write_bytes(leaf.private_key_pem.bytes())
        return TlsFiles(certificate=certificate, key=key, ca=self.path)
