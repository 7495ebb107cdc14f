"use strict";
// Filters, links and folds of a run's page. What is shown was decided and written when the page was made.
(() => {
  const one = (selector, from = document) => from.querySelector(selector);
  const every = (selector, from = document) => [...from.querySelectorAll(selector)];
  const PLACE = ["policy", "scope", "machine"];
  const KEYS = ["outcome", ...PLACE, "theme", "q"];
  const form = one("#filters"), list = one("#list"), help = one("#keys");
  const stories = JSON.parse(one("#stories").textContent);
  const rows = every(":scope > li", list).map((item) => {
    const fold = item.firstElementChild;
    const text = `${item.dataset.id} ${fold.firstElementChild.textContent} ${stories[item.dataset.story]}`;
    return { item, fold, ...item.dataset, text: text.toLowerCase() };
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  const links = every("a[data-policy], a[data-theme], a[data-outcome]").map((link) => {
    const goal = Object.fromEntries(KEYS.filter((key) => key in link.dataset).map((key) => [key, link.dataset[key]]));
    const numbers = every(".n", link).map((part) => [part.classList[1], part, part.firstElementChild]);
    return { link, goal, numbers };
  });
  const goals = new Map(links.map(({ link, goal }) => [link, goal]));
  const total = one("#count").textContent;
  document.documentElement.classList.add("js");

  // The state of the page is its address: #policy=restricted&q=gpu, and i= for the instance that was opened last.
  const quoted = (text) =>
    encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "?")).replace(/%(2F|5B|5D|3A|2C)/g, decodeURIComponent);
  const address = (state) => {
    const parts = [...KEYS, "i"].filter((key) => state[key]).map((key) => `${key}=${quoted(state[key])}`);
    return parts.length ? `#${parts.join("&")}` : location.pathname + location.search;
  };
  const plain = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const stateOf = (hash) => {
    const pairs = hash.slice(1).split("&").filter((part) => part.includes("="));
    const read = pairs.map((part) => [part.slice(0, part.indexOf("=")), plain(part.slice(part.indexOf("=") + 1))]);
    return Object.fromEntries(read.filter(([key, value]) => value && (key === "i" || KEYS.includes(key))));
  };
  let state = {};
  const go = (next, how = "pushState") => {
    history[how](null, "", address(next));
    show(next);
  };
  const cleared = () => ({ i: state.i });

  // How many match, of every cell, row, column and theme: each kind of filter counts what the others leave.
  const key = (values) => values.join("\n");
  const add = (counts, at, outcome) => {
    const found = counts.get(at) ?? counts.set(at, { passed: 0, failed: 0, skipped: 0 }).get(at);
    found[outcome] += 1;
  };
  const show = (next) => {
    state = next;
    const words = (state.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (row, name) => !state[name] || row[name] === state[name];
    const places = new Map(), themes = new Map();
    let shown = 0;
    for (const row of rows) {
      const found = fits(row, "outcome") && words.every((word) => row.text.includes(word));
      const there = PLACE.every((name) => fits(row, name));
      const about = fits(row, "theme");
      if (found && about) {
        const { policy, scope, machine, outcome } = row;
        const cells = [[policy, scope, machine], [policy, scope, ""], [policy, "", ""], ["", "", machine], ["", "", ""]];
        cells.forEach((cell) => add(places, key(cell), outcome));
      }
      if (found && there) add(themes, row.theme, row.outcome);
      const visible = found && there && about;
      row.item.hidden = !visible && row.id !== state.i;
      shown += visible;
    }
    for (const { link, goal, numbers } of links) {
      const counts = ("theme" in goal ? themes.get(goal.theme) : places.get(key(PLACE.map((name) => goal[name])))) ?? {};
      for (const [outcome, part, number] of numbers) {
        part.hidden = !counts[outcome];
        number.textContent = counts[outcome] ?? 0;
      }
      if (numbers.length) link.dataset.state = ["failed", "passed", "skipped"].find((outcome) => counts[outcome]) ?? "none";
      const chosen = Object.keys(goal).every((name) => goal[name] === (state[name] ?? "")) && Object.values(goal).some(Boolean);
      link.setAttribute("aria-current", String(chosen));
      link.setAttribute("href", address(toggled(goal, chosen)));
    }
    for (const name of KEYS) {
      const field = form.elements[name], value = state[name] ?? "";
      if (field.value !== value) field.value = value;
      field.classList.toggle("chosen", Boolean(value));
    }
    const filtered = KEYS.some((name) => state[name]);
    one("#count").value = filtered ? `${shown.toLocaleString("en")} of ${total}` : total;
    one("#clear").hidden = !filtered;
    one("#nothing").hidden = shown > 0 || !filtered;
    const unknown = one("#unknown");
    unknown.hidden = !state.i || byId.has(state.i);
    unknown.textContent = unknown.hidden ? "" : `This run has no instance ${state.i}.`;
  };
  const toggled = (goal, chosen) => ({
    ...state,
    i: "",
    ...(chosen ? Object.fromEntries(Object.keys(goal).map((name) => [name, ""])) : goal),
  });

  // What is packed: chunks of texts, each chunk inflated once.
  const chunks = new Map();
  const inflated = async (id) => {
    const bytes = Uint8Array.from(atob(one(`#${id}`).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };
  const packed = async (kind, place) => {
    const [chunk, number] = place.split(".");
    const id = `${kind}-${chunk}`;
    if (!chunks.has(id)) chunks.set(id, inflated(id));
    return (await chunks.get(id))[number];
  };
  const fill = async (row) => {
    const body = row.fold.lastElementChild;
    if (body.dataset.filled) return;
    body.dataset.filled = "begun";
    try {
      body.innerHTML = await packed("details", row.detail);
      const put = async (place) => {
        place.innerHTML = await packed("drawings", place.dataset.drawing);
      };
      await Promise.all(every("[data-drawing]", body).map(put));
      body.dataset.filled = "whole";
    } catch (error) {
      body.textContent = `This browser cannot unpack what is kept here: ${error.message}`;
    }
  };

  const open = async (row) => {
    row.item.hidden = false;
    row.fold.open = true;
    await fill(row);
    row.item.scrollIntoView({ block: "start" });
    row.fold.firstElementChild.focus({ preventScroll: true });
  };
  // As the address says: the instance that it names is open, and the one that the address before named is not.
  const follow = () => {
    const next = stateOf(location.hash);
    const [before, now] = [byId.get(state.i), byId.get(next.i)];
    if (before && before !== now) before.fold.open = false;
    show(next);
    if (now) open(now);
  };
  window.addEventListener("hashchange", () => {
    if (!location.hash || location.hash.includes("=")) follow();
  });
  list.addEventListener(
    "toggle",
    (event) => {
      const row = byId.get(event.target.parentElement?.dataset.id);
      if (row?.fold !== event.target) return;
      if (row.fold.open) fill(row);
      if (row.fold.open && state.i !== row.id) go({ ...state, i: row.id });
      if (!row.fold.open && state.i === row.id) go({ ...state, i: "" }, "replaceState");
    },
    true,
  );

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const usual = !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (usual && goals.has(link)) {
      event.preventDefault();
      go(toggled(goals.get(link), link.getAttribute("aria-current") === "true"));
      const head = one("#instances").getBoundingClientRect();
      if (head.top > innerHeight * 0.7 || link.closest("header, .failures")) form.scrollIntoView({ block: "start" });
    }
    if (usual && link?.dataset.open) {
      event.preventDefault();
      const same = state.i === link.dataset.open;
      history[same ? "replaceState" : "pushState"](null, "", address({ i: link.dataset.open }));
      follow();
    }
    const button = event.target.closest("button");
    if (button?.dataset.show) {
      const pair = button.closest(".pair");
      pair.dataset.shown = button.dataset.show;
      every("[data-show]", pair).forEach((each) => each.setAttribute("aria-pressed", String(each === button)));
    }
    if (button?.id === "clear" || button?.id === "clear-too") {
      go(cleared());
      form.elements.q.focus();
    }
    if (button?.id === "help") help.showModal();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => {
    if (event.target.name !== "q") go({ ...state, [event.target.name]: event.target.value });
  });
  let waiting = 0;
  form.elements.q.addEventListener("input", (event) => {
    clearTimeout(waiting);
    // The first letter of a search is a step back, the next ones are not.
    const how = state.q ? "replaceState" : "pushState";
    waiting = setTimeout(() => go({ ...state, q: event.target.value.trim() }, how), 60);
  });

  const move = (step) => {
    const visible = rows.filter((row) => !row.item.hidden);
    const at = visible.findIndex((row) => row.item.contains(document.activeElement));
    const goal = visible[at < 0 ? (step > 0 ? 0 : visible.length - 1) : at + step];
    goal?.fold.firstElementChild.focus({ preventScroll: true });
    goal?.item.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const at = event.target;
    if (at.matches("input")) {
      if (event.key === "Escape") at.blur();
      if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        move(1);
      }
      return;
    }
    if (at.matches("select, textarea")) return;
    const inList = at.matches("#list > li > details > summary");
    const actions = {
      j: () => move(1),
      k: () => move(-1),
      c: () => go(cleared()),
      "/": () => form.elements.q.focus(),
      "?": () => help.showModal(),
      ...(inList && { ArrowDown: () => move(1), ArrowUp: () => move(-1) }),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
  // Paper has no folds: what is folded there is opened.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = every(".failure:not([open])");
    folded.forEach((failure) => failure.setAttribute("open", ""));
  });
  window.addEventListener("afterprint", () => folded.forEach((failure) => failure.removeAttribute("open")));
  every("a[data-open]").forEach((link) => link.setAttribute("href", address({ i: link.dataset.open })));
  follow();
})();
