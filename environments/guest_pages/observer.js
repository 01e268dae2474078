// Reports what stands at places of a guest's page, and what of it can be read on the screen, whenever the page
// rests and the browser is idle: once it has loaded, and after it has changed or was scrolled. Tells too what is done
// on the page: clicks, and what was at their points (but nothing that is typed), scrolling, and that the page has come,
// is looked at or no more, or is left. (`placesOf` is legible.js, `undisturbed` is undisturbed.js, `described` is described.js;
// what is said of the key in drawn.js holds here too.) It is the same for all pages, so that a browser fetches it
// once; observed.js, in the page itself, calls it.
({ key, path, wholePage, places, ownTexts, ownPictures, cards, drawn, framed }, roles) => {
  const { dispatchEvent, addEventListener: listen } = EventTarget.prototype;
  const { preventDefault } = Event.prototype;
  const { CustomEvent: Sign } = self;
  const { apply: call } = Reflect;
  const isHere = () => !call(dispatchEvent, document, [new Sign(path, { __proto__: null, cancelable: true })]);
  if (isHere()) return; // it is here already
  document.currentScript?.remove();
  if (!key || self !== top && !(framed && parent === top) || !location.protocol.startsWith("http")) return;
  const QUIET = 100, LATEST = 1000; // milliseconds
  const MOST_ACTS = 1000;
  const CHANGES = { __proto__: null, subtree: true, childList: true, characterData: true, attributes: true };
  const WRITTEN_IN = /^(text|search|number|tel|email|url|button|submit|reset|textarea)$/;
  const Request = XMLHttpRequest;
  const { open, send } = Request.prototype;
  const { sendBeacon } = navigator;
  const { stringify } = JSON;
  const { composedPath } = Event.prototype;
  const { now } = Date;
  const { requestIdleCallback: whenIdle = setTimeout } = self;
  const undisturbedly = undisturbed();

  // What each text says; and whether it was shown, which is not asked again while it says the same on one page.
  let texts = new WeakMap(), page = "";
  const read = () => {
    const { found, cardsOf, query, roots, title, squeeze, written, pictured, intersect, isClippedAway, viewport, memo,
      styleOf, boxOf, parentOf, styledBy, withPointers, isDrawn: isWritten, NO_TEXT } = placesOf(
      { wholePage, pixels: false, onTop: !wholePage, isSeen: (element) => isSeen(element), bidOf: () => "" });
    const away = new Set([...styledBy(({ clip }) => clip && clip !== "auto"), ...query("[style*=clip]")].filter(
      (element) => isClippedAway(styleOf(element))));
    const isAway = memo((element) => element !== null && (away.has(element) || isAway(parentOf(element))));
    // The style of what is not drawn takes long: it is not asked inside of what is not drawn.
    const isDrawn = memo((element) => element !== null && (element.checkVisibility() ||
      isDrawn(parentOf(element)) && styleOf(element).display === "contents"));
    const isVisible = (element) => element.checkVisibility({ __proto__: null, visibilityProperty: true }) ||
      isDrawn(element) && styleOf(element).visibility === "visible";
    const isInView = (element) => {
      const box = intersect(boxOf(element), viewport);
      return box.left < box.right && box.top < box.bottom;
    };
    const isSeen = memo((element) => (wholePage || isDrawn(element) && isInView(element)) && isVisible(element) &&
      !(away.size && isAway(element)));
    const holder = () => ({ __proto__: null, own: [], pictures: new Set() });
    const its = holder(), held = new Map(cards.flatMap(({ css }) => query(css) ?? []).map((card) => [card, holder()]));
    const kinds = cards.map(({ css }) => css).filter(query).join();
    const around = memo((element) => {
      const card = kinds && element?.closest(kinds);
      return card ? [held.get(card), ...around(card.parentElement)] : [];
    });
    const counts = memo((element) => !element.closest(NO_TEXT) && isSeen(element));
    const holdersOf = (element) => (around(element).length ? around(element) : [its]);
    const note = (element, text) => { for (const { own } of holdersOf(element)) own.push(text); };
    if (location.href !== page) texts = new WeakMap();
    page = location.href;
    its.own.push(squeeze(title()));
    for (const root of roots) {
      observer.observe(root, CHANGES);
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (ownTexts && walker.nextNode()) {
        const { currentNode: node } = walker, { data } = node;
        if (!/\S/.test(data)) continue;
        let known = texts.get(node);
        if (known?.data !== data) texts.set(node, known = { data, text: squeeze(data), isShown: false });
        const parent = node.parentElement ?? root.host;
        if (known.text && (known.isShown ||= counts(parent) && isWritten(node))) note(parent, known.text);
      }
    }
    // What style sheets write, and what stands in fields
    if (ownTexts) {
      const isMarked = styledBy(({ listStyle, listStyleType }) => /"|var/.test(listStyle + listStyleType))[0] ||
        query("[style*=list-style]")[0];
      const writing = isMarked ? query("*")
        : styledBy(({ content }) => content !== "none" && content !== "normal" && /[\p{L}\p{N}\p{Sc}.,]/u.test(content));
      for (const element of writing) if (counts(element)) written(element).forEach((text) => note(element, text));
      for (const field of query("input, textarea, button")) {
        if (WRITTEN_IN.test(field.type) && counts(field)) note(field, squeeze(field.value || field.placeholder || ""));
      }
    }
    if (ownPictures) {
      const drawing = styledBy(({ background, backgroundImage }) => /url|image|var/.test(background + backgroundImage));
      for (const element of [...drawing, ...query("img, [style*=background]")]) {
        for (const address of counts(element) ? pictured(element) : []) {
          for (const { pictures } of holdersOf(element)) pictures.add(address);
        }
      }
    }
    const isWhole = drawn.every((css) => query(css)?.length !== 0); // null: the browser does not know the selector
    if (!isWhole) page = "";
    const standing = () => ({ __proto__: null, found: found(places), cards: cardsOf(cards, held) });
    return { __proto__: null, ...(wholePage ? standing() : withPointers(standing)),
      own: ownTexts ? its.own.join("\n") : "", pictures: [...its.pictures], drawn: isWhole };
  };

  const here = () => location.pathname + location.search;
  const came = here(), visit = Math.random();
  const scroll = () => [self.scrollX, self.scrollY].map(Math.round);
  let due = 0, since = 0, known = "", acted = false;
  const tell = () => {
    if (document.readyState === "loading") return later();
    if (document.hidden && !wholePage) return;
    const seen = read();
    // Where a text stands is no news as long as it can be read.
    const news = stringify(seen, (key, value) => (key === "box" ? 0 : value));
    if (news === known) return;
    known = news;
    return stringify({ __proto__: null, ...seen, at: here(), came, visit, scroll: scroll() });
  };
  const look = (wait) => {
    clearTimeout(due);
    due = 0;
    let report;
    try {
      report = undisturbedly(tell);
    } catch (cause) {
      const replaced = typeof cause === "string" ? cause : "what reads the page";
      report = known === replaced ? "" : stringify({ __proto__: null, replaced });
      known = replaced;
    }
    if (report) say(report, wait);
  };
  const say = (report, wait) => {
    if (!wait && call(sendBeacon, navigator, [path, key + report])) return;
    const request = new Request();
    call(open, request, ["POST", path, !wait]);
    call(send, request, [key + report]);
  };
  const later = () => {
    if (!due) since = now();
    clearTimeout(due);
    const left = since + LATEST - now();
    due = setTimeout(() => whenIdle(() => { look(); tellActs(); }, { __proto__: null, timeout: QUIET }), left < QUIET ? left : QUIET);
  };

  // What is done, until it is told: when the page rests, at each click, and when the page is left.
  let acts = [], count = 0, x = 0, y = 0, scrolled = 0, clicked = 0, pressed = false, address = here();
  const note = (kind, more, when = now()) => {
    count += 1;
    if (count <= MOST_ACTS || kind === "leave") acts.push({ __proto__: null, kind, when, at: here(), ...more });
  };
  const tellActs = (act, wait) => {
    if (!act && !acts.length && !scrolled && here() === address) return;
    let report = "";
    try {
      report = undisturbedly(() => {
        const [left, top] = scroll();
        if (here() !== address) note("moved");
        address = here();
        if (scrolled && (left !== x || top !== y)) note("scroll", { x: x = left, y: y = top }, scrolled);
        scrolled = 0;
        act?.();
        return acts.length ? stringify({ __proto__: null, acts, visit, now: now() }) : "";
      });
    } catch { /* what is replaced is told by `look` */ }
    if (!report) return;
    acts = [];
    say(report, wait);
  };
  const coming = (start, how, linked) => ({ __proto__: null, start, how, linked, shown: !document.hidden });
  const click = (event) => {
    const at = call(composedPath, event, [])[0];
    let { pageX, pageY } = event;
    if (!event.detail) {  // by a key: it has no point
      const { left, top, width, height } = at.getBoundingClientRect(), [x, y] = scroll();
      [pageX, pageY] = [x + left + width / 2, y + top + height / 2].map(Math.round);
    }
    const told = described(at, roles), { origin } = location;
    if (told.href.startsWith(`${origin}/`)) told.href = told.href.slice(origin.length);
    return { ...told, x: pageX, y: pageY, button: event.button,
      keys: ["Shift", "Control", "Alt", "Meta"].filter((key) => event.getModifierState(key)) };
  };

  // In a frame of ours, which may be put away while another one is shown
  let isOut = false;
  const turns = () => tellActs(() => note(document.hidden || isOut ? "hidden" : "visible"));
  if (framed && self !== top) new IntersectionObserver(([{ isIntersecting }]) => {
    if (isOut === isIntersecting) isOut = !isIntersecting, turns();
  }).observe(document.documentElement);

  const always = (types, listener) => {
    for (const type of types) call(listen, self, [type, listener, { __proto__: null, capture: true, passive: true }]);
  };
  const begin = () => {
    call(listen, document, [path, (event) => call(preventDefault, event, [])]);
    always(["DOMContentLoaded", "load", "scroll", "resize", "visibilitychange", "transitionend", "animationend"], later);
    // Whoever acts has looked: what is not reported yet is reported first. Not all that changes a page is told.
    const press = (isTrusted, isTold) => {
      look(true);
      if (!acted || !isTold) say(`{"acted":${visit}}`, true);
      acted = true;
      pressed ||= isTrusted;
    };
    always(["pointerdown", "submit"], ({ isTrusted }) => press(isTrusted, false));
    always(["keydown"], ({ isTrusted }) => press(isTrusted, true));
    always(["click"], ({ isTrusted, detail }) => { if (detail >= 0) press(isTrusted, isTrusted); });
    // A label clicks its field in the same moment. What scripts click, nobody has clicked.
    always(["click", "auxclick"], (event) => tellActs(() => {
      if (event.isTrusted && event.timeStamp !== clicked) note("click", click(event));
      clicked = event.timeStamp;
    }, true));
    always(["scroll"], () => { scrolled = now(); });
    always(["visibilitychange"], turns);
    always(["pageshow"], (event) => tellActs(() => {
      if (event.persisted) note("page", coming(now(), "back_forward", true));
    }));
    always(["pagehide"], () => { look(); tellActs(() => note("leave")); });
  };
  begin();
  // A page that is written anew (`document.open`) loses its listeners.
  const observer = new MutationObserver(() => {
    if (!isHere()) begin();
    later();
  });
  observer.observe(document, CHANGES);
  // Where a page on which nothing was pressed leads to another one by itself, this is told before that one is asked for.
  self.navigation?.addEventListener("navigate", (event) => {
    let lead = "";
    try {
      undisturbedly(() => {
        const { url, sameDocument } = event.destination, { origin } = location;
        if (!pressed && !event.userInitiated && !sameDocument && url.startsWith(`${origin}/`))
          lead = stringify({ __proto__: null, leads: url.slice(origin.length), came });
      });
    } catch { /* as above */ }
    if (lead) say(lead, true);
  });
  note("page", coming(Math.round(now() - performance.now()),
    performance.getEntriesByType("navigation")[0]?.type ?? "", document.referrer !== ""));
  later();
}
