"""Health check of the aggregator's container: exit code 0 where the process answers at /livez."""

import os
import ssl
import urllib.request

ADDRESS = os.environ.get("FGPR_LIVEZ", "127.0.0.1:8000")

# A certificate names the public address, not this one, and nothing secret is sent.
UNCHECKED = ssl.create_default_context()
UNCHECKED.check_hostname = False
UNCHECKED.verify_mode = ssl.CERT_NONE

if __name__ == "__main__":
    scheme = "https" if os.environ.get("FGPR_TLS_CERTIFICATE") else "http"
    urllib.request.urlopen(f"{scheme}://{ADDRESS}/livez", timeout=4, context=UNCHECKED).close()  # noqa: S310  # no file
