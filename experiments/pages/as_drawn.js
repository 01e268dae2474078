() => {
  const shadowRoots = [];
  const find = (root) => {
    for (const { shadowRoot } of root.querySelectorAll("*")) {
      if (shadowRoot) { shadowRoots.push(shadowRoot); find(shadowRoot); }
    }
  };
  find(document);
  const whole = document.documentElement;
  const [start] = whole.cloneNode(false).outerHTML.split("</html>");
  const inner = shadowRoots.length ? whole.getHTML({ shadowRoots }) : whole.innerHTML;
  const { doctype } = document;
  return `${doctype ? new XMLSerializer().serializeToString(doctype) : ""}${start}${inner}</html>`;
}
