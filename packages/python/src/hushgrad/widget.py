"""The widget: <hush-grad> with its attributes, events and methods as Python has them."""

import os
from html import escape
from urllib.parse import urlencode

import anywidget
import traitlets

from .keys import address, attributes, element

RENDER = """
const EVENTS = ["ready", "paused", "complete", "state", "step"];

function render({ model, el }) {
  const playground = document.createElement("hush-grad");
  const names = new Set();
  const apply = () => {
    const settings = model.get("settings");
    for (const name of names) if (!(name in settings)) playground.removeAttribute(name);
    for (const [name, value] of Object.entries(settings)) if (playground.getAttribute(name) !== value) playground.setAttribute(name, value);
    names.clear();
    for (const name of Object.keys(settings)) names.add(name);
  };
  playground.setAttribute("src", model.get("site"));
  apply();
  let late = 0;
  const tell = () => {
    late = 0;
    model.save_changes();
  };
  for (const kind of EVENTS) playground.addEventListener(kind, ({ detail }) => {
    model.set("state", detail);
    // Twenty steps a second are more than a kernel wants to hear of.
    if (kind !== "step") tell();
    else late ||= setTimeout(tell, 500);
  });
  playground.addEventListener("error", ({ detail }) => {
    model.set("problem", detail.message);
    tell();
  });
  const hear = (message) => {
    if (["play", "pause", "step", "reset"].includes(message?.type)) playground[message.type]();
  };
  model.on("change:settings", apply);
  model.on("msg:custom", hear);
  el.append(playground);
  return () => {
    clearTimeout(late);
    model.off("change:settings", apply);
    model.off("msg:custom", hear);
    playground.remove();
  };
}
export default { render };
"""


class Playground(anywidget.AnyWidget):
    """A run in the reader's browser. `state` follows it; `set` changes it."""

    _esm = element() + RENDER
    site = traitlets.Unicode().tag(sync=True)
    settings = traitlets.Dict(value_trait=traitlets.Unicode(), key_trait=traitlets.Unicode()).tag(sync=True)
    #: What the page last told: `query`, `step`, `accuracy`, `epsilon`, `guarantee` and more (docs/embedding.md).
    state = traitlets.Dict().tag(sync=True)
    #: What was last refused, in a sentence.
    problem = traitlets.Unicode().tag(sync=True)

    def __init__(self, site=None, **settings):
        super().__init__(site=address(site or os.environ.get("HUSHGRAD_SITE")), settings=attributes(settings))

    def set(self, **settings):
        """Sets what is named; None takes a setting back. Settings of the run are set as it stands, all else loads the frame anew."""
        gone = {name.replace("_", "-") for name, value in settings.items() if value is None}
        kept = {name: value for name, value in self.settings.items() if name not in gone}
        self.settings = {**kept, **attributes(settings)}

    def play(self):
        """As the button."""
        self.send({"type": "play"})

    def pause(self):
        """As the button."""
        self.send({"type": "pause"})

    def step(self):
        """As the button."""
        self.send({"type": "step"})

    def reset(self):
        """As the button."""
        self.send({"type": "reset"})

    @property
    def epsilon(self):
        """The upper bound as of the last step; None where there is none: then nothing may be claimed."""
        return self.state.get("epsilon")

    @property
    def accuracy(self):
        """Share of test images that are read right, as of the last measurement."""
        return self.state.get("accuracy")


def show(site=None, **settings):
    """A run of the playground at `site` (or HUSHGRAD_SITE), with everything set as named: `preset`, `sigma`, `controls`, `view`, …"""
    return Playground(site, **settings)


def html(site=None, *, width="100%", height=460, **settings):
    """The same as a plain frame, for pages that have no widgets."""
    query = urlencode(attributes(settings), safe=",")
    source = escape(f"{address(site or os.environ.get('HUSHGRAD_SITE'))}embed.html{'?' if query else ''}{query}")
    return (
        f'<iframe src="{source}" title="hushgrad: train a model privately" width="{width}" height="{height}" loading="lazy" referrerpolicy="no-referrer" '
        'sandbox="allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-downloads" allow="clipboard-write" style="border: 0"></iframe>'
    )
