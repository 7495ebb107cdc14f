"use strict";
// Shows what the server decided: it sends the texts, puts the answer in its place, and knows no rule of its own.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const MARK = "#p1=", LINK = /^#p\d/, FORMAT = "playground 1", PAUSE = 60;
  const answer = by("answer");
  const undone = [];
  const GONE = `The server does not answer. Start it again: numaproof serve --port ${location.port || 80}; what you typed stays here.`;
  let timer = 0, isAsking = false, isWanted = false, isGone = false, change = null, search = null;
  let era = 0; // of texts that others took the place of: what was asked about them is of no use any more
  let last = null; // the newest answer
  let known = null, edited = null; // texts that an answer was there for; the field in which they are being changed

  const texts = () => Object.fromEntries(data.fields.map((name) => [name, by(name).value]));

  function fill(given) {
    for (const name of data.fields) {
      const text = typeof given[name] === "string" ? given[name] : name === "semantics" ? "current" : "";
      if (by(name).value !== text) by(name).value = text;
    }
    namePreset();
  }

  function namePreset() {
    const machine = by("machine").value.trim();
    by("preset").value = isPreset(machine) ? machine : "";
  }

  const isPreset = (name) => [...by("presets").options].some((one) => one.value === name);

  // A step that can be undone; all that is done in one field, until it is left, is one.
  function step(field = null) {
    const isNew = field === null || field !== edited;
    edited = field;
    if (!isNew || known === null || isSaid(known, undone.at(-1))) return;
    undone.push(known);
    if (undone.length > 100) undone.shift();
    by("undo").disabled = false;
  }

  // Of a link or a file, which anybody can have written.
  function areTexts(found) {
    return typeof found === "object" && found !== null && !Array.isArray(found) && Object.values(found).every((text) => typeof text === "string");
  }

  const isSaid = (some, others) => JSON.stringify(some) === JSON.stringify(others);

  function start(given, example = "") {
    era++;
    change = null;
    fill(given);
    by("example").value = example;
    note(""); // what is said there was of other texts
    soon(0);
  }

  function soon(pause) {
    document.body.dataset.state = "asking";
    clearTimeout(timer);
    timer = setTimeout(() => { timer = 0; ask(); }, pause);
  }

  async function post(path, body, signal) {
    const asked = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
    const answered = await fetch(path, asked);
    return [answered.ok, await answered.json()];
  }

  // One question at a time: what changes meanwhile is asked next, so that the newest answer is the last one.
  async function ask() {
    if (isAsking) { isWanted = true; return; }
    isAsking = true;
    isWanted = false;
    search?.abort();
    const sent = texts(), made = change, asked = era;
    change = null;
    const room = answer.querySelector(".drawing")?.clientWidth || answer.clientWidth;
    const width = Math.floor(room / 20) * 20;
    let good = false, found = { errors: { "": GONE } };
    isGone = false;
    try { [good, found] = await post("page/show", { texts: sent, change: made, width }); } catch { isGone = true; }
    isAsking = false;
    if (asked === era) {
      if (good) show(found, sent); else fail(found.errors, made);
    }
    if (isWanted || change) soon(0); else if (!timer) settle(good && found.searching);
  }

  function settle(searching) {
    known = texts();
    document.body.dataset.state = "ready";
    document.body.dataset.remedies = searching ? "asking" : "ready";
    if (searching) remedies();
  }

  async function remedies() {
    search = new AbortController();
    let html = "";
    try {
      const [good, found] = await post("page/remedies", { texts: texts() }, search.signal);
      html = good ? found.html : "";
      if (!good) html = paragraph(Object.values(found.errors).join("; "));
    } catch (error) {
      if (error.name === "AbortError") return; // something else is asked
      html = paragraph(GONE);
    }
    by("remedies").innerHTML = html;
    document.body.dataset.remedies = "ready";
  }

  function paragraph(text) {
    const made = document.createElement("p");
    made.className = "fault";
    made.textContent = text;
    return made.outerHTML;
  }

  function show(found, sent) {
    last = found;
    if (found.texts) {
      // What was typed meanwhile stays.
      for (const name of data.fields) if (by(name).value === sent[name]) by(name).value = found.texts[name];
    }
    const open = [...answer.querySelectorAll("details[open]")].map((one) => one.dataset.key);
    const isFocused = answer !== document.activeElement && answer.contains(document.activeElement);
    const focus = isFocused ? document.activeElement.closest("[data-key]")?.dataset.key : null;
    answer.innerHTML = found.html;
    if (isFocused) answer.focus({ preventScroll: true }); // a button that is gone leaves its place to the whole
    for (const one of answer.querySelectorAll("details[data-key]")) {
      one.open = open.includes(one.dataset.key);
      if (one.dataset.key === focus) one.querySelector("summary").focus({ preventScroll: true });
    }
    if (!change) inForce(); // else the next answer says it
    by("command").textContent = found.command;
    by("verdict").textContent = found.headline;
    document.title = `${found.headline.split(":").slice(0, 2).join(":")} - numaproof playground`;
    errors({});
  }

  // The controls get the values that are in force; a number or a text that is being typed stays.
  function inForce() {
    if (last === null) return;
    refresh(by("settings"), last.settings);
    refresh(by("amounts"), last.amounts);
  }

  function refresh(place, html) {
    const made = document.createElement("template");
    made.innerHTML = html;
    const fresh = [...made.content.querySelectorAll("[data-path]")], old = [...place.querySelectorAll("[data-path]")];
    if (fresh.length !== old.length || !fresh.every((one, i) => isSame(one, old[i]))) {
      const focus = place.contains(document.activeElement) ? document.activeElement.id : null;
      const open = place.querySelector("details")?.open;
      place.replaceChildren(made.content);
      if (open) place.querySelector("details").open = true;
      if (focus) by(focus)?.focus();
      return;
    }
    fresh.forEach((one, i) => {
      if (one.max !== undefined && old[i].max !== one.max) old[i].max = one.max;
      if (old[i] !== document.activeElement || one.type === "range" || one.tagName === "SELECT") old[i].value = one.value;
      old[i].checked = one.checked;
    });
  }

  const isSame = (one, other) => one.id === other.id && one.dataset.path === other.dataset.path && choices(one) === choices(other);

  const choices = (one) => [...(one.options ?? [])].map((choice) => choice.value).join();

  function fail(told, made) {
    errors(told);
    if (made && isSaid(undone.at(-1), texts())) undone.pop(); // nothing was done
    by("undo").disabled = undone.length === 0;
    by("verdict").textContent = Object.values(told).join("; ");
    document.title = "no answer - numaproof playground";
    answer.querySelector(".searching")?.remove();
    // A change that cannot be made is not tried again: the controls say what is in force.
    if (!change) inForce();
  }

  // What is said has its place beside its field, or else above the answer, which is an earlier one then.
  function errors(told) {
    const isOld = Object.keys(told).length > 0, elsewhere = { ...told };
    answer.classList.toggle("stale", isOld);
    by("old").hidden = !isOld || last === null;
    for (const name of data.fields) {
      const place = by(`${name}-fault`);
      if (!place) continue;
      delete elsewhere[name];
      place.textContent = told[name] ?? "";
      by(name).setAttribute("aria-invalid", name in told);
      if (name in told) by(name).closest("details")?.setAttribute("open", "");
    }
    by("other").textContent = Object.values(elsewhere).join("; ");
  }

  // What a control says, as a change: its value where its path leads.
  function changedBy(one) {
    step(one.type === "range" || one.type === "number" ? one : null);
    const path = JSON.parse(one.dataset.path);
    let value = one.type === "checkbox" ? String(one.checked) : one.value.trim();
    if (value === "" && one.type === "number") return;
    value = value === "" ? null : value + (one.dataset.unit ?? "");
    change ??= {};
    let place = change;
    for (const key of path.slice(0, -1)) place = Object.hasOwn(place, key) ? place[key] : (place[key] = {});
    place[path.at(-1)] = value;
    if (one.type === "range") one.nextElementSibling.value = one.value;
    if (one.type === "number") one.previousElementSibling.value = one.value;
    soon(0);
  }

  by("given").addEventListener("input", (event) => {
    const one = event.target;
    if (one.id === "preset" && !isPreset(one.value)) return;
    noExample();
    if (!one.dataset.path) step(one.tagName === "TEXTAREA" ? one : null);
    if (one.id === "preset") {
      by("machine").value = one.value;
      soon(0);
    } else if (one.dataset.path) {
      if (one.type !== "text") changedBy(one);
    } else {
      if (one.id === "machine") namePreset();
      soon(PAUSE);
    }
  });
  by("given").addEventListener("change", (event) => {
    const one = event.target;
    if (one.dataset.path && one.type === "text") changedBy(one);
  });
  by("given").addEventListener("focusin", () => { edited = null; });
  // What was typed and never came into force goes.
  by("given").addEventListener("focusout", (event) => {
    if (event.target.id === "preset") namePreset();
    else if (event.target.type === "number" && document.body.dataset.state === "ready") inForce();
  });
  by("given").addEventListener("submit", (event) => event.preventDefault());

  answer.addEventListener("click", (event) => {
    const apply = event.target.closest("button[data-apply]");
    if (!apply || answer.classList.contains("stale")) return;
    step();
    noExample();
    change = JSON.parse(apply.dataset.apply);
    soon(0);
    note("Applied: " + apply.parentElement.firstChild.textContent.trim());
  });

  by("example").addEventListener("change", () => {
    const chosen = by("example").value;
    if (chosen === "") return;
    step();
    startExample(chosen);
  });
  function startExample(chosen) {
    start(data.examples[Number(chosen)], chosen);
    note(by("example").selectedOptions[0].title);
  }

  function noExample() {
    by("example").value = "";
    note("");
  }

  by("undo").addEventListener("click", () => {
    const before = undone.pop();
    by("undo").disabled = undone.length === 0;
    edited = null;
    start(before);
  });

  const note = (text) => { by("note").textContent = text; };

  async function flow(bytes, through, most) {
    const reader = new Blob([bytes]).stream().pipeThrough(through).getReader(), parts = [];
    for (let length = 0; ;) {
      const { done, value } = await reader.read();
      if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
      length += value.length;
      if (length > most) { reader.cancel(); throw new Error("too large"); }
      parts.push(value);
    }
  }

  async function link() {
    const told = Object.fromEntries(Object.entries(texts()).filter(([, text]) => text !== ""));
    const packed = await flow(new TextEncoder().encode(JSON.stringify(told)), new CompressionStream("deflate-raw"), Infinity);
    let letters = "";
    for (const byte of packed) letters += String.fromCharCode(byte);
    return MARK + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  async function linked(hash) {
    if (!hash.startsWith(MARK)) throw new Error("of another format");
    const letters = atob(hash.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(letters, (one) => one.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(await flow(packed, new DecompressionStream("deflate-raw"), data.largest)));
    if (!areTexts(found)) throw new Error("no texts");
    return found;
  }

  // `otherwise`: what to show where there is no link, or none that can be read.
  async function fromLink(otherwise) {
    if (!LINK.test(location.hash)) { otherwise(); return; }
    try {
      const found = await linked(location.hash);
      step();
      start(found);
    } catch {
      otherwise();
      note("The link is damaged, or not whole: copy it again.");
    }
  }

  async function copied(text, said) {
    try { await navigator.clipboard.writeText(text); note(said); } catch { note("The browser keeps its clipboard closed: copy it by hand."); }
  }

  by("link").addEventListener("click", async () => {
    history.replaceState(null, "", await link());
    await copied(location.href, `Copied: a link with everything in it, ${location.href.length} characters; nothing of it is sent to a server.`);
  });
  by("copy").addEventListener("click", () => copied(by("command").textContent, "Copied: the command."));

  function download(name, kind, text) {
    const made = document.createElement("a");
    made.href = URL.createObjectURL(new Blob([text], { type: kind }));
    made.download = name;
    made.click();
    setTimeout(() => URL.revokeObjectURL(made.href), 10000);
  }

  by("save").addEventListener("click", () => {
    download("playground.json", "application/json", JSON.stringify({ numaproof: FORMAT, ...texts() }, null, 2) + "\n");
    note("Saved; numaproof serve playground.json opens it again.");
  });
  by("open").addEventListener("click", () => by("file").click());
  by("file").addEventListener("change", async () => {
    const file = by("file").files[0];
    by("file").value = "";
    if (!file) return;
    try {
      if (file.size > data.largest) throw new Error("too large");
      const found = JSON.parse(await file.text());
      if (!areTexts(found) || found.numaproof !== FORMAT) throw new Error("of something else");
      step();
      start(found);
      note(`Opened: ${file.name}`);
    } catch { note(`${file.name}: is not a file that the playground saved; choose one that is.`); }
  });
  by("page").addEventListener("click", async () => {
    try {
      const [good, found] = await post("page/page", { texts: texts() });
      if (good) { download("explanation.html", "text/html", found.page); note("Saved as explanation.html."); } else errors(found.errors);
    } catch { note(GONE); }
  });

  by("verdict").addEventListener("click", (event) => {
    event.preventDefault(); // the address may hold a link's texts
    answer.focus();
    answer.scrollIntoView();
  });
  let width = innerWidth;
  addEventListener("resize", () => { if (Math.abs(innerWidth - width) > 40) { width = innerWidth; soon(200); } });
  addEventListener("hashchange", () => fromLink(() => {}));
  addEventListener("focus", () => { if (isGone) soon(0); }); // back from where the server was started again
  fromLink(() => { if (data.opened) start(data.opened); else startExample("0"); });
})();
