// What stands at places of a page, and what of it can be read by the eye.
//
// Where the whole page is shown (`wholePage`) a text may lie anywhere on it, else in the viewport. Where a
// `picture` is shown, nothing may cover it either; where `onlyPicture`, no attribute can be read. `isSeen`: whether an element is among what its reader is
// given; `bidOf`: its mark there.
({ wholePage, picture, onlyPicture, isSeen, bidOf }) => {
  const ATTRIBUTES = ["href", "title", "alt", "name", "type", "placeholder", "role", "aria-label",
    "aria-expanded", "aria-selected", "for"];
  const NO_TEXT = "script, style, noscript, template";
  const INSERTED = /(^|\s)[\w-]+-details(\s|$)/;  // how edits mark what they put in
  const REPLACED = new Set(["IMG", "VIDEO", "CANVAS", "IFRAME", "OBJECT", "EMBED", "INPUT", "TEXTAREA", "SELECT"]);
  const CENTS = "sup, [class*=cents i], [class*=fraction i], [class*=decimal i]";  // as raised.py has them
  const PSEUDO = ["::before", "::after"];
  const MAX_FOUND = 100;
  const MAX_CARDS = 1000;
  const MAX_RULES = 100;
  const MAX_TEXT = 20_000;

  // `\s` holds U+FEFF, which takes no room: it parts no words.
  const squeeze = (text) => text.replace(/\uFEFF/g, "").replace(/\s+/g, " ").replace(/^ | $/g, "");
  const memo = (find, known = new Map()) => (key) => {
    if (!known.has(key)) known.set(key, find(key));
    return known.get(key);
  };
  const styleOf = memo((element) => getComputedStyle(element));
  const boxOf = memo((element) => element.getBoundingClientRect());
  const rootsFrom = (root) => {
    const list = [root], walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    while (walker.nextNode()) {
      const { shadowRoot } = walker.currentNode;
      if (shadowRoot) list.push(...rootsFrom(shadowRoot));
    }
    return list;
  };
  const roots = rootsFrom(document);
  // Not `document.title`: a form, a picture or a frame may have this name.
  const title = () => Reflect.get(Document.prototype, "title", document);
  // Browsers do not know `:lexbor-contains("text")`, so the elements that hold such a text are named one by one.
  const pathTo = (element) => {
    const { parentElement: parent } = element;
    return parent ? `${pathTo(parent)} > :nth-child(${[...parent.children].indexOf(element) + 1})` : ":root";
  };
  const holding = (fits) => {
    const found = new Set(), walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (fits(walker.currentNode.data)) found.add(walker.currentNode.parentElement);
    return [...found].map(pathTo).join() || ":not(*)";
  };
  const named = (css) => css.replace(/:lexbor-contains\(\s*(["'])(.*?)\1\s*(i?)\s*\)/g, (written, quote, text, inAnyCase) =>
    `:is(${holding((data) => data.includes(text) || inAnyCase && data.toLowerCase().includes(text.toLowerCase()))})`);
  const query = memo((css) => {
    try { return roots.flatMap((root) => [...root.querySelectorAll(named(css))]); } catch { return null; }
  });

  const intersect = (a, b) => ({
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  });

  const { innerWidth, innerHeight, scrollX, scrollY } = self;
  const viewport = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };

  // The elements to which a rule may give a style for which `test` holds; all, where that cannot be told.
  // `test` gets the declarations of rules, in which what is not declared is empty.
  const rulesOf = (sheet) => [...sheet.cssRules].flatMap((rule) => {
    const inner = rule.styleSheet ?? rule;
    return inner.cssRules?.length ? [rule, ...rulesOf(inner)] : rule;
  });
  let rules;
  const readRules = () => {
    try {
      const isDriven = ({ animationName, transitionProperty }) => !animationName && !transitionProperty;
      return roots.some((root) => root.getAnimations().some(isDriven)) ? null
        : roots.flatMap((root) => [...root.styleSheets, ...root.adoptedStyleSheets]).flatMap(rulesOf);
    } catch { return null; }  // a sheet of another origin is closed
  };
  const styledBy = (test) => {
    if (rules === undefined) rules = readRules();
    const told = rules?.filter(({ style }) => style && test(style));
    if (told?.length === 0) return [];
    const css = told?.map(({ selectorText }) => selectorText ?? "&").join() ?? "&";
    const own = css.replace(/::(before|after|marker)/g, ":is(*)");
    return !(told?.length > MAX_RULES || /&|::|:host|:scope/.test(own)) && query(own) || query("*");
  };

  // How text for screen readers only is hidden from the eye.
  const isClippedAway = (style) =>
    style.clip === "rect(0px, 0px, 0px, 0px)" && ["absolute", "fixed"].includes(style.position);

  // Whether a colour is see-through, and how light it is (WCAG 2: relative luminance).
  let canvas = null;
  const drawn = (text) => {  // in notations such as oklch()
    canvas ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "transparent";
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const colour = (text) => {
    const [red, green, blue, alpha = 1] = text.startsWith("rgb") ? text.match(/[\d.]+/g).map(Number) : drawn(text);
    const linear = [red, green, blue].map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return { alpha, light: 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] };
  };
  // How light what a style paints behind its box is, where it is lightest and darkest;
  // [NaN]: that cannot be told; []: it paints nothing.
  const painted = ({ backgroundImage, backgroundColor }) => {
    if (/url\(|image-set\(|element\(/.test(backgroundImage)) return [NaN];
    const stops = backgroundImage.match(/[a-z]+\([^()]*\)/g) ?? [];
    const opaque = [...stops, ...(stops.length ? [] : [backgroundColor])].map(colour).filter(({ alpha }) => alpha > 0.5);
    return opaque.map(({ light }) => light);
  };
  // How light what is blended with its ground gets.
  const BLENDS = [
    [/^(screen|lighten|color-dodge|plus-lighter)$/, Math.max],
    [/^(multiply|darken|color-burn)$/, Math.min],
    [/^(difference|exclusion)$/, (ink, ground) => Math.abs(ink - ground)],
    [/^(overlay|soft-light|hue|saturation|color)$/, (ink, ground) => ground],
  ];
  const FILTERS = {
    invert: (light, share) => light + share * (1 - 2 * light),
    brightness: (light, share) => Math.min(1, light * share),
    contrast: (light, share) => Math.min(1, Math.max(0, 0.2 + share * (light - 0.2))),
  };
  const parentOf = (element) =>
    element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const lineOf = memo((element) => (element ? [element, ...lineOf(parentOf(element))] : []));  // up to the root
  const contains = (outer, inner) => lineOf(inner).includes(outer);

  // What an element does to all that is drawn in it.
  const drawing = memo((element) => {
    const style = styleOf(element), { filter, mixBlendMode } = style;
    let opacity = Number(style.opacity);
    for (const [, share, unit] of filter.matchAll(/opacity\(([\d.]+)(%?)\)/g)) opacity *= unit ? share / 100 : share;
    return {
      opacity,
      isMasked: /blur\((?!0(px)?\))/.test(filter) || style.maskImage !== "none",
      paints: style.backgroundClip === "text" ? [] : painted(style),
      filters: [...filter.matchAll(/(invert|brightness|contrast)\(([\d.]+)\)/g)].map(([, name, share]) => [name, share]),
      blend: BLENDS.find(([name]) => name.test(mixBlendMode))?.[1],
    };
  });

  // How an element's ink stands out: its opacity, and the largest contrast (WCAG 2) of an ink with a ground; 0: masked.
  const shadeOf = memo((element) => {
    const own = styleOf(element);
    const ink = isPicture(element) ? { alpha: 1 } : colour(own.webkitTextFillColor);
    // The background of some headings shows through their letters.
    const isCutOut = own.backgroundClip === "text" && ink.alpha < 0.5;
    let inks = isPicture(element) ? [0, 1] : isCutOut ? painted(own) : [ink.light], grounds = [], blend = null;
    let opacity = isCutOut ? 1 : ink.alpha;
    const line = lineOf(element).map(drawing);
    for (const at of line) {
      opacity *= at.opacity;
      if (at.isMasked) return { opacity, contrast: 0 };
      if (!grounds.length) grounds = at.paints;
      for (const [name, share] of at.filters) {
        [inks, grounds] = [inks, grounds].map((list) => list.map((light) => FILTERS[name](light, share)));
      }
      if (!grounds.length) blend ??= at.blend;
      else if (at.blend) {  // ink and ground together, with what is behind them
        const [behind = 1] = line.slice(line.indexOf(at) + 1).flatMap(({ paints }) => paints);
        [inks, grounds] = [inks, grounds].map((list) => list.map((light) => at.blend(light, behind)));
      }
    }
    if (!grounds.length) grounds = [1];
    const contrasts = inks.flatMap((light) => grounds.map((ground) => {
      const seen = blend ? blend(light, ground) : light;
      return (Math.max(seen, ground) + 0.05) / (Math.min(seen, ground) + 0.05);
    }));
    // What cannot be told (no number) stands out.
    return { opacity, contrast: Math.max(...contrasts) || 21 };
  });

  // Why the text of an element cannot be read by the eye, wherever it stands on the page; empty: it can.
  const whyFaded = memo((element) => {
    if (!element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) return "hidden";
    const own = styleOf(element);
    if (own.contentVisibility === "hidden") return "hidden";
    if (own.webkitTextSecurity !== "none") return "masked";
    const { opacity, contrast } = shadeOf(element);
    if (!contrast) return "masked";
    if (opacity < 0.1) return "transparent";
    return contrast < 1.2 && own.textShadow === "none" ? "as pale as its ground" : "";
  });

  const placing = memo((element) => {
    const { position, overflowX, overflowY, contain } = styleOf(element);
    const cuts = overflowX !== "visible" || overflowY !== "visible" || /paint|strict|content/.test(contain);
    return { position, cuts: cuts && element.tagName !== "BODY" };
  });
  // What of a box is left inside the elements around it that cut off what does not fit.
  const uncut = (box, element) => {
    let left = box, placed = placing(element).position;
    for (const at of lineOf(parentOf(element))) {
      const { position, cuts } = placing(at);
      if (at === document.scrollingElement || placed === "fixed") break;
      if (placed === "absolute" && position === "static") continue;
      if (cuts) left = intersect(left, boxOf(at));
      placed = position;
    }
    return left;
  };
  const isClipped = memo((element) => {
    const { clipPath, clip } = styleOf(element), parent = parentOf(element);
    return clipPath !== "none" || clip !== "auto" || Boolean(parent) && isClipped(parent);
  });
  const TINY = 4;
  const range = document.createRange();

  // Why a text, or a picture (an element), cannot be seen by the eye; empty: it can.
  const isPicture = (element) => element.tagName === "IMG";
  const whyNoPicture = (element) => {
    const { content, objectPosition } = styleOf(element);
    if (!element.complete || !element.naturalWidth) return "not loaded";
    if (content !== "normal") return "replaced";
    const isInside = objectPosition.split(" ").every((part) => /^(\d?\d(\.\d+)?|100)%$/.test(part));
    return isInside ? "" : "out of view";
  };
  const whyUnseen = memo((node) => {
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    const why = whyFaded(element) || (isPicture(node) && whyNoPicture(node));
    if (why) return why;
    range.selectNodeContents(node);
    const page = { left: -scrollX, top: -scrollY, right: document.documentElement.scrollWidth - scrollX,
      bottom: document.documentElement.scrollHeight - scrollY };
    const boxes = [...(element === node ? element : range).getClientRects()];
    // A tree over an element leaves its texts out. What stands in a field, the browser draws.
    if (!boxes.length) return element.closest("option, textarea") ? "" : "hidden";
    if (boxes.every(({ width, height }) => width < TINY || height < TINY)) return "tiny";
    const own = styleOf(element);
    const cut = own.overflowX !== "visible" && own.display !== "inline" ? boxOf(element) : page;
    const left = boxes.map((box) => intersect(uncut(intersect(box, cut), element), wholePage ? page : viewport))
      .filter((box) => box.right - box.left >= TINY && box.bottom - box.top >= TINY);
    const area = (list) => list.reduce((sum, { left: x, right, top, bottom }) => sum + (right - x) * (bottom - top), 0);
    if (area(left) < area(boxes) / 2) return "out of view";
    if (!picture && !isClipped(element)) return "";
    const points = left.flatMap(({ left: x, right, top, bottom }) =>
      [1 / 6, 1 / 2, 5 / 6].map((share) => [x + share * (right - x), (top + bottom) / 2]));
    const open = points.filter(([x, y]) => isOnTop(element, x, y));
    return open.length >= points.length / 2 ? "" : "covered or clipped";
  });

  // What lies over an element at a point, from the top.
  const stack = (root, x, y) => root.elementsFromPoint(x, y).filter((each) => each.getRootNode() === root)
    .flatMap((each) => (each.shadowRoot ? [...stack(each.shadowRoot, x, y), each] : [each]));
  const isPainted = (style) => style.opacity >= 0.5 && painted(style).length > 0;
  const opacityOf = (element) => lineOf(element).reduce((share, at) => share * styleOf(at).opacity, 1);
  const paintsOver = (cover, element) => opacityOf(cover) >= 0.5 && (
    !contains(cover, element) && (REPLACED.has(cover.tagName) || isPainted(styleOf(cover))) ||
    PSEUDO.some((where) => {
      const style = getComputedStyle(cover, where);
      return style.content !== "none" && style.position !== "static" && isPainted(style);
    }));
  const isOnTop = (element, x, y) => {
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return wholePage;
    const there = stack(document, x, y);
    const isPassedOver = styleOf(element).pointerEvents === "none" || element.closest("[inert]");
    const at = there.findIndex((each) => each === element || isPassedOver && contains(each, element));
    if (at < 0) return false;
    const over = [...there.slice(0, at), ...passedOver().filter((each) => isOver(each, element, x, y))];
    return !over.some((each) => paintsOver(each, element)) && !coversItself(element);
  };
  // No pointer finds these, so that no stack holds them.
  let passed = null;
  const passedOver = () => {
    if (passed) return passed;
    const outer = [...styledBy(({ pointerEvents }) => pointerEvents && pointerEvents !== "auto"),
      ...query("[style*=pointer-events], [pointer-events], [inert]")];
    const inner = roots[1] ? query("*") : outer.flatMap((each) => [each, ...each.querySelectorAll("*")]);
    passed = [...new Set(inner)].filter((each) => {
      const style = styleOf(each);
      return (style.pointerEvents === "none" || each.closest("[inert]")) && isPainted(style) &&
        !/url\(|rgba\(/.test(style.backgroundImage) && each.checkVisibility({ visibilityProperty: true });
    });
    return passed;
  };
  const isOver = (cover, element, x, y) => {
    const { left, right, top, bottom } = boxOf(cover);
    if (x < left || x > right || y < top || y > bottom || contains(cover, element)) return false;
    const common = lineOf(cover).find((each) => contains(each, element));
    const [mine, its] = [cover, element].map((each) => layerOf(each, common));
    return mine === its
      ? Boolean(element.compareDocumentPosition(cover) & Node.DOCUMENT_POSITION_FOLLOWING) : mine > its;
  };
  // The layer of an element among those of an element around it; what is not positioned lies below layer 0.
  const layerOf = (element, around) => {
    let layer = -0.5;
    for (const at of lineOf(element)) {
      if (at === around) break;
      const { position, zIndex } = styleOf(at);
      if (position !== "static") layer = Number(zIndex) || 0;
    }
    return layer;
  };
  // An element's own style sheet may draw over its text.
  const coversItself = (element) => {
    const { width, height } = boxOf(element);
    return PSEUDO.some((where) => {
      const style = getComputedStyle(element, where);
      return style.content !== "none" && ["absolute", "fixed"].includes(style.position) && isPainted(style) &&
        !(Number(style.zIndex) < 0) && parseFloat(style.width) * parseFloat(style.height) >= width * height / 2;
    });
  };

  // The texts in an element, with a decimal sign before raised cents; `given`: those that its reader is given and
  // can read by the eye.
  const textOf = (element, given) => {
    let text = "";
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (parentElement.closest(NO_TEXT)) continue;
      if (given && (!isSeen(parentElement) || (squeeze(data) && whyUnseen(walker.currentNode)))) continue;
      const cents = /^\s*\d\d\s*$/.test(data) && /\d\s*$/.test(text) && parentElement.closest(CENTS);
      if (cents && cents !== element && element.contains(cents)) text += /\.\d+\s*$/.test(text) ? "," : ".";
      text += data;
    }
    return text.slice(0, MAX_TEXT);
  };
  // Where an element is on the screen, and why nothing of its text, or of its picture, can be seen there; empty:
  // something can.
  const onScreen = (element) => {
    const { left, top, width, height } = boxOf(element);
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let why = isPicture(element) ? whyUnseen(element) || (isSeen(element) ? "" : "out of view") : null;
    while (why !== "" && walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (!squeeze(data) || parentElement.closest(NO_TEXT)) continue;
      const cause = whyUnseen(walker.currentNode) || (isSeen(parentElement) ? "" : "out of view");
      if (why === null || cause === "") why = cause;
    }
    return { box: [left, top, width, height].map(Math.round), why: why ?? "" };
  };
  const isInserted = (node) => INSERTED.test(node.getAttribute?.("class") ?? "");
  // Not `children`: a field of a form may have this name.
  const beside = (element) =>
    [...(element.parentNode?.childNodes ?? []), ...element.childNodes].filter(isInserted).map((other) => ({
      where: other.parentElement === element ? "inside"
        : element.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? "after" : "before",
      text: textOf(other, false), given: textOf(other, true), ...onScreen(other),
    }));
  const standing = (element, attribute, part) => {
    const told = { beside: beside(element), bid: bidOf(element), ...onScreen(element) };
    if (attribute === null) return { text: textOf(element, false), given: textOf(element, true), ...told };
    const holder = !part || element.matches(part) ? element : element.querySelector(part);
    const text = holder?.getAttribute(attribute) ?? "";
    if (attribute === "src" && isPicture(element)) {
      // Of several sources the browser may have taken another.
      const isDrawn = !element.currentSrc || element.currentSrc === new URL(text, document.baseURI).href;
      const address = isDrawn ? text : element.currentSrc;
      return { text: address, given: !picture ? null : told.why ? "" : address, ...told };
    }
    // In a picture nobody reads attributes; a link there is what can be seen of it.
    const isGiven = isSeen(element) && (!onlyPicture || attribute === "href" && !told.why);
    return { text, given: !ATTRIBUTES.includes(attribute) ? null : isGiven ? text : "", ...told };
  };

  // What style sheets write before and after an element, and as its mark in a list: no text of the page.
  const written = (element) => {
    const texts = PSEUDO.map((where) => getComputedStyle(element, where).content);
    const { display, listStyleType } = styleOf(element);
    if (display.includes("list-item")) texts.push(listStyleType, getComputedStyle(element, "::marker").content);
    return texts.filter((text) => text.startsWith('"')).map((text) => squeeze(text.replace(/" "/g, "").slice(1, -1)));
  };

  // The addresses of the pictures that an element draws; smaller ones stand for pictures that are still to come.
  const pictured = (element) => {
    const drawn = isPicture(element) && element.naturalWidth >= TINY ? [element.currentSrc] : [];
    const behind = styleOf(element).backgroundImage.matchAll(/url\("([^"]*)"\)/g);
    return [...drawn, ...[...behind].map(([, address]) => address)];
  };

  // For each place (a selector, perhaps an attribute, of the element or of its first `part`) what stands there,
  // whoever is shown it, and what part of it the reader is given; null where the browser does not know the
  // selector. `list`: which elements have the same parent. `card`: only what stands in it.
  const found = (places, card) => places.map(({ css, attribute, part }) => {
    const parents = [];
    const here = card ? query(css)?.filter((element) => contains(card, element)) : query(css);
    return here?.slice(0, MAX_FOUND).map((element) => {
      if (!parents.includes(element.parentNode)) parents.push(element.parentNode);
      return { ...standing(element, attribute, part), list: parents.indexOf(element.parentNode) };
    }) ?? null;
  });
  // The cards of each kind, with the address that leads to the product. Of those of which something can be seen
  // (`why` is empty) also what stands at the kind's places in them, and the texts and pictures that `held` has of them.
  const cardsOf = (kinds, held) => kinds.flatMap(({ css, link, spots }, kind) =>
    (query(css) ?? []).slice(0, MAX_CARDS).map((card) => {
      const { left, top, right, bottom, width, height } = boxOf(card), box = [left, top, width, height].map(Math.round);
      const isIn = left < innerWidth && right > 0 && top < innerHeight && bottom > 0;
      let why = !(width && height) && styleOf(card).display !== "contents" ? "hidden" : !wholePage && !isIn ? "out of view" : "";
      if (!why) why = onScreen(card).why;
      const isShown = (element) => isSeen(element) && !whyUnseen(element);
      if (why && why !== "out of view" && [...card.querySelectorAll("img")].some(isShown)) why = "";
      const at = query(link.css)?.find((element) => contains(card, element));
      const address = at && (link.attribute === null ? textOf(at, false) : at.getAttribute(link.attribute));
      const { own, pictures } = held.get(card);
      return { kind, link: address ?? "", box, why, found: why ? [] : found(spots, card),
        own: why ? "" : own.join("\n"), pictures: why ? [] : [...pictures] };
    }));
  return { found, cardsOf, query, roots, title, squeeze, written, pictured, intersect, isClippedAway, viewport, memo,
    styleOf, boxOf, parentOf, styledBy, whyUnseen, shadeOf, ATTRIBUTES, NO_TEXT };
}
