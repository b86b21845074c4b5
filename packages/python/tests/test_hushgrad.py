import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hushgrad
from hushgrad.keys import address, keys

SITE = "https://example.org/play/"
ROOT = Path(__file__).resolve().parents[1]


def test_settings_become_attributes():
    run = hushgrad.show(SITE, preset="cpu", sigma=1.5, pre_scale=0.5, controls=["sigma", "clip"], poster=True, clip=None)
    assert run.settings == {"preset": "cpu", "sigma": "1.5", "pre-scale": "0.5", "controls": "sigma,clip", "poster": "1"}
    run.set(sigma=2, controls=None)
    assert run.settings == {"preset": "cpu", "sigma": "2", "pre-scale": "0.5", "poster": "1"}


def test_what_nobody_knows_is_refused():
    with pytest.raises(TypeError, match="no setting sgima; did you mean sigma"):
        hushgrad.show(SITE, sgima=2)
    run = hushgrad.show(SITE, sigma=1)
    with pytest.raises(TypeError):
        run.set(magic=1)
    assert run.settings == {"sigma": "1"}


def test_a_site_is_needed(monkeypatch):
    monkeypatch.delenv("HUSHGRAD_SITE", raising=False)
    for wrong in (None, "", "example.org", "javascript:1", "/play"):
        with pytest.raises(ValueError, match="needs the address"):
            hushgrad.show(wrong)
    monkeypatch.setenv("HUSHGRAD_SITE", "https://example.org/play/index.html?x")
    assert hushgrad.show().site == SITE
    assert address("https://example.org") == "https://example.org/"


def test_the_widget_is_the_sites_own_element():
    source = (ROOT.parents[1] / "www" / "element.js").read_text(encoding="utf-8")
    assert hushgrad.Playground._esm.startswith(source)
    assert {"sigma", "view", "pre-scale", "height"} <= set(keys())


def test_no_bound_is_no_number():
    run = hushgrad.show(SITE)
    assert run.epsilon is None and run.accuracy is None
    run.state = {"epsilon": 0.25, "step": 3}
    assert run.epsilon == 0.25


def test_buttons_are_messages(monkeypatch):
    run, sent = hushgrad.show(SITE), []
    monkeypatch.setattr(run, "send", sent.append)
    run.play(), run.pause(), run.step(), run.reset()
    assert [message["type"] for message in sent] == ["play", "pause", "step", "reset"]


def test_a_plain_frame_says_the_same():
    frame = hushgrad.html(SITE, preset="cpu", controls=["sigma", "clip"], noise='a"b')
    assert frame.startswith(f'<iframe src="{SITE}embed.html?preset=cpu&amp;controls=sigma,clip&amp;noise=a%22b"')


@pytest.mark.skipif(not all(map(importlib.util.find_spec, ("build", "hatchling"))), reason="needs build and hatchling")
def test_both_distributions_hold_the_element(tmp_path):
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)], check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    assert list(tmp_path.glob("*.tar.gz"))
    with zipfile.ZipFile(wheel) as inside:
        assert inside.read("hushgrad/element.js") == (ROOT.parents[1] / "www" / "element.js").read_bytes()
        assert {"hushgrad/__init__.py", "hushgrad/widget.py", "hushgrad/keys.py"} <= set(inside.namelist())
