([left, top]) => new Promise((done) => {
  scrollBy({ left, top, behavior: "instant" });
  requestAnimationFrame(done);
  setTimeout(done, 100);
})
