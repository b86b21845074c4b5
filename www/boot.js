// Reports why the page does not open, or which part of it fails to load, and offers a retry. The
// build inlines it into the pages, before everything that may fail, and puts its digest into their
// policies. Old browsers must parse it: no syntax newer than modules.
(function () {
  /** Milliseconds until a slow page is reported, and until a host must answer about a file. */
  var SLOW = 10000;
  var LIMIT = 5000;
  /** A function that fills and drops a vector: valid where the programs are. */
  var SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 9, 1, 7, 0, 65, 0, 253, 15, 26, 11];
  var SHEET = /\.css($|\?)/;
  var root = document.documentElement;
  var asked = [];
  var opened = false;
  /** What the message is about, a file or the page itself (""), and its severity. */
  var shown = null;
  var level = 0;
  var LATE = 1;
  var PART = 2;
  var WHOLE = 3;
  /** True for an opaque origin (a sandbox), where the host must allow even the page's own files. */
  var apart = self.origin === "null";
  /** True if the browser itself blocked a file of such a page, whatever the host allows. */
  var barred = false;

  function name(url) {
    return new URL(url, document.baseURI).pathname.split("/").pop() || "the page";
  }

  function show(about, sentence, how) {
    // Of equally severe causes the first is kept; a wait is not a cause.
    if (how < level || (how === level && how !== LATE)) return;
    shown = about;
    level = how;
    draw(sentence);
  }

  function draw(sentence) {
    var box = document.getElementById("failed");
    if (!box) return document.addEventListener("readystatechange", function () { draw(sentence); }, { once: true });
    box.querySelector("p").textContent = sentence;
    box.hidden = false;
    var opening = document.querySelector(".opening");
    if (opening) opening.hidden = level === WHOLE;
    dispatchEvent(new CustomEvent("hushgrad-failed", { detail: sentence }));
    // Tells the host page, if `embed.js`, which would do so, has not loaded.
    if (parent !== window && root.hasAttribute("data-start") && !boot.talks) parent.postMessage({ source: "hushgrad", v: 1, type: "error", message: sentence }, "*");
  }

  function hide() {
    shown = null;
    level = 0;
    document.getElementById("failed").hidden = true;
  }

  /** Resolves to what is wrong with the host's response for a file; null if nothing is. */
  function ask(url) {
    if (barred) return Promise.resolve("this browser lets a sandbox without an origin of its own load nothing of the site that it came from: allow-same-origin is missing");
    var late = new Promise(function (done) { setTimeout(done, LIMIT, "the host does not answer"); });
    var said = fetch(url, { cache: "no-store" }).then(function (answer) {
      var type = (answer.headers.get("content-type") || "no type").split(";")[0];
      // The service worker's own finding, about which it can say no more.
      if (answer.statusText === "Not this site's file") return null;
      if (!answer.ok) return "the host answers " + answer.status + (answer.statusText && " (" + answer.statusText + ")");
      if (type === "text/html") return "the host answers with another page";
      if (/\.js$/.test(name(url)) ? !/javascript/.test(type) : SHEET.test(url) && type !== "text/css") return "the host calls it " + type;
      return null;
    }, function () {
      return apart
        ? "the host does not let a sandbox without an origin of its own load it: either allow-same-origin is missing in the frame, or Access-Control-Allow-Origin in the host's answers"
        : "the host cannot be reached";
    });
    return Promise.race([said, late]);
  }

  /** Reports a file that did not load or is unusable: `what` it is, and the browser's `error`. */
  function fails(url, what, error) {
    if (asked.indexOf(url) >= 0) return;
    asked.push(url);
    var vital = !opened && !SHEET.test(url);
    // Threads name the file that they lack.
    var named = /https?:[^\s"']+\.(js|wasm)/.exec(error || "");
    var file = named && !named[0].indexOf(location.origin + "/") ? named[0] : url;
    ask(file).then(function (why) {
      // A file whose preload failed may have loaded when it was used.
      if (vital && opened) return;
      var how = why || !error || named ? " did not come: " + (why || "what came is damaged, or from another version of this site") : " did not start: " + error;
      show(url, (vital ? "The page cannot open. " : "") + what + " (" + name(file) + ")" + how + ".", vital ? WHOLE : PART);
    });
  }

  var boot = (window.boot = {
    /** Sets what the page is waiting for. */
    waits: function (what) { boot.what = what; },
    what: "its start",
    fails: fails,
    /** Shows `sentence` instead of the page. */
    says: function (sentence) {
      show("", sentence, WHOLE);
    },
    /** True if the page must not start. */
    refused: false,
    /** True if `embed.js` has loaded. */
    talks: false,
    /** Reports that a file is slow, until it loads. */
    lags: function (url, what) {
      show(url, what + " (" + name(url) + ") is not there after " + SLOW / 1000 + " seconds. It may be on its way, or be damaged.", LATE);
    },
    comes: function (url) {
      asked = asked.filter(function (other) { return other !== url; });
      if (shown === url) hide();
    },
    opens: function () {
      opened = true;
      clearTimeout(timer);
      if (shown !== null && !SHEET.test(shown)) hide();
    },
  });

  /** Stops pending style sheets from blocking paint and scripts; true if there were any. */
  function release() {
    var sheets = document.querySelectorAll("link[rel=stylesheet]");
    var any = false;
    for (var i = 0; i < sheets.length; i++) {
      if (sheets[i].sheet || sheets[i].media) continue;
      var later = sheets[i].cloneNode();
      later.media = "print";
      later.onload = function () { this.media = "all"; boot.comes(this.href); };
      sheets[i].replaceWith(later);
      boot.lags(later.href, "The style sheet");
      any = true;
    }
    return any;
  }

  /** Fetches each file of the site again, past all caches, and reloads the page. */
  function again() {
    this.disabled = true;
    var here = document.baseURI;
    // A wrong response would be cached under its valid address, so it is requested once more.
    function take(url, last) {
      return fetch(url, { cache: "reload" }).then(function (answer) {
        var wrong = !answer.ok || (/text\/html/.test(answer.headers.get("content-type")) && !/\.html$|^the page$/.test(name(url)));
        return answer.blob().then(function () { return wrong && last !== true ? take(url, true) : null; });
      }).catch(function () {});
    }
    function all(list) {
      var names = Object.keys(list.files).filter(function (file) { return !/^data\//.test(file); });
      return Promise.all(names.map(function (file) { return take(new URL(file, here)); }));
    }
    var named = [].slice.call(document.querySelectorAll("link[href], script[src], meta[name^=hushgrad-]"));
    // A link that gives others this site's address is not a file of the page.
    var files = named.map(function (tag) { return new URL(tag.href || tag.src || tag.content, here); });
    var work = files.filter(function (url) { return url.origin === new URL(here).origin; }).map(function (url) { return take(url); });
    work.push(fetch("files.json", { cache: "reload" }).then(function (answer) { return answer.json(); }).then(all).catch(function () {}));
    // An older service worker may have cached wrong files: the next one replaces it.
    if (navigator.serviceWorker) {
      work.push(navigator.serviceWorker.getRegistration().then(function (known) {
        return known && known.update().then(function (found) {
          if (found.waiting) found.waiting.postMessage("hushgrad-now");
        });
      }).catch(function () {}));
    }
    var late = new Promise(function (done) { setTimeout(done, 2 * LIMIT); });
    Promise.race([Promise.all(work), late]).then(function () { location.reload(); });
  }

  document.addEventListener("securitypolicyviolation", function (event) {
    if (apart && event.blockedURI.indexOf(location.protocol + "//" + location.host + "/") === 0) barred = true;
  });
  // Only errors of elements: a script's own errors have no address.
  addEventListener("error", function (event) {
    var tag = event.target;
    if (tag.tagName === "SCRIPT") fails(tag.src, "Its start");
    else if (tag.tagName === "LINK" && tag.rel === "stylesheet") fails(tag.href, "The style sheet");
    else if (tag.tagName === "LINK" && /preload/.test(tag.rel)) fails(tag.href, "Its program");
  }, true);
  document.addEventListener("click", function (event) {
    if (event.target.id === "again") again.call(event.target);
  });
  function late() {
    if (release()) timer = setTimeout(late, SLOW);
    else show("", "The page is not complete after " + SLOW / 1000 + " seconds: " + boot.what + " is on its way, or the host does not answer. It opens by itself once all of it is here.", LATE);
  }
  var timer = setTimeout(late, SLOW);

  function refuse(sentence) {
    boot.refused = true;
    clearTimeout(timer);
    boot.says(sentence);
  }

  /** Replaces the retry button of a refused page by a link that opens it elsewhere. */
  function elsewhere(text) {
    document.addEventListener("DOMContentLoaded", function () {
      var link = document.createElement("a");
      link.href = location.href;
      link.target = "_blank";
      link.rel = "noopener";
      link.textContent = text;
      document.getElementById("again").replaceWith(link);
    });
  }

  root.dataset.boot = "";
  var module = "noModule" in document.createElement("script");
  var simd = typeof WebAssembly === "object" && WebAssembly.validate(new Uint8Array(SIMD));
  if (!module || !simd) {
    refuse("This browser cannot run the page: it lacks " + (module ? "WebAssembly with SIMD" : "JavaScript modules") + ". Chrome and Edge have it from version 91 on, Firefox from 114, Safari from 16.4.");
  } else if (location.protocol === "file:") {
    refuse("This page was opened as a file, and a browser starts no program from a file. Serve its folder, for example by “python3 -m http.server” in it, and open the address that this gives.");
    document.addEventListener("DOMContentLoaded", function () { document.getElementById("again").remove(); });
  } else if (apart && !root.hasAttribute("data-start")) {
    refuse(window === top
      ? "This tab was opened from a sandbox, so this page has no origin of its own: it could start no threads and keep nothing. Copy its address into a tab of your own."
      : "This is the whole playground, which does not run in a sandbox without an origin of its own: it could start no threads and keep nothing. A page that wants it in a frame takes embed.html.");
    elsewhere(window === top ? location.href : "Open it in a tab of its own");
  }
})();
