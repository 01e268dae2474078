button => {
  // A size or a colour that has to be chosen first: the first that there is.
  const form = button.closest('form') || document;
  const changed = [];
  for (const select of form.querySelectorAll('select')) {
    const wanted = [...select.options].find(option => option.value && !option.disabled);
    if (!select.value && wanted) { select.value = wanted.value; changed.push(select); }
  }
  const groups = new Set();
  for (const radio of form.querySelectorAll('input[type=radio]')) {
    const group = [...form.querySelectorAll(`input[type=radio][name="${CSS.escape(radio.name)}"]`)];
    if (groups.has(radio.name) || group.some(each => each.checked)) continue;
    groups.add(radio.name); radio.checked = true; changed.push(radio);
  }
  for (const each of changed) each.dispatchEvent(new Event('change', {bubbles: true}));
}
