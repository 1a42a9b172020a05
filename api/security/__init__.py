"""Encryption and authentication of connections: TLS, certificates, SASL."""
