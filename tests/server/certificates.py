"""Certificates that nobody but a test trusts."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_certificate(certificate: Path, key: Path) -> None:
    """Make a certificate for this machine, and its key."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    named = ["-nodes", "-days", "2", "-subj", "/CN=interlock.test"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *named, *names, *files], check=True, capture_output=True)
