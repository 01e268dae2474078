(() => {
  const closed = globalThis[Symbol.for("souk.closed")];
  delete globalThis[Symbol.for("souk.closed")];
  return closed;
})()
