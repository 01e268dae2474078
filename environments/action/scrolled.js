() => new Promise((done) => {
  let last = "", still = 0;
  const where = () => [...document.querySelectorAll("*")].filter((each) => each.scrollTop || each.scrollLeft)
    .map((each) => `${each.scrollLeft},${each.scrollTop}`).join(" ") + ` ${scrollX},${scrollY}`;
  const look = () => {
    const now = where();
    still = now === last ? still + 1 : 0;
    last = now;
    if (still > 3) done(); else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  setTimeout(done, 1000);
})
