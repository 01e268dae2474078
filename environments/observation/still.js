// Waits until the page is whole, has run what waits to be run, and stands still: what is moving ends within a second, or
// is not waited for (a clock, a banner that turns). A lazy picture that has come into view is asked for when the page
// is drawn. `acted`: whether something was done that scripts may answer by moving things frame by frame.
(acted) => new Promise((done) => {
  const LONGEST = 1_000;
  const pause = (ms) => new Promise((over) => setTimeout(over, ms));
  const frame = () => Promise.race([new Promise((drawn) => requestAnimationFrame(drawn)), pause(100)]);
  let end;
  const left = () => end - performance.now();

  // A page that its scripts write anew after it came (`document.open`) may never be closed: it is not waited for.
  const isComing = () => document.readyState === "loading" &&
    performance.getEntriesByType("navigation").every(({ domContentLoadedEventEnd }) => !domContentLoadedEventEnd);
  const whole = async () => {
    while (isComing()) {
      const parsed = new Promise((over) => addEventListener("DOMContentLoaded", over, { once: true }));
      await Promise.race([parsed, pause(50)]);
    }
  };

  // Some pages are transparent until a script has made them what they shall be.
  const LONGEST_VEIL = 4_000;
  const unveiled = async () => {
    const latest = performance.now() + LONGEST_VEIL;
    const isVeiled = (each) => each && (getComputedStyle(each).opacity === "0" || getComputedStyle(each).visibility === "hidden");
    while ([document.documentElement, document.body].some(isVeiled) && performance.now() < latest) await pause(50);
  };

  const roots = (root) => [root, ...[...root.querySelectorAll("*")].flatMap(
    ({ shadowRoot, contentDocument }) =>
      shadowRoot || contentDocument ? roots(shadowRoot ?? contentDocument) : [])];
  const isAwaited = (picture) => !picture.complete && picture.getBoundingClientRect().top < innerHeight;
  const ends = ({ playState, currentTime, effect }) =>
    playState === "running" && effect && effect.getComputedTiming().endTime - currentTime <= LONGEST;

  // Two frames in a row in which nothing has changed or scrolled.
  const twoFramesAlike = async (all) => {
    let alike = 0;
    const observer = new MutationObserver(() => { alike = -1; });
    const every = { subtree: true, childList: true, characterData: true, attributes: true };
    for (const root of all) observer.observe(root, every);
    for (let at = scrollY; alike < 2 && left() > 0; at = scrollY) {
      await frame();
      alike = at === scrollY ? alike + 1 : 0;
    }
    observer.disconnect();
  };

  const stand = async () => {
    await unveiled();
    end = performance.now() + LONGEST;
    const all = roots(document);
    if (all.some((root) => [...root.querySelectorAll("img[loading=lazy]")].some(isAwaited))) await frame();
    if (acted) await twoFramesAlike(all);
    for (;;) {
      const moving = all.flatMap((root) => root.getAnimations()).filter(ends).map(({ finished }) => finished);
      if (!moving.length || left() <= 0) break;
      await Promise.race([Promise.allSettled(moving), pause(left())]);
    }
  };
  // The page may have replaced what is used here.
  const stands = () => setTimeout(() => setTimeout(() => stand().catch(() => null).then(() => done())));
  whole().catch(() => null).then(stands);
})
