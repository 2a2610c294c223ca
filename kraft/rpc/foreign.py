"""Other protocols, recognised by their first bytes: the client has the wrong port or the wrong protocol."""

from __future__ import annotations

_HTTP_METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE", b"PRI ")
_TLS_HANDSHAKE, _TLS_ALERT = b"\x16\x03", b"\x15\x03"
_SHOWN_BYTES = 60


def foreign_protocol(first: bytes) -> str | None:
    """Return a description of the protocol that begins with the bytes ``first``, for a log line; None if it is unknown.

    Read as the length of a frame, each of these beginnings is more than 300 MB. So a caller only needs to ask when the
    length of a frame is out of bounds.
    """
    if first.startswith(_HTTP_METHODS):
        line = first[:_SHOWN_BYTES].split(b"\r")[0].decode("ascii", "replace")
        return f"an HTTP request, {line!a}; this port speaks Kafka's protocol"
    if first.startswith(b"HTTP/"):
        return "an HTTP response; the peer is a web server"
    if first.startswith(_TLS_HANDSHAKE):
        return "a TLS handshake; this port does not speak TLS (security.protocol=PLAINTEXT)"
    if first.startswith(_TLS_ALERT):
        return "a TLS alert; the peer speaks TLS"
    return None
