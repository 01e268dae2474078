// Remembers the functions of the browser's by which our scripts read a page. Then tells the first that was
// replaced, by means that cannot be replaced themselves.
() => {
  const READS = {
    Array: "every filter find findIndex flatMap includes indexOf join map push reduce slice some",
    String: "match matchAll replace slice startsWith toString",
    RegExp: "dotAll exec flags global hasIndices ignoreCase multiline sticky test unicode unicodeSets",
    Map: "get has set",
    WeakMap: "get has set",
    Set: "add clear has",
    Node: "childNodes compareDocumentPosition getRootNode nodeType parentElement parentNode",
    CharacterData: "data",
    Element: "assignedSlot attributes checkVisibility children closest getAttribute getBoundingClientRect " +
      "localName querySelectorAll scrollHeight scrollWidth shadowRoot tagName",
    ShadowRoot: "elementsFromPoint host",
    DocumentFragment: "querySelectorAll",
    Document: "createRange createTreeWalker documentElement elementsFromPoint hidden querySelectorAll " +
      "readyState scrollingElement title",
    Attr: "name value",
    TreeWalker: "currentNode nextNode",
    Range: "getClientRects selectNodeContents",
    DOMRect: "height width",
    DOMRectReadOnly: "bottom left right top",
    DOMRectList: "length",
    HTMLCollection: "length",
    NamedNodeMap: "length",
    NodeList: "length",
    Performance: "now",
    MutationRecord: "addedNodes attributeName target type",
    MutationObserver: "observe takeRecords",
  };
  const { entries, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const kept = [];
  const keep = (owner, name) => kept.push({ owner, name, was: getOwnPropertyDescriptor(owner, name) });
  for (const [type, names] of entries(READS)) {
    const { prototype } = self[type];
    for (const name of names.split(" ")) keep(prototype, name);
    if (prototype[Symbol.iterator]) keep(prototype, Symbol.iterator);
  }
  for (const part of ["match", "matchAll", "replace"]) keep(RegExp.prototype, Symbol[part]);
  for (const list of [[], new Map(), "".matchAll(/x/g)]) keep(getPrototypeOf(list[Symbol.iterator]()), "next");
  return () => {
    for (let index = 0; index < kept.length; index += 1) {
      const { owner, name, was } = kept[index];
      const now = getOwnPropertyDescriptor(owner, name);
      if (!now || now.value !== was.value || now.get !== was.get) {
        return typeof name === "symbol" ? name.description : name;
      }
    }
    return "";
  };
}
