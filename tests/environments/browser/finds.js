// Find what an earlier page has left.
async () => {
  const files = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) files.push(name);
  const worker = new SharedWorker("/worker.js", { name: "left", extendedLifetime: true });
  const told = new Promise((done) => { worker.port.onmessage = (event) => done(event.data); });
  worker.port.postMessage("0");
  const permissions = {};
  for (const name of ["notifications", "persistent-storage", "geolocation", "clipboard-read"])
    permissions[name] = (await navigator.permissions.query({ name })).state;
  const cached = {};
  for (const path of ["/", "/data", "/worker.js"])
    cached[path] = await fetch(path, { cache: "only-if-cached", mode: "same-origin" }).then(
      (answer) => answer.status, () => "not there",
    );
  return {
    cached, files, permissions,
    local: { ...localStorage }, session: { ...sessionStorage }, name: window.name, cookies: document.cookie,
    databases: (await indexedDB.databases()).map((each) => each.name), caches: await caches.keys(),
    history: history.length, state: history.state, referrer: document.referrer, worker: await told,
    persisted: await navigator.storage.persisted(),
    hovered: document.querySelectorAll(":hover").length, focused: document.activeElement.tagName,
    size: [innerWidth, innerHeight, screenX, scrollY, visualViewport.scale], seen: document.visibilityState,
    full: document.fullscreenElement === null, opener: window.opener === null,
    active: document.hasFocus(), usage: (await navigator.storage.estimate()).usage,
  };
}
