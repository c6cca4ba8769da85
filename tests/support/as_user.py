"""One command of ours as another user: `python -m support.as_user UID MODULE ARGUMENT...`; needs root.

Everything is imported first: the other user may not be allowed to read where Python lies.
"""

import encodings.idna  # what a server imports when it begins to listen
import encodings.utf_8_sig  # noqa: F401  # and a command when it reads a federation file
import importlib
import os
import sys

if __name__ == "__main__":
    user, module = int(sys.argv[1]), importlib.import_module(sys.argv[2])
    del sys.argv[1:3]
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    module.app()
