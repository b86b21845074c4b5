"""A live run of differentially private training in a notebook.

>>> import hushgrad
>>> run = hushgrad.show("https://YOUR.SITE/hushgrad/", preset="cpu", sigma=1.5, controls=["sigma"])
>>> run.play()
>>> run.epsilon

The run takes place in the reader's browser, and nothing of it leaves that but what :attr:`Playground.state` tells: settings, step, accuracy and ε.
"""

from .widget import Playground, html, show

__all__ = ["Playground", "html", "show"]
__version__ = "0.1.0"
