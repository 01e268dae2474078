// Lets our scripts read a page with the browser's own functions: what the page has put in their place, or what
// hides them, is set aside for as long as `read` runs. Throws the name of what cannot be set aside. It itself
// uses only functions that it has kept, on objects of its own. (`NAMES`: the properties that the scripts use.)
() => {
  const OWNERS = RegExp("^(?:Object|Array|String|Number|RegExp|Math|JSON|Reflect|Map|Set|WeakMap|Uint8ClampedArray|URL|Node|NodeList|CharacterData|(?:HTML(?:Input|TextArea|Button|Image|Anchor)?)?Element|Document(?:Fragment)?|" +
    "ShadowRoot|Attr|TreeWalker|Range|DOMRect.*|HTMLCollection|NamedNodeMap|CSS.*Rule.*|.*StyleSheet.*|Animation|CSSAnimation|CSSTransition|OffscreenCanvas.*|ImageData|Mutation.*|(?:UI|Mouse|Pointer|PageTransition|Navigate)?Event|NavigationDestination)$", "gm");
  const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf, setPrototypeOf } = Object;
  const { deleteProperty, ownKeys } = Reflect;
  const used = { __proto__: null };
  for (const name of NAMES.split(" ")) used[name] = true;
  const isUsed = (name) => typeof name === "symbol" || used[name];
  const kept = [];
  const keep = (owner) => {
    const names = ownKeys(owner).filter(isUsed), was = { __proto__: null };
    if (!names.length) return;
    for (const name of names) was[name] = getOwnPropertyDescriptor(owner, name);
    kept.push({ owner, names, was });
  };
  for (const name of getOwnPropertyNames(self).join("\n").match(OWNERS)) {
    keep(self[name]);
    if (self[name].prototype) keep(self[name].prototype);
  }
  keep(document);
  for (const list of [[], new Map(), new Set(), "", "".matchAll(/x/g)]) keep(getPrototypeOf(list[Symbol.iterator]()));
  keep(getPrototypeOf(getPrototypeOf([][Symbol.iterator]())));
  const VIEW = ["innerWidth", "innerHeight", "scrollX", "scrollY"];
  kept.push({ owner: self, names: VIEW, was: Object.fromEntries(VIEW.map((name) => [name, getOwnPropertyDescriptor(self, name)])) });

  return (read) => {
    const aside = [];
    let count = 0;
    // What a descriptor does not say is not asked of `Object.prototype`.
    const plain = (descriptor) => descriptor && setPrototypeOf(descriptor, null);
    const setAside = (owner, name, was) => {
      const now = plain(getOwnPropertyDescriptor(owner, name));
      try {
        if (was) defineProperty(owner, name, plain(was));
        else if (!deleteProperty(owner, name)) throw name;
      } catch {
        throw typeof name === "symbol" ? "a symbol" : name;
      }
      defineProperty(aside, count, { __proto__: null, value: { owner, name, now } });
      count += 1;
    };
    try {
      for (let index = 0; index < kept.length; index += 1) {
        const { owner, names, was } = kept[index], all = owner === self ? names : ownKeys(owner);
        for (let at = 0; at < names.length; at += 1) {
          const name = names[at], now = getOwnPropertyDescriptor(owner, name), { value, get } = was[name];
          if (!now || now.value !== value || now.get !== get) setAside(owner, name, was[name]);
        }
        for (let at = 0; at < all.length; at += 1) {
          const name = all[at];
          if (!was[name] && (isUsed(name) || name >= 0)) setAside(owner, name);
        }
      }
      return read();
    } finally {
      while (count) {
        count -= 1;
        const { owner, name, now } = aside[count];
        if (now) defineProperty(owner, name, now);
        else deleteProperty(owner, name);
      }
    }
  };
}
