(() => {
  const option = document.currentScript.parentNode, box = option.querySelector('input');
  const { due, amount, large, optOut } = option.dataset;
  const tell = () => fetch(location.pathname, {
    method: 'POST', body: new URLSearchParams({ [box.name]: box.checked ? 1 : '' }), keepalive: true,
  });
  if (!amount) { box.addEventListener('change', tell); return; }
  // How the shop writes 1234.5 tells its signs for groups and decimals, and how many decimals.
  const [, group, point, decimals] = large.match(/1([^\d]?)234([^\d]?)(\d*)/);
  const unit = 10 ** decimals.length, step = Math.round(amount * unit);
  const inUnits = (text) => {
    const [whole, part = ''] = point ? text.split(point) : [text];
    return whole.replace(/\D/g, '') * unit + +part.padEnd(decimals.length, '0').slice(0, decimals.length);
  };
  const written = (units) => {
    const digits = String(units).padStart(decimals.length + 1, '0'), end = digits.length - decimals.length;
    return digits.slice(0, end).replace(/\B(?=(\d{3})+$)/g, group) + (point && point + digits.slice(end));
  };
  const figure = /\d(?:[\d.,'’\u00a0\u202f ]*\d)?/;
  box.addEventListener('change', () => {
    const row = document.querySelector(`[data-charge="${box.name}"]`), sum = document.querySelector(due);
    row.hidden = box.checked === (optOut === '1');
    const moved = row.hidden ? -step : step;
    sum.textContent = sum.textContent.replace(figure, (text) => written(inUnits(text) + moved));
    tell();
  });
})();
