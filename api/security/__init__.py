"""Who is connected: TLS, certificates, SASL."""
