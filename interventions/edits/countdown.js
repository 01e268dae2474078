(() => {
  const clock = document.currentScript.parentNode.querySelector('[data-seconds]');
  const end = performance.now() + 1000 * clock.dataset.seconds;
  const two = (number) => String(number).padStart(2, '0');
  const show = () => {
    const left = Math.max(0, Math.round((end - performance.now()) / 1000));
    const [hours, minutes] = [Math.floor(left / 3600), Math.floor(left / 60) % 60];
    clock.textContent = (hours ? `${hours}:${two(minutes)}` : minutes) + ':' + two(left % 60);
    if (left === 0) clearInterval(timer);
  };
  const timer = setInterval(show, 1000);
})();
