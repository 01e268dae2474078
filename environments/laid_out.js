// Waits until pictures that come late move nothing any more: those down to the end of the viewport whose size is
// not known before they have come, for five seconds at most. First it lets callbacks of finished requests run.
() => new Promise((done) => {
  const roots = (root) => [root, ...[...root.querySelectorAll("*")].flatMap(({ shadowRoot, contentDocument }) =>
    shadowRoot || contentDocument ? roots(shadowRoot ?? contentDocument) : [])];
  const isSized = (element) => {  // "auto 4 / 3" is a guess that the picture may not keep
    const style = element.computedStyleMap();
    return ["width", "height", "aspect-ratio"].filter((name) => !/^auto/.test(style.get(name))).length > 1;
  };
  // One that has no height yet stands at the foot of its line; a lazy one further down never comes.
  const topOf = (element) =>
    (element.loading === "lazy" ? element : element.parentElement ?? element).getBoundingClientRect().top;
  const isLate = (element) => !(element.complete ?? element.ownerDocument.readyState === "complete") &&
    element.getClientRects().length > 0 && topOf(element) < innerHeight && !isSized(element);
  const end = performance.now() + 5_000;
  const look = () => {
    let late = false;
    try {
      const pictures = roots(document).flatMap((root) =>
        [...root.querySelectorAll("img, input[type=image], video[poster], object, embed")]);
      late = pictures.some(isLate);
    } catch { /* the page has replaced what is used here */ }
    if (late && performance.now() < end) setTimeout(look, 20);
    else done();
  };
  setTimeout(() => setTimeout(look));
})
