"use strict";
// Filters, links to checks that are folded away, and copying; without it everything is there all the same.
(() => {
  const form = document.querySelector(".filters");
  const search = document.getElementById("search");
  const area = document.getElementById("area");
  const shown = document.getElementById("shown");
  const buttons = [...form.querySelectorAll("button[data-filter]")];
  const checks = [...document.querySelectorAll(".check")].map((element) => ({
    element,
    text: element.textContent.toLowerCase(),
  }));
  const parts = [...document.querySelectorAll(".part")];
  const folds = parts.filter((part) => part.matches("details"));
  let before = null; // which parts were open before anything was filtered

  document.querySelectorAll(".js").forEach((element) => { element.hidden = false; });

  const pressed = (kind) =>
    buttons.filter((one) => one.dataset.filter === kind && one.getAttribute("aria-pressed") === "true").map((one) => one.value);

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = pressed("verdict");
    const levels = pressed("level");
    const active = words.length > 0 || verdicts.length > 0 || levels.length > 0 || area.value !== "";
    let count = 0;
    for (const { element, text } of checks) {
      const { verdict, level } = element.dataset;
      const fits =
        (verdicts.length === 0 || verdicts.includes(verdict)) &&
        (levels.length === 0 || levels.includes(level)) &&
        (area.value === "" || element.dataset.area === area.value) &&
        words.every((word) => text.includes(word));
      element.hidden = !fits;
      count += fits ? 1 : 0;
    }
    for (const part of parts) part.hidden = part.querySelector(".check:not([hidden])") === null;
    if (active && before === null) before = folds.map((fold) => fold.open);
    if (active) folds.forEach((fold) => { fold.open = !fold.hidden; });
    else if (before !== null) {
      folds.forEach((fold, number) => { fold.open = before[number]; });
      before = null;
    }
    shown.textContent = `${count} of ${checks.length} checks`;
  };

  const clear = () => {
    search.value = "";
    area.value = "";
    buttons.forEach((one) => one.setAttribute("aria-pressed", "false"));
    filter();
  };

  const asked = () => {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return ""; // an address that is cut off within a %xx
    }
  };

  const visit = () => {
    const target = document.getElementById(asked());
    if (target === null || !target.matches(".check")) return;
    if (target.hidden) clear();
    for (let fold = target.closest("details"); fold !== null; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
    (target.querySelector("summary") ?? target).focus({ preventScroll: true });
  };

  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code); // the user copies what is selected
      button.firstChild.data = "Selected";
      return;
    }
    button.firstChild.data = "Copied";
  };

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); clear(); });
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  }
  document.querySelectorAll("button.copy").forEach((button) => button.addEventListener("click", () => copy(button)));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches("input, select")) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && event.target === search) {
      clear();
    }
  });
  window.addEventListener("hashchange", visit);
  // A browser brings back what was typed when a page is loaded again.
  filter();
  visit();
})();
