// Leave in the browser whatever a page can leave.
async (other) => {
  localStorage.left = "1";
  sessionStorage.left = "1";
  window.name = "left";
  document.cookie = "left=1; max-age=100000";
  document.cookie = "left-there=1; path=/elsewhere; max-age=100000";
  await new Promise((done) => {
    const opening = indexedDB.open("left");
    opening.onupgradeneeded = () => opening.result.createObjectStore("left");
    opening.onsuccess = () => { opening.result.close(); done(); };
  });
  const cache = await caches.open("left");
  await cache.put("/left", new Response("left"));
  await (await navigator.storage.getDirectory()).getFileHandle("left", { create: true });
  for (let number = 0; number < 5; number++) history.pushState({}, "", `/left-${number}`);
  await fetch("/data");
  await navigator.storage.persist();
  await Promise.race([Notification.requestPermission(), new Promise((done) => setTimeout(done, 200))]);
  window.open("/elsewhere", "other");
  const frame = document.createElement("iframe");
  frame.src = other;
  document.body.append(frame);
  await new Promise((done) => { frame.onload = done; });
  document.documentElement.requestFullscreen().catch(() => 0);
  window.scrollTo(0, 500);
  window.onpagehide = () => {
    localStorage.late = "1";
    sessionStorage.late = "1";
    document.cookie = "late=1; max-age=100000";
    navigator.sendBeacon("/late");
    fetch("/late", { method: "POST", keepalive: true });
  };
  window.onbeforeunload = (event) => event.preventDefault();
  window.fetchLater?.("/late");
}
