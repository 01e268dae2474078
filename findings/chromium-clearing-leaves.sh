#!/bin/sh
# Chromium 156.0.8078.108 (Debian 12), driven by playwright 1.65.2 from PyPI.
#
# The DevTools command Storage.clearDataForOrigin takes one origin, yet "*" clears all of them: cookies,
# localStorage, IndexedDB and CacheStorage, and also the sessionStorage of every tab, which no single origin
# reaches. After it, with Network.clearBrowserCache, two things of a page are still there:
#   1. the client hints that its server asked for by Accept-CH: the next first request sends them;
#   2. a shared worker that was made with extendedLifetime: it answers the next page out of its old memory,
#      though no page has been open meanwhile.
# Whoever clears a browser context in place of closing it has to look for both.
#
# Seen: before: hints no, stored nothing, worker new
#       after:  hints yes, stored nothing, worker old
set -eu
browser=$(command -v chromium || command -v chromium-headless-shell || command -v google-chrome) ||
  { echo "no Chromium found"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check playwright==1.65.2
cat > "$work/clearing.py" <<'PY'
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import sync_playwright

WORKER = "let seen = 'new'; onconnect = (e) => { e.ports[0].postMessage(seen); seen = 'old'; };"
LOOK = """async () => {
  const stored = [localStorage.x, sessionStorage.x, (await caches.keys())[0]].filter((each) => each);
  localStorage.x = sessionStorage.x = "x";
  await caches.open("x");
  const worker = new SharedWorker("/worker.js", { extendedLifetime: true });
  const says = await new Promise((done) => { worker.port.onmessage = (event) => done(event.data); });
  return `stored ${stored.length ? stored : "nothing"}, worker ${says}`;
}"""
hints = []


class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        script = self.path == "/worker.js"
        if not script:
            hints.append("yes" if self.headers.get("device-memory") else "no")
        body = WORKER.encode() if script else b"<title>A page</title>"
        self.send_response(200)
        self.send_header("content-type", "text/javascript" if script else "text/html")
        self.send_header("content-length", str(len(body)))
        self.send_header("accept-ch", "Device-Memory")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/page"
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_context().new_page()
    found = []
    for moment in ("before", "after"):
        page.goto(url)
        found.append(f"hints {hints[-1]}, {page.evaluate(LOOK)}")
        print(moment, found[-1])
        page.goto("about:blank")
        session = page.context.new_cdp_session(page)
        session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        session.send("Network.clearBrowserCache")
    browser.close()
assert found == ["hints no, stored nothing, worker new", "hints yes, stored nothing, worker old"], found
PY
"$work/venv/bin/python" "$work/clearing.py" "$browser"
