"""Messages about the SCRAM credentials of users: describe and change.

Source: KIP-554.
"""

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response


class UserName(Message, frozen=True, kw_only=True):
    """A user to describe."""

    name: str


class DescribeUserScramCredentialsRequest(Request, frozen=True, kw_only=True):
    """Describe the credentials of the given users; null or an empty list means of all users."""

    users: tuple[UserName, ...] | None = None


class CredentialInfo(Message, frozen=True, kw_only=True):
    """Mechanism and number of iterations of a user's credential."""

    mechanism: Int8
    iterations: Int32


class DescribeUserScramCredentialsResult(Message, frozen=True, kw_only=True):
    """The credentials of one user, or an error."""

    user: str
    error_code: Int16 = 0
    error_message: str | None = None
    credential_infos: tuple[CredentialInfo, ...] = ()


class DescribeUserScramCredentialsResponse(Response, frozen=True, kw_only=True):
    """One result for each user, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    results: tuple[DescribeUserScramCredentialsResult, ...] = ()


class ScramCredentialDeletion(Message, frozen=True, kw_only=True):
    """A credential to delete."""

    name: str
    mechanism: Int8


class ScramCredentialUpsertion(Message, frozen=True, kw_only=True):
    """A credential to set."""

    name: str
    mechanism: Int8
    iterations: Int32
    salt: bytes
    salted_password: bytes


class AlterUserScramCredentialsRequest(Request, frozen=True, kw_only=True):
    """Delete and set the credentials of users."""

    deletions: tuple[ScramCredentialDeletion, ...] = ()
    upsertions: tuple[ScramCredentialUpsertion, ...] = ()


class AlterUserScramCredentialsResult(Message, frozen=True, kw_only=True):
    """Result of changing one user's credentials."""

    user: str
    error_code: Int16 = 0
    error_message: str | None = None


class AlterUserScramCredentialsResponse(Response, frozen=True, kw_only=True):
    """The results of AlterUserScramCredentials, one for each user."""

    throttle_time_ms: Int32 = 0
    results: tuple[AlterUserScramCredentialsResult, ...] = ()
