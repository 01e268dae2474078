// Begins the observation of a page by observer.js, which has just come and left itself here. What has not come is
// told: its page has been seen, but not observed.
(told) => {
  const { soukObserver: observe } = self;
  delete self.soukObserver;
  if (observe) return observe(told);
  document.currentScript?.remove();
  // A page that a script has fetched brings this once more; the page into which it was put is observed.
  if (!document.dispatchEvent(new CustomEvent(told.path, { cancelable: true }))) return;
  if (told.key && (self === top || told.framed && parent === top)) navigator.sendBeacon(told.path, told.key + JSON.stringify({ absent: true }));
}
