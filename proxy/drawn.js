// Has the proxy's edits made in a page that scripts draw. Whenever something changes at a place that the site
// map names, the page as its own scripts have drawn it is sent to the proxy, which edits it as it edits any page
// and answers what is to be changed. All of this happens before the browser draws, or lets others look.
// (`undisturbed` is undisturbed.js.) The key proves that this script sends: nothing that holds it may be left where
// the page's scripts can come by, in a global name, the document, an address, or a function that they replace.
({ key, path, parts, whole, number, patience }) => {
  // A page that a script fetched brings this script once more; the first one goes on alone.
  if (!document.dispatchEvent(new CustomEvent(path, { cancelable: true }))) return;
  document.addEventListener(path, (event) => event.preventDefault());
  document.currentScript?.remove(); // the page's scripts see no trace of it
  if (!location.protocol.startsWith("http")) return;
  const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
  const SILENT = /^(script|style|noscript|template|iframe|noembed|noframes|xmp|plaintext)$/;
  const LINE_FIRST = /^(pre|listing|textarea)$/;
  const NOT_ITS_OWN = /^bid$|^browsergym_|["'<>/=\s]/; // what those who look leave in the page, or cannot be written
  const MOST_ROUNDS = 20;
  // What pages have that React takes over as the server has drawn them; this is waited for in steps of 20 ms.
  const SERVED = ["__next_f", "__NEXT_DATA__", "___gatsby", "__remixContext", "__reactRouterContext"];
  const MOST_WAITS = 250;
  const Request = XMLHttpRequest;
  const { open, send } = Request.prototype;
  const { get: answerOf } = Object.getOwnPropertyDescriptor(Request.prototype, "responseText");
  const { apply: call } = Reflect;
  const { parse, stringify } = JSON;
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (options) {
    const root = call(attachShadow, this, [options]);
    if (options?.mode === "open") watch(root);
    return root;
  };
  const undisturbedly = undisturbed();
  const came = location.pathname + location.search;
  // Nothing can be edited while the browser still reads the page. It is shown once it has been looked at.
  const veil = new CSSStyleSheet();
  veil.replaceSync("html { opacity: 0 !important }");
  document.adoptedStyleSheets.push(veil);

  const numbers = new WeakMap();
  let nodes = new Map(), last = 0;
  // What was changed: [as the page had it, as it was left]
  let texts = new Map(), values = new Map(), lists = new Map();
  let added = new Set(), removed = new Map();
  // What the elements at the places were when last asked, those that may be others since, and what is wrong
  let known = [], drawn = new Map(), undone = false, spoilt = false, answer = "", ended = "";
  let late = 0, rounds = 0, waits = 0;
  const dirty = new Set();
  const roots = [document];

  const same = (a, b) => a.length === b.length && a.every((each, index) => each === b[index]);
  const escape = (text) => text.replace(/[&<>"\r]/g, (each) => `&#${each.charCodeAt(0)};`);
  const numberOf = (node) => {
    if (!numbers.has(node)) numbers.set(node, ++last);
    return numbers.get(node);
  };
  const drawnBy = (change, value) => (change && change[1] === value ? change[0] : value);

  // The page as its own scripts have drawn it
  const children = (parent) => {
    const [was, now] = lists.get(parent) ?? [];
    const all = [...parent.childNodes];
    if (now && same(all, now)) return was;
    return all.flatMap((node) => (added.has(node) ? [] : [removed.get(node) ?? node]));
  };
  const write = (node) => {
    if (node.nodeType === 3) return escape(drawnBy(texts.get(node), node.data));
    if (node.nodeType !== 1) return "";
    const name = node.localName;
    nodes.set(numberOf(node), node);
    let html = `<${name} ${number}="${numberOf(node)}"`;
    for (const { name: attribute, value } of node.attributes) {
      if (NOT_ITS_OWN.test(attribute)) continue;
      const own = drawnBy(values.get(node)?.get(attribute), value);
      if (own !== null) html += ` ${attribute}="${escape(own)}"`;
    }
    html += LINE_FIRST.test(name) ? ">\n" : ">";
    if (VOID.test(name)) return html;
    if (node.shadowRoot) {
      watch(node.shadowRoot);
      nodes.set(numberOf(node.shadowRoot), node.shadowRoot);
      html += `<template shadowrootmode="open" ${number}="${numberOf(node.shadowRoot)}">`;
      html += `${children(node.shadowRoot).map(write).join("")}</template>`;
    }
    if (!SILENT.test(name)) html += children(node).map(write).join("");
    html += `</${name}>`;
    if (drawn.has(node)) drawn.set(node, html);
    return html;
  };

  // Changes, and how they are taken back where the page has not drawn anew
  const put = (node, text) => {
    if (node.data === text) return;
    texts.set(node, [drawnBy(texts.get(node), node.data), text]);
    node.data = text;
  };
  const order = (parent, wanted) => {
    let at = parent.firstChild;
    for (const node of wanted) {
      if (node === at) at = at.nextSibling;
      else parent.insertBefore(node, at);
    }
  };
  const undo = () => {
    for (const [parent, [was, now]] of lists) if (same([...parent.childNodes], now)) order(parent, was);
    for (const [place, node] of removed) if (place.parentNode) place.replaceWith(node);
    for (const node of added) node.remove();
    for (const place of removed.keys()) place.remove();
    for (const [node, change] of texts) node.data = drawnBy(change, node.data);
    for (const [node, changes] of values) {
      for (const [name, change] of changes) {
        const own = drawnBy(change, node.getAttribute(name));
        if (own === null) node.removeAttribute(name);
        else if (own !== node.getAttribute(name)) set(node, name, own);
      }
    }
    texts = new Map(); values = new Map(); lists = new Map(); added = new Set(); removed = new Map();
  };
  // A policy may forbid style attributes, but not what scripts say of style.
  const set = (node, name, value) => {
    if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value);
  };
  const make = ([name, attributes, inner]) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) set(node, key, value);
    node.append(...inner.map((each) => (typeof each === "string" ? each : make(each))));
    return node;
  };
  // Only what differs is written, so that the page's scripts keep their own text nodes.
  const rewrite = (run, text) => {
    const old = run.map((node) => node.data).join("");
    const most = Math.min(old.length, text.length);
    let start = 0, end = 0, offset = 0;
    while (start < most && old[start] === text[start]) start += 1;
    while (end < most - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
    let middle = text.slice(start, text.length - end);
    for (const node of run) {
      const { data } = node;
      const from = Math.max(start - offset, 0), to = Math.min(old.length - end - offset, data.length);
      offset += data.length;
      if (from > data.length || to < from) continue;
      put(node, data.slice(0, from) + middle + data.slice(to));
      middle = "";
    }
  };
  const arrange = (parent, items) => {
    const was = [...parent.childNodes];
    const kept = new Set(items.map((item) => nodes.get(item)));
    for (const node of was) {
      if (node.nodeType !== 1 || kept.has(node)) continue;
      const place = document.createComment("");
      removed.set(place, node);
      node.replaceWith(place);
    }
    let at = parent.firstChild;
    for (const item of items) {
      if (Array.isArray(item)) {
        const node = make(item);
        added.add(node);
        parent.insertBefore(node, at);
      } else if (typeof item === "string") {
        const run = [];
        for (; at && at.nodeType !== 1; at = at.nextSibling) if (at.nodeType === 3) run.push(at);
        if (run.length) rewrite(run, item);
        else {
          const node = document.createTextNode(item);
          added.add(node);
          parent.insertBefore(node, at);
        }
      } else if (nodes.get(item)?.nodeType === 1) {
        while (at && at.nodeType !== 1) at = at.nextSibling;
        if (at === nodes.get(item)) at = at.nextSibling;
        else parent.insertBefore(nodes.get(item), at);
      }
    }
    lists.set(parent, [was, [...parent.childNodes]]);
  };
  const change = (changes) => {
    undo();
    for (const { at, attributes = {}, children: items } of changes) {
      const node = nodes.get(at);
      for (const [name, value] of Object.entries(attributes)) {
        const was = node.getAttribute(name);
        set(node, name, value);
        if (!values.has(node)) values.set(node, new Map());
        values.get(node).set(name, [was, node.getAttribute(name)]);
      }
      if (items) arrange(node, items);
    }
    undone = !stands();
  };
  const stands = () =>
    [...texts].every(([node, [, now]]) => node.data === now) &&
    [...lists].every(([parent, [, now]]) => same([...parent.childNodes], now)) &&
    [...values].every(([node, all]) => [...all].every(([name, [, now]]) => node.getAttribute(name) === now));

  // A clock that was put in (countdown.js) goes on by itself.
  const ticks = (node) => node.nodeType === 1 && node.hasAttribute("data-seconds") && !node.firstElementChild &&
    /^\d+(:\d\d){1,2}$/.test(node.textContent);
  // What the page's scripts have written is theirs, even where it is what was written here: they may have put
  // another product in the place of the one before.
  const note = (records) => {
    const seen = new Set();
    for (const { target, type, attributeName, addedNodes } of records) {
      for (const node of addedNodes) {
        for (const each of node.querySelectorAll ? [node, ...node.querySelectorAll("*")] : []) {
          if (each.shadowRoot && !roots.includes(each.shadowRoot)) watch(each.shadowRoot);
        }
      }
      if (type === "characterData" && texts.has(target)) undone = texts.delete(target);
      if (type === "attributes") {
        if (values.get(target)?.has(attributeName)) undone = values.get(target).delete(attributeName);
      } else if (lists.has(target)) undone = lists.delete(target);
      for (let node = target; node && !seen.has(node); node = node.parentNode ?? node.host) {
        seen.add(node);
        if (drawn.has(node)) dirty.add(node);
        if (added.has(node) && type !== "attributes" && !ticks(target)) spoilt = true;
      }
    }
  };

  // When to ask
  // One search for all selectors; those that this browser does not know are left out.
  const joined = (list) => list.filter((css) => { try { return document.querySelector(css), true; } catch {} }).join();
  const [all, alone] = [joined(parts), joined(whole)];
  const find = (css) => (css ? roots.flatMap((root) => [...root.querySelectorAll(css)]) : []);
  const places = () => [location.href, ...find(alone), ...find(all)];
  const isNews = () => {
    if (undone || spoilt || !same(places(), known)) return true;
    for (const node of dirty) {
      const before = drawn.get(node);
      if (write(node) !== before) return true;
    }
    dirty.clear();
    return false;
  };
  const ask = (html, isLate, isReplaced) => {
    const request = new Request();
    try {
      call(open, request, ["POST", path, false]);
      call(send, request, [key + stringify({
        __proto__: null, at: location.pathname + location.search, came, html, late: isLate,
        undone: rounds > MOST_ROUNDS, spoilt, replaced: isReplaced,
      })]);
      return call(answerOf, request, []);
    } catch {} // the page is being left, or the network has failed: the page stays untreated
  };
  const round = (isLate) => {
    if (!rounds) setTimeout(() => { rounds = 0; });
    rounds += 1;
    nodes = new Map();
    drawn = new Map();
    for (const node of find(all)) drawn.set(node, "");
    const text = ask(`<!doctype html>${write(document.documentElement)}`, isLate, "");
    if (!text) return;
    const found = parse(text);
    if (found.failed) { location.replace(path); return; }
    veil.disabled = true;
    clearTimeout(late);
    if (found.waits) late = setTimeout(look, patience, [], true);
    if (answer !== text || undone) change(found.changes);
    answer = text;
    dirty.clear();
    known = places();
    for (const node of find(all)) if (!drawn.get(node)) drawn.set(node, write(node));
  };
  // React compares a page that the server has drawn with its data, and reports what differs. So the first edit
  // comes after that: React then keeps a property of its own at each element.
  const isTakenOver = () => waits > MOST_WAITS || !SERVED.some((name) => name in self) ||
    find(all).every((node) => Object.keys(node).some((name) => name.startsWith("__react")));
  const look = (records, isLate = false) => {
    if (ended) return;
    try {
      undisturbedly(() => {
        note(records);
        note(observer.takeRecords());
        if (document.readyState !== "loading" && (isLate || isNews())) {
          if (veil.disabled || isTakenOver()) round(isLate);
          else {
            waits += 1;
            clearTimeout(late);
            late = setTimeout(look, 20, [], isLate);
          }
        }
        observer.takeRecords();
      });
    } catch (cause) {
      ended = typeof cause === "string" ? cause : "what reads the page";
      ask("", false, ended);
      location.replace(path);
    }
  };
  const watch = (root) => {
    if (!roots.includes(root)) roots.push(root);
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
  };
  const observer = new MutationObserver((records) => look(records));
  watch(document);
  const again = () => look([]);
  document.addEventListener("DOMContentLoaded", again);
  window.navigation?.addEventListener("currententrychange", again);
  for (const event of ["popstate", "hashchange", "pageshow"]) addEventListener(event, again);
}
