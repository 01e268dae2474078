([still, longest]) => new Promise((done) => {
  let timer = setTimeout(done, still);
  const watched = new Set();
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(done, still);
    watch(document);
  };
  const observer = new MutationObserver(again);
  const watch = (root) => {
    if (!watched.has(root)) observer.observe(root, { subtree: true, childList: true, characterData: true });
    watched.add(root);
    for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot) watch(shadowRoot);
  };
  watch(document);
  setTimeout(done, longest);
})
