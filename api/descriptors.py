"""Limit of open files of this process."""

import resource

_DESCRIPTORS_MAX = 65_536
"""More than any process here needs; a hard limit can be millions, or none at all."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard one, at most 65,536.

    Never raises an error and never lowers the limit.

    Returns:
        The soft limit that is in force.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= _DESCRIPTORS_MAX:
        return _DESCRIPTORS_MAX if soft == unlimited else soft
    wanted = _DESCRIPTORS_MAX if hard == unlimited else min(hard, _DESCRIPTORS_MAX)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        # A sandbox can refuse it; the process goes on with what it has.
        return soft
    return wanted
