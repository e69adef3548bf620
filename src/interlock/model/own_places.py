"""Where Interlock itself is: a fact of the machine, handed in and recorded with the run."""

from __future__ import annotations

import msgspec


class OwnPlaces(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Interlock's own files and folders; a home folder may be written as `~`."""

    data: tuple[str, ...] = ()
    """The policy, the ledger, keys, copies: for nobody but Interlock and people to write."""
    secrets: tuple[str, ...] = ()
    """Those with which one could sign or decide: not to be read either."""
    readable: tuple[str, ...] = ()
    """What lies among the secrets, and may be read."""
    code: tuple[str, ...] = ()
    """The installed package and what is run before it; `*` stands for a part of a name."""
    packages: tuple[str, ...] = ()
    """The folders of packages in which Interlock, and what it needs, are some among others."""
    environment: tuple[str, ...] = ()
    """The environment that it runs in: the folder with the interpreter."""
    databases: tuple[str, ...] = ()
    """Ledgers in a database: `host/name`."""


NOWHERE = OwnPlaces()
"""What is known without asking: only the places that hold everywhere."""
