// Says why the page does not open, or which part of it does not come, and offers a way back. The build writes it into the pages
// themselves, before all that may fail to come, and its digest into their policies. Old browsers have to read it: no syntax that
// is newer than modules.
(function () {
  /** Milliseconds without a page until something is said, and that a host may take to say what is wrong with a file. */
  var SLOW = 10000;
  var LIMIT = 5000;
  /** A function that fills a vector and drops it: valid where the programs are. */
  var SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 9, 1, 7, 0, 65, 0, 253, 15, 26, 11];
  var SHEET = /\.css($|\?)/;
  var root = document.documentElement;
  var asked = [];
  var opened = false;
  /** What the sentence is about, a file or the page as such; and how bad it is. */
  var shown = null;
  var level = 0;
  var LATE = 1;
  var PART = 2;
  var WHOLE = 3;
  /** In a sandbox a page may have no origin of its own, and then the host has to let it load even its own files. */
  var apart = self.origin === "null";
  /** Whether the browser itself kept a file from such a page, whatever the host allows. */
  var barred = false;

  function name(url) {
    return new URL(url, document.baseURI).pathname.split("/").pop() || "the page";
  }

  function show(about, sentence, how) {
    // Of what is equally bad the first cause is the one to know; a wait is none.
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
    // Whoever put this page into a frame hears of it here where what talks to them did not come.
    if (parent !== window && root.hasAttribute("data-start") && !boot.talks) parent.postMessage({ source: "hushgrad", v: 1, type: "error", message: sentence }, "*");
  }

  function hide() {
    shown = null;
    level = 0;
    document.getElementById("failed").hidden = true;
  }

  /** What a host says of a file, in words; null where nothing is wrong with its answer. */
  function ask(url) {
    if (barred) return Promise.resolve("this browser lets a sandbox without an origin of its own load nothing of the site that it came from: allow-same-origin is missing");
    var late = new Promise(function (done) { setTimeout(done, LIMIT, "the host does not answer"); });
    var said = fetch(url, { cache: "no-store" }).then(function (answer) {
      var type = (answer.headers.get("content-type") || "no type").split(";")[0];
      // What the service worker has found out: more is not to be had from it.
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

  /** A file did not come, or is of no use: `what` it is, and in `error` what the browser said. */
  function fails(url, what, error) {
    if (asked.indexOf(url) >= 0) return;
    asked.push(url);
    var vital = !opened && !SHEET.test(url);
    // Threads say which of their files they miss.
    var named = /https?:[^\s"']+\.(js|wasm)/.exec(error || "");
    var file = named && !named[0].indexOf(location.origin + "/") ? named[0] : url;
    ask(file).then(function (why) {
      // What was fetched ahead of its use in vain may have come when it was used.
      if (vital && opened) return;
      var how = why || !error || named ? " did not come: " + (why || "what came is damaged, or of another version of this site") : " did not start: " + error;
      show(url, (vital ? "The page cannot open. " : "") + what + " (" + name(file) + ")" + how + ".", vital ? WHOLE : PART);
    });
  }

  var boot = (window.boot = {
    /** What is waited for just now. */
    waits: function (what) { boot.what = what; },
    what: "its start",
    fails: fails,
    /** Says `sentence` instead of a page. */
    says: function (sentence) {
      show("", sentence, WHOLE);
    },
    /** Whether the page is not to start at all. */
    refused: false,
    /** Whether `embed.js` is there. */
    talks: false,
    /** Says that a file takes long, until it comes. */
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

  /** A sheet that does not come holds up both the paint and the scripts: it is let go, and comes when it comes. Whether there was one. */
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

  /** Nothing that came before is taken again: each file of the site is fetched past all caches, and the page loaded anew. */
  function again() {
    this.disabled = true;
    var here = document.baseURI;
    // What is wrong this time, too, would be kept as the file for as long as its address is valid: it is asked for once more.
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
    // What a link tells others of this site's address is no file of the page.
    var files = named.map(function (tag) { return new URL(tag.href || tag.src || tag.content, here); });
    var work = files.filter(function (url) { return url.origin === new URL(here).origin; }).map(function (url) { return take(url); });
    work.push(fetch("files.json", { cache: "reload" }).then(function (answer) { return answer.json(); }).then(all).catch(function () {}));
    // A service worker of before may keep what is wrong: the next one takes its place.
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
  // Of elements alone: a script's own errors have no address.
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

  /** A page that is refused as it stands has nothing to try again, but another place to open. */
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
