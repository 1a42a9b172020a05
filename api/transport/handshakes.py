"""Error messages for failed TLS handshakes."""

import ssl

_OTHER_SIDE = "the other side refuses the certificate"
_REASONS = {
    "WRONG_VERSION_NUMBER": "the other side does not speak TLS here",
    "HTTP_REQUEST": "the other side does not speak TLS here",
    "RECORD_LAYER_FAILURE": "the other side does not speak TLS here",
    "UNSUPPORTED_PROTOCOL": "the other side has no version of TLS from 1.2 on",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the two sides have no version of TLS in common",
    "NO_SHARED_CIPHER": "the two sides have no cipher in common",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client shows no certificate",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "a client certificate is required",
    "TLSV1_ALERT_UNKNOWN_CA": f"{_OTHER_SIDE}: it does not know the authority",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": f"{_OTHER_SIDE}: it is expired",
    "SSLV3_ALERT_BAD_CERTIFICATE": f"{_OTHER_SIDE}: it is bad",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _OTHER_SIDE,
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": f"{_OTHER_SIDE}: it is not for this purpose",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the other side refuses the handshake",
    "TLSV1_ALERT_DECRYPT_ERROR": f"{_OTHER_SIDE}: a signature is wrong",
}


def handshake_problem(error: Exception) -> str:
    """Return why a TLS handshake failed, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return _REASONS.get(error.reason, error.reason.lower().replace("_", " "))
    if isinstance(error, TimeoutError):
        return "no TLS handshake in time"
    return "the other side disconnected during the TLS handshake"
