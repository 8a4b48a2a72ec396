"""Keys of providers at rest: sealed with one that is derived from the installation's secret."""

from __future__ import annotations

import base64
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from pydantic import SecretStr

_PURPOSE: Final = b"gauntlet: keys of model providers"  # another purpose would have another key


class WrongSecret(Exception):
    """It was sealed under another GAUNTLET_SECRET."""


def seal(key: SecretStr) -> str:
    """A key as it may be stored."""
    return _fernet(settings.GAUNTLET_SECRET).encrypt(key.get_secret_value().encode()).decode()


def unseal(sealed: str, *, former: SecretStr | None = None) -> SecretStr:
    """The key that was sealed, under this installation's secret or a former one.

    Raises:
        WrongSecret
    """
    secret = settings.GAUNTLET_SECRET if former is None else former.get_secret_value()
    try:
        return SecretStr(_fernet(secret).decrypt(sealed.encode()).decode())
    except InvalidToken as error:
        raise WrongSecret("The key was stored under another GAUNTLET_SECRET; set it again.") from error


def _fernet(secret: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
