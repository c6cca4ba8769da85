"""The private halves of a client's opening keys: one file a serial, gone once a checked plan names a successor."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import durable_file, keyfile
from fgpr.errors import CryptographicError
from fgpr.message import Signed
from fgpr.secagg.messages import OpeningKey
from fgpr.secagg.suites import PrivateHalf, SuiteName, private_half, suite_of

FOLDER_NAME = "opening-keys"


class OpeningKeys:
    """The keys in the home of one agent; its caller holds the home's lock.

    Raises:
        CryptographicError: others can write in the folder.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER_NAME
        keyfile.make_folder(self._folder)
        durable_file.clear_drafts(self._folder)

    def serials(self) -> tuple[int, ...]:
        """Serials whose private half is here, rising."""
        return tuple(sorted(int(path.stem) for path in self._folder.glob("*.key") if path.stem.isdecimal()))

    def add(self, serial: int, key: PrivateHalf) -> None:
        """Write a private half.

        Raises:
            CryptographicError: there is one of that serial.
        """
        keyfile.write(self._path(serial), key.private_bytes_raw())

    def get(self, serial: int) -> PrivateHalf | None:
        """The private half of that serial, or None where it is gone.

        Raises:
            CryptographicError: the file is damaged, or others can touch it.
        """
        path = self._path(serial)
        if not path.exists():
            return None
        raw = keyfile.read(path)
        try:
            return private_half(raw)
        except CryptographicError as error:
            raise CryptographicError(f"{path} is damaged: remove it, and this client sits out one round") from error

    def suite(self) -> SuiteName:
        """The suite of the newest key here; the federation's, since each key follows the one before.

        Raises:
            CryptographicError: there is no key here.
        """
        serials = self.serials()
        newest = self.get(serials[-1]) if serials else None
        if newest is None:
            raise CryptographicError(f"{self._folder} holds no opening key: restore the home from a backup")
        return suite_of(newest)

    def retire(self, named: int) -> None:
        """Erase the private halves before the serial that a checked plan names: no later plan uses them."""
        for serial in self.serials():
            if serial < named:
                durable_file.erase(self._path(serial))

    def _path(self, serial: int) -> Path:
        return self._folder / f"{serial}.key"


def signed(
    identity_key: Ed25519PrivateKey, federation: str, client: str, serial: int, key: PrivateHalf
) -> Signed[OpeningKey]:
    """The public half with its serial, signed by its holder."""
    public = key.public_key().public_bytes_raw()
    message = OpeningKey(federation=federation, client=client, serial=serial, suite=suite_of(key), key=public)
    return Signed[OpeningKey].make(identity_key, message)
