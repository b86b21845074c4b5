"""What can be set, as the element itself knows it."""

import difflib
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit


@lru_cache(maxsize=None)
def element():
    """The element's script: of the package, or of the checkout that this is run in."""
    here = Path(__file__).resolve()
    for path in (here.with_name("element.js"), here.parents[4] / "www" / "element.js"):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError("hushgrad was installed without its element; install it anew")


@lru_cache(maxsize=None)
def keys():
    """Names of all attributes."""
    names = []
    for name in ("SETTINGS", "FRAME"):
        names += re.search(rf"const {name} = `([^`]+)`", element()).group(1).split()
    return (*names, "height", "title")


def attributes(settings):
    """Settings as attributes: `pre_scale=0.5` is `pre-scale`, a list has commas between, True is 1. What nobody knows is refused."""
    found = {}
    for name, value in settings.items():
        key = name.replace("_", "-")
        if key not in keys():
            near = difflib.get_close_matches(key, keys(), 1)
            hint = f"; did you mean {near[0].replace('-', '_')}?" if near else ""
            raise TypeError(f"hushgrad has no setting {name}{hint}")
        if value is None:
            continue
        if isinstance(value, bool):
            value = int(value)
        if not isinstance(value, str) and hasattr(value, "__iter__"):
            value = ",".join(map(str, value))
        found[key] = str(value)
    return found


def address(site):
    """The playground's folder, whole, with a slash at its end."""
    parts = urlsplit(site or "")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(
            "hushgrad.show needs the address of a playground's site, as its first argument or in the environment variable HUSHGRAD_SITE: "
            f"https://…, not {site!r}"
        )
    folder = parts.path if parts.path.endswith("/") or "." not in parts.path.rsplit("/", 1)[-1] else parts.path.rsplit("/", 1)[0]
    return f"{parts.scheme}://{parts.netloc}{folder.rstrip('/')}/"
