"""A bucket's lifecycle rules, which would take groups of a shared log away."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from metadata_log.shared.bucket import BucketSharedLog
from metadata_log.stores.lifecycle import Credentials, LifecycleRule, rules_in, signed_headers
from records.errors import RequestError
from tests.shared_log.faulty_s3 import faulty_s3

EXPIRES = {"Expiration": {"Days": 30}}
OLD_VERSIONS = {"NoncurrentVersionExpiration": {"NoncurrentDays": 1}}
DELETE_MARKERS = {"Expiration": {"ExpiredObjectDeleteMarker": True}}


def _set_rule(s3_url: str, place: str, rule: Mapping[str, Any]) -> None:
    """Give the bucket of a place one rule."""
    boto3.client(
        "s3", endpoint_url=s3_url, region_name="us-east-1"
    ).put_bucket_lifecycle_configuration(
        Bucket=urlsplit(place).hostname,
        LifecycleConfiguration={"Rules": [{"ID": "tidy", "Status": "Enabled", **rule}]},
    )


@pytest.mark.parametrize(
    ("prefix", "rule", "is_refused"),
    [
        ("", EXPIRES, True),
        ("PLACE/", EXPIRES, True),
        ("PLACE/groups/", EXPIRES, True),
        ("backups/", EXPIRES, False),
        ("", OLD_VERSIONS, False),
        ("", {**OLD_VERSIONS, **DELETE_MARKERS}, False),
        ("", {**EXPIRES, "Status": "Disabled"}, False),
    ],
)
async def test_a_rule_on_the_prefix_is_refused(
    s3_url: str,
    s3_place: str,
    caplog: pytest.LogCaptureFixture,
    prefix: str,
    rule: Mapping[str, Any],
    is_refused: bool,
) -> None:
    place = urlsplit(s3_place).path.strip("/")
    wanted = prefix.replace("PLACE", place)
    _set_rule(s3_url, s3_place, {"Filter": {"Prefix": wanted}, **rule})
    log = BucketSharedLog.of_url(s3_place)
    if is_refused:
        with pytest.raises(RequestError, match=f"'tidy' .* moves objects under '{wanted}'"):
            await log.open()
    else:
        await log.open()
    assert caplog.records == []


async def test_rules_that_cannot_be_read_are_said(
    s3_url: str,
    s3_place: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with faulty_s3(s3_url) as s3:
        s3.refuses = "?lifecycle="
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
        await BucketSharedLog.of_url(s3_place).open()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{s3_place}/: the bucket's lifecycle rules cannot be read" in record.message
    assert "403" in record.message


def test_rules_are_read_in_each_form() -> None:
    content = b"""<?xml version="1.0"?>
<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Rule><ID>old</ID><Prefix>a/</Prefix><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule>
  <Rule><ID>and</ID><Filter><And><Prefix>b/</Prefix><ObjectSizeGreaterThan>9</ObjectSizeGreaterThan></And></Filter>
    <Status>Enabled</Status><Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition></Rule>
  <Rule><Filter/><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule>
  <Rule><ID>date</ID><Filter/><Status>Enabled</Status><Expiration><Date>2030-01-01T00:00:00Z</Date></Expiration></Rule>
  <Rule><ID>markers</ID><Filter/><Status>Enabled</Status>
    <Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration></Rule>
  <Rule><ID>tagged</ID><Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter><Status>Enabled</Status>
    <Expiration><Days>1</Days></Expiration></Rule>
</LifecycleConfiguration>"""
    assert rules_in(content) == [
        LifecycleRule("old", "a/"),
        LifecycleRule("and", "b/"),
        LifecycleRule("without an ID", ""),
        LifecycleRule("date", ""),
    ]


@pytest.mark.parametrize("token", ["", "session"])
def test_requests_are_signed_as_by_boto(token: str) -> None:
    at = datetime(2026, 11, 29, 12, 30, 5, tzinfo=UTC)
    signed = signed_headers(
        "localhost:9000", "/a%20bucket", "lifecycle=", "eu-1", Credentials("id", "key", token), at
    )
    request = botocore.awsrequest.AWSRequest("GET", "http://localhost:9000/a%20bucket?lifecycle=")
    request.context["timestamp"] = at.strftime("%Y%m%dT%H%M%SZ")
    credentials = botocore.credentials.Credentials("id", "key", token or None)
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    signer = botocore.auth.S3SigV4Auth(credentials, "s3", "eu-1")
    signer._modify_request_before_signing(request)
    canonical = signer.canonical_request(request)
    expected = signer.signature(signer.string_to_sign(request, canonical), request)
    assert signed["authorization"].endswith(f"Signature={expected}")
