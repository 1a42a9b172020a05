"""This process's limit of open files."""

import resource

_DESCRIPTORS_MAX = 65_536
"""Highest limit that is set: more than any process here needs; the hard limit can be unlimited."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard limit, at most to 65,536.

    Never raises an error and never lowers the limit.

    Returns:
        The soft limit in force.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= _DESCRIPTORS_MAX:
        return _DESCRIPTORS_MAX if soft == unlimited else soft
    wanted = _DESCRIPTORS_MAX if hard == unlimited else min(hard, _DESCRIPTORS_MAX)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        # A sandbox can refuse it; continue with the current limit.
        return soft
    return wanted
