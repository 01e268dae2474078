({ known, product, parts }) => new Promise((done) => {
  const roots = (root) => [root, ...[...root.querySelectorAll("*")].filter((each) => each.shadowRoot)
    .flatMap((each) => roots(each.shadowRoot))];
  const all = roots(document);
  const has = (css) => {
    try { return all.some((root) => root.querySelector(css)); } catch { return css !== product; }
  };
  const isDrawn = !document.scripts.length ||
    known.some(has) && !(product && has(product) && !parts.every(has));
  if (isDrawn) done(true);
  else setTimeout(done, 20, false);
})
