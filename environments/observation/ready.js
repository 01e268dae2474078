(longest) => new Promise((done) => {
  const running = document.getAnimations().filter((each) => each.playState !== "finished");
  for (const each of running) { try { each.finish(); } catch { each.cancel(); } }
  const isInView = ({ left, top, right, bottom }) =>
    right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
  const pictures = [...document.images].filter((each) => isInView(each.getBoundingClientRect()));
  const ready = pictures.map((each) => each.decode().catch(() => null));
  // An end is drawn with the frame after the next; a tab that shows nothing has none.
  if (running.length) ready.push(new Promise((drawn) => {
    requestAnimationFrame(() => requestAnimationFrame(drawn));
    setTimeout(drawn, 200);
  }));
  Promise.all([document.fonts.ready, ...ready]).then(() => done(true));
  setTimeout(done, longest, false);
})
