// Reports what stands at places of a guest's page, and what of it can be read on the screen, whenever the page
// rests: once it has loaded, and after it has changed or was scrolled. (`placesOf` is legible.js, `untouched` is
// untouched.js; what is said of the key in drawn.js holds here too.)
({ key, path, wholePage, places, ownTexts, cards, drawn }) => {
  if (!document.dispatchEvent(new CustomEvent(path, { cancelable: true }))) return; // it is here already
  document.addEventListener(path, (event) => event.preventDefault());
  document.currentScript?.remove();
  if (!key || self !== top || !location.protocol.startsWith("http")) return;
  const QUIET = 100, LATEST = 1000; // milliseconds
  const CHANGES = { subtree: true, childList: true, characterData: true, attributes: true };
  const WRITTEN_IN = /^(text|search|number|tel|email|url|button|submit|reset|textarea)$/;
  const Request = XMLHttpRequest;
  const { open, send } = Request.prototype;
  const { sendBeacon } = navigator;
  const { apply: call } = Reflect;
  const { stringify } = JSON;
  const replaced = untouched();

  const read = () => {
    const memo = (find, known = new Map()) => (key) => {
      if (!known.has(key)) known.set(key, find(key));
      return known.get(key);
    };
    const isAway = memo((element) => isClippedAway(getComputedStyle(element)) ||
      element.parentElement !== null && isAway(element.parentElement));
    const isInView = (element) => {
      const box = intersect(element.getBoundingClientRect(), viewport);
      return box.left < box.right && box.top < box.bottom;
    };
    const isSeen = memo((element) => (wholePage || isInView(element)) &&
      (element.checkVisibility({ visibilityProperty: true }) ||
        getComputedStyle(element).display === "contents") && !isAway(element));
    const { found, query, roots, squeeze, written, pictured, intersect, isClippedAway, viewport, NO_TEXT } = placesOf(
      { wholePage, picture: !wholePage, isSeen, bidOf: () => "" });
    const own = [document.title], pictures = new Set();
    const left = [NO_TEXT, ...cards.filter(query)].join();
    const counts = memo((element) => !element.closest(left) && isSeen(element));
    for (const root of roots) {
      observer.observe(root, CHANGES);
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (ownTexts && walker.nextNode()) {
        const { parentElement: parent, data } = walker.currentNode;
        if (parent && /\S/.test(data) && counts(parent)) own.push(data);
      }
      for (const element of ownTexts ? root.querySelectorAll("*") : []) {
        if (!counts(element)) continue;
        own.push(...written(element), WRITTEN_IN.test(element.type) ? element.value || element.placeholder || "" : "");
        if (!wholePage) for (const address of pictured(element)) pictures.add(address);
      }
    }
    return {
      __proto__: null, found: found(places), own: ownTexts ? own.map(squeeze).join("\n") : "",
      pictures: [...pictures],
      drawn: drawn.every((css) => query(css)?.length), replaced: "",
    };
  };
  const readIfSound = () => {
    try {
      return replaced() ? { __proto__: null, replaced: replaced() } : read();
    } catch {
      return { __proto__: null, replaced: "what reads the page" };
    }
  };

  let due = 0, since = 0, known = "";
  const look = (wait) => {
    clearTimeout(due);
    due = 0;
    if (document.readyState === "loading") return later();
    const seen = document.hidden && !wholePage ? null : readIfSound();
    // Where a text stands is no news as long as it can be read.
    const news = stringify(seen, (key, value) => (key === "box" ? 0 : value));
    if (!seen || news === known) return;
    known = news;
    const report = key + stringify({ __proto__: null, ...seen, at: location.pathname + location.search });
    if (!wait && call(sendBeacon, navigator, [path, report])) return;
    const request = new Request();
    call(open, request, ["POST", path, !wait]);
    call(send, request, [report]);
  };
  const later = () => {
    const now = performance.now();
    if (!due) since = now;
    clearTimeout(due);
    due = setTimeout(look, Math.max(0, Math.min(QUIET, since + LATEST - now)));
  };
  const observer = new MutationObserver(later);
  const always = (types, listener) => {
    for (const type of types) addEventListener(type, listener, { capture: true, passive: true });
  };
  always(["DOMContentLoaded", "load", "scroll", "resize", "visibilitychange", "transitionend", "animationend"], later);
  // Whoever acts has looked: what is not reported yet is reported first. Not all that changes a page is told.
  always(["pointerdown", "keydown", "click", "submit"], () => look(true));
  always(["pagehide"], () => look());
  observer.observe(document, CHANGES);
  later();
}
