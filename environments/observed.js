// Begins the observation of a page by observer.js, which has just come and left itself here. What has not come is
// told: its page has been seen, but not observed.
(told) => {
  const { soukObserver: observe } = self;
  delete self.soukObserver;
  if (observe) return observe(told);
  document.currentScript?.remove();
  if (told.key && self === top) navigator.sendBeacon(told.path, told.key + JSON.stringify({ absent: true }));
}
