"""`ssl.principal.mapping.rules`; the cases are those of Kafka's documentation and its tests."""

import pytest

from api.security.principals import PrincipalMapping
from records.errors import RequestError

ADMIN = "CN=kafka-admin,OU=ServiceUsers,O=Org,C=DE"


@pytest.mark.parametrize(
    ("rules", "subject", "principal"),
    [
        ("", ADMIN, f"User:{ADMIN}"),
        ("DEFAULT", ADMIN, f"User:{ADMIN}"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", ADMIN, "User:kafka-admin"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/L", ADMIN, "User:kafka-admin@serviceusers"),
        ("RULE:^CN=(.*?),.*$/$1/U, DEFAULT", ADMIN, "User:KAFKA-ADMIN"),
        (r"RULE:^CN=(.*?),O=a\/b$/$1/,DEFAULT", "CN=ann,O=a/b", "User:ann"),
        ("RULE:^CN=nobody$/$0/,DEFAULT", ADMIN, f"User:{ADMIN}"),
        ("RULE:^CN=nobody$/$0/", ADMIN, None),
        ("RULE:CN/x/", ADMIN, None),
        ("", "", None),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_counts(
    rules: str, subject: str, principal: str | None
) -> None:
    assert PrincipalMapping.parse(rules).principal(subject) == principal


@pytest.mark.parametrize("rules", ["CN", "RULE:a/b", "RULE:(/b/", "RULE:a/$1/", "DEFAULTS"])
def test_a_malformed_rule_is_refused(rules: str) -> None:
    with pytest.raises(RequestError, match="is not a rule"):
        PrincipalMapping.parse(rules)
