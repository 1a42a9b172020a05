"""The lifecycle rules of a bucket, which delete or move objects by their age.

The library for object stores has no call for them, so the request is signed here.

Source: GetBucketLifecycleConfiguration, and Signature Version 4, of Amazon's S3.
"""

import hashlib
import hmac
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import msgspec

if TYPE_CHECKING:
    from obstore.store import S3Store

_TIMEOUT_S = 10.0
_ALGORITHM = "AWS4-HMAC-SHA256"
_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()

_ACTIONS = ("Expiration/{*}Days", "Expiration/{*}Date", "Transition")
"""What takes objects away; old versions, delete markers and unfinished uploads are no loss."""


class LifecycleRule(msgspec.Struct, frozen=True):
    """An enabled rule that deletes or moves objects; `prefix` is that of their names."""

    name: str
    prefix: str

    def concerns(self, prefix: str) -> bool:
        """Return whether the rule can delete or move objects under a prefix."""
        return self.prefix.startswith(prefix) or prefix.startswith(self.prefix)


class UnreadableRulesError(Exception):
    """The rules cannot be read; the message says why."""


class Credentials(msgspec.Struct, frozen=True):
    """What signs a request; `token` is empty for lasting credentials."""

    key_id: str
    secret: str
    token: str = ""


def lifecycle_rules(store: "S3Store") -> Sequence[LifecycleRule]:
    """Return the rules of a store's bucket; blocks.

    Raises:
        UnreadableRulesError: the credentials are not in the environment, or may not read the rules;
            or the store does not answer.
    """
    region = _setting(store, "region", "default_region") or "us-east-1"
    endpoint = _setting(store, "endpoint", "endpoint_url") or f"https://s3.{region}.amazonaws.com"
    credentials = Credentials(
        _setting(store, "access_key_id"),
        _setting(store, "secret_access_key"),
        _setting(store, "session_token"),
    )
    if not credentials.key_id:
        raise UnreadableRulesError("there are no credentials in the environment")
    parts = urlsplit(endpoint)
    path = f"{parts.path.rstrip('/')}/{quote(str(store.config['bucket']))}"
    headers = signed_headers(
        parts.netloc, path, "lifecycle=", region, credentials, datetime.now(UTC)
    )
    request = urllib.request.Request(
        f"{parts.scheme}://{parts.netloc}{path}?lifecycle=", headers=dict(headers)
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return rules_in(answer.read())
    except urllib.error.HTTPError as error:
        if error.code == http.client.NOT_FOUND:
            return ()  # NoSuchLifecycleConfiguration
        raise UnreadableRulesError(f"the store answers {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException, ElementTree.ParseError) as error:
        raise UnreadableRulesError(str(error)) from error


def rules_in(content: bytes) -> Sequence[LifecycleRule]:
    """Return the rules in a LifecycleConfiguration.

    Rules for objects with tags are left out: no object here has a tag.

    Raises:
        ElementTree.ParseError: the content is no XML.
    """
    rules = []
    for rule in ElementTree.fromstring(content).iterfind("{*}Rule"):
        takes_away = any(rule.find(f"{{*}}{action}") is not None for action in _ACTIONS)
        is_on = rule.findtext("{*}Status") == "Enabled"
        if takes_away and is_on and rule.find(".//{*}Tag") is None:
            # In the rule itself, in its Filter, or in the Filter's And.
            prefix = rule.findtext(".//{*}Prefix") or ""
            rules.append(LifecycleRule(rule.findtext("{*}ID") or "without an ID", prefix))
    return rules


def signed_headers(
    host: str, path: str, query: str, region: str, credentials: Credentials, at: datetime
) -> Mapping[str, str]:
    """Return the headers of a signed GET without a body.

    Args:
        path: Quoted, from `/` on.
        query: Quoted, its parameters in order, each with `=`.
        at: The time of the request, in UTC.
    """
    moment = f"{at:%Y%m%dT%H%M%SZ}"
    headers = {"host": host, "x-amz-content-sha256": _EMPTY_SHA256, "x-amz-date": moment}
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = ";".join(headers)
    lines = [f"{name}:{value}" for name, value in headers.items()]
    request = "\n".join(["GET", path, query, *lines, "", names, _EMPTY_SHA256])
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, f"{_ALGORITHM}\n{moment}\n{scope}\n{digest}".encode(), "sha256")
    headers["authorization"] = (
        f"{_ALGORITHM} Credential={credentials.key_id}/{scope}, SignedHeaders={names}, "
        f"Signature={signature.hex()}"
    )
    return headers


def _setting(store: "S3Store", *names: str) -> str:
    """Return a setting of a store, which the environment gives unless the store has its own."""
    own = [store.config.get(name, "") for name in names]
    around = [os.environ.get(f"AWS_{name.upper()}", "") for name in names]
    return str(next(filter(None, (*own, *around)), ""))
