// Spares reloading, and lets keys do what links and buttons do. Every page works without it.
"use strict";

(() => {
  const body = document.body;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  // The clock of the server counts: only how much passes is taken from here.
  const ahead = Number(body.dataset.now) * 1000 - Date.now();
  const now = () => Date.now() + ahead;

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  // --- Times: in the same words as the server's ---------------------------------------------

  const two = (number) => String(number).padStart(2, "0");

  function left(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
    return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  }

  function ago(seconds) {
    if (seconds < 10) return "just now";
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
      if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
    }
    return `${Math.floor(seconds)} s ago`;
  }

  function countDown() {
    for (const each of all("[data-until]")) {
      each.textContent = left(Number(each.dataset.until) - now() / 1000);
    }
  }

  function countUp() {
    for (const each of all("[data-ago]")) {
      each.textContent = ago(now() / 1000 - Number(each.dataset.ago));
    }
  }

  // --- Parts: fetched when there is news of them, at most once a second ----------------------

  const waiting = new Map();  // part -> how much is new of it
  const busy = new Set();
  const APART_MS = 1000;

  function isRead(part) {
    const active = document.activeElement;
    const focused = active && active !== body && active !== part && part.contains(active);
    return part.matches(":hover") || focused || part.scrollTop > 0;
  }

  function note(part) {
    waiting.set(part, (waiting.get(part) || 0) + 1);
    if (part.dataset.part !== "nav" && isRead(part)) offer(part);
    else fetchSoon(part);
  }

  function offer(part) {
    let button = one("[data-new]", part);
    if (!button) {
      button = element("button", { type: "button", className: "small" });
      button.dataset.new = "";
      button.addEventListener("click", () => fetchSoon(part));
      (one("header", part) || part).append(button);
    }
    button.textContent = `${waiting.get(part)} new`;
  }

  function fetchSoon(part) {
    if (busy.has(part)) return;
    busy.add(part);
    refresh(part).finally(() => setTimeout(() => {
      busy.delete(part);
      if (waiting.get(part) && !isRead(part)) fetchSoon(part);
    }, APART_MS));
  }

  async function textOf(name) {
    const address = new URL(location.href);
    address.searchParams.set("part", name);
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    if (answer.redirected) location.reload();
    if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
    return answer.text();
  }

  async function refresh(part) {
    part.setAttribute("aria-busy", "true");
    waiting.delete(part);
    try {
      swap(part, await textOf(part.dataset.part));
    } catch {
      fail(part);
    } finally {
      part.removeAttribute("aria-busy");
    }
  }

  function swap(part, text) {
    const known = new Set(all("[data-row]", part).map((row) => row.dataset.row));
    const made = document.createElement("template");
    made.innerHTML = text;
    part.replaceChildren(made.content);
    for (const row of all("[data-row]", part)) {
      if (known.size && !known.has(row.dataset.row)) {
        row.classList.add("fresh");
        setTimeout(() => row.classList.remove("fresh"), 2000);
      }
    }
    countDown();
    countUp();
    if (part.dataset.part === "nav") tellCount(part);
  }

  function fail(part) {
    if (one("[data-failed]", part)) return;
    const again = element("button", { type: "button", className: "plain small", textContent: "Try again" });
    again.addEventListener("click", () => fetchSoon(part));
    const words = element("span", { className: "c-block", textContent: "This part could not be loaded. " });
    const told = element("p", { className: "meta" }, words, again);
    told.dataset.failed = "";
    part.append(told);
  }

  let counted = Number(one("[data-waiting]")?.dataset.waiting || 0);

  function tellCount(nav) {
    const count = Number(one("[data-waiting]", nav)?.dataset.waiting || 0);
    document.title = `${count ? `(${count}) ` : ""}${body.dataset.title} · Interlock`;
    if (count > counted) say(`${count} ${count === 1 ? "question waits" : "questions wait"} for you.`);
    counted = count;
  }

  function say(text) {
    one("[data-announce]").textContent = text;
  }

  // What stood still while somebody read it is shown once they are done.
  for (const kind of ["mouseleave", "focusout"]) {
    document.addEventListener(kind, (event) => {
      const part = event.target instanceof Element ? event.target.closest("[data-part]") : null;
      if (part && waiting.get(part)) setTimeout(() => { if (!isRead(part)) fetchSoon(part); }, 300);
    }, true);
  }

  // --- The open question: never swapped; what became of it takes the place of the form --------

  async function lookAtQuestion() {
    const open = one("[data-question][data-waits]");
    if (!open) return;
    let text = "";
    try {
      text = (await textOf("ended")).trim();
    } catch {
      return;
    }
    if (!text || !open.isConnected || !open.hasAttribute("data-waits")) return;
    open.removeAttribute("data-waits");
    const place = one("[data-ended]", open);
    place.innerHTML = text;
    place.hidden = false;
    one("[data-decide]", open)?.remove();
    one(".clock", open)?.remove();
    say("This question is closed.");
  }

  function watchExpiry() {
    const clock = one("[data-question][data-waits] .clock [data-until]");
    if (clock && Number(clock.dataset.until) * 1000 + 1500 < now()) lookAtQuestion();
  }

  // --- News ----------------------------------------------------------------------------------

  let position = body.dataset.position;
  let heard = Date.now();
  let lost = false;
  const live = one("[data-live]");

  function take(event) {
    heard = Date.now();
    if (event.lastEventId) position = event.lastEventId;
    const subject = event.type;
    let told = {};
    try {
      told = JSON.parse(event.data);
    } catch {
      // What cannot be read names nothing: everything of its kind is looked at.
    }
    for (const part of all("[data-part][data-news]")) {
      const wants = part.dataset.news.split(" ").includes(subject);
      if (wants && (!part.dataset.run || part.dataset.run === told.run)) note(part);
    }
    if (subject === "approval") lookAtQuestion();
    if (all("[data-reload-on]").some((each) => each.dataset.reloadOn === subject)) location.reload();
  }

  function listen() {
    const source = new EventSource(`/events?after=${encodeURIComponent(position)}`);
    for (const subject of ["record", "approval", "run", "policy", "loop"]) {
      source.addEventListener(subject, take);
    }
    source.addEventListener("open", () => { lost = false; heard = Date.now(); tellLive(); });
    source.addEventListener("error", () => {
      lost = true;
      tellLive();
      // A browser tries again by itself, unless it was refused.
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
    });
  }

  function tellLive() {
    const since = Math.floor((Date.now() - heard) / 1000);
    live.hidden = false;
    live.classList.toggle("lost", lost);
    const more = element("span", { className: "only-wide", textContent: `last update ${since} s ago` });
    if (lost) live.replaceChildren("reconnecting", more);
    else if (live.textContent !== "live") live.textContent = "live";
    const form = one("[data-decide]");
    const warned = form && one("[data-doubt]", form);
    if (form && lost && since > 30 && !warned) {
      const words = "No contact with the server: your answer may not arrive.";
      const doubt = element("p", { className: "meta c-block", textContent: words });
      doubt.dataset.doubt = "";
      form.append(doubt);
    } else if (warned && !lost) {
      warned.remove();
    }
  }

  // --- Deciding: one key arms, Enter decides -------------------------------------------------

  const VERBS = { approve: "Approving", deny: "Denying" };

  function arm(form, answer) {
    disarm(form);
    const button = one(`button[value="${answer}"]`, form);
    if (!button || button.disabled) return;
    const name = button.firstChild.textContent.trim();
    const question = answer === "approve" ? `${name}: exactly this?` : `${name}? The agent gets your note.`;
    const action = one(".detail .exact.lead") || one(".detail .diff .name") || one(".detail h1");
    const yes = element("button", { type: "button", className: button.className }, `Yes, ${name.toLowerCase()} `,
      element("kbd", { textContent: "Enter" }));
    yes.addEventListener("click", () => form.requestSubmit(button));
    const back = element("button", { type: "button" }, "Back ", element("kbd", { textContent: "Esc" }));
    back.addEventListener("click", () => disarm(form));
    const told = element("code", { textContent: action ? action.textContent.trim().slice(0, 400) : "" });
    const armed = element("div", { className: answer === "approve" ? "notice ask" : "notice block" },
      element("div", {}, element("p", { className: "strong", textContent: question }), element("p", {}, told)),
      element("div", { className: "row" }, yes, back));
    armed.dataset.armed = answer;
    form.prepend(armed);
    if (answer === "deny") one("[name=note]", form).focus();
    else yes.focus();
  }

  function disarm(form) {
    one("[data-armed]", form)?.remove();
  }

  async function send(form, button) {
    const fields = new URLSearchParams(new FormData(form, button));
    const buttons = all("button", form).filter((each) => !each.disabled);
    const label = button && [...button.childNodes];
    disarm(form);
    one("[data-unsent]", form)?.remove();
    buttons.forEach((each) => { each.disabled = true; });
    if (button) {
      button.replaceChildren(element("span", { className: "wait" }), VERBS[button.value] || "Sending");
    }
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields });
      if (answer.redirected) {
        location.assign(answer.url);
        return;
      }
      show(await answer.text());
    } catch {
      buttons.forEach((each) => { each.disabled = false; });
      if (button) button.replaceChildren(...label);
      tellUnsent(form, button);
    }
  }

  function show(text) {
    const made = new DOMParser().parseFromString(text, "text/html");
    const main = one("#main", made);
    if (!main) throw new Error("no page");
    one("#main").replaceWith(document.adoptNode(main));
    one("[role=alert]")?.scrollIntoView({ block: "nearest" });
    countDown();
    countUp();
  }

  function tellUnsent(form, button) {
    const again = element("button", { type: "button", textContent: "Send again" });
    again.addEventListener("click", () => form.requestSubmit(button));
    const told = element("div", { className: "notice block" },
      element("div", {},
        element("p", { className: "strong", textContent: "Your answer did not arrive." }),
        element("p", { textContent: "The server could not be reached. Nothing was decided; your note is still in the field." })),
      element("div", { className: "row" }, again));
    told.setAttribute("role", "alert");
    told.dataset.unsent = "";
    form.prepend(told);
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-decide]")) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });

  // --- Keys ----------------------------------------------------------------------------------

  const PAGES = { o: "/", i: "/inbox", r: "/runs", p: "/policy", l: "/loop", a: "/audit" };
  let leading = 0;

  const isField = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

  function move(by) {
    const steps = all(".steps > li");
    const links = steps.length ? steps : all("[data-row]").map((row) => one("a", row)).filter(Boolean);
    if (!links.length) return;
    let at = links.findIndex((each) => each === document.activeElement || each.contains(document.activeElement));
    if (at < 0) at = links.findIndex((each) => each.closest("[aria-current]"));
    const next = links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    if (steps.length) next.tabIndex = -1;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  function choose(value) {
    const radio = one(`[data-decide] input[name=choice][value=${value}]`);
    if (!radio || radio.disabled) return;
    radio.checked = true;
    (value === "retry" ? one("[data-decide] [name=note]") : radio).focus();
  }

  function toggleFolds() {
    const folds = all(".steps details");
    const open = folds.some((each) => !each.open);
    folds.forEach((each) => { each.open = open; });
  }

  function leave(target) {
    const form = one("[data-decide]");
    if (form && one("[data-armed]", form)) disarm(form);
    if (isField(target) || (target instanceof HTMLElement && target !== body)) target.blur();
  }

  const KEYS = {
    "?": () => location.assign("/keys"),
    "/": () => { const field = one("[data-search]"); if (field) field.focus(); else location.assign("/search"); },
    g: () => { leading = Date.now(); },
    j: () => move(1),
    k: () => move(-1),
    u: () => location.assign(body.dataset.page === "inbox" ? "/inbox" : "/runs"),
    ".": () => { for (const part of waiting.keys()) fetchSoon(part); },
    a: () => decide("approve"),
    d: () => decide("deny"),
    n: () => one("[data-decide] [name=note]")?.focus(),
    t: () => one("[data-its-run]")?.click(),
    r: () => choose("retry"),
    s: () => choose("skip"),
    x: () => choose("abort"),
    e: toggleFolds,
    l: () => one(".looping-head")?.scrollIntoView({ block: "start" }),
    f: () => one(".steps > li")?.scrollIntoView({ block: "start" }),
  };

  function decide(answer) {
    const form = one("[data-decide]");
    if (form) arm(form, answer);
  }

  function enter(event) {
    const form = one("[data-decide]");
    const armed = form && one("[data-armed]", form);
    // A button or a link that has the focus does its own work.
    if (!armed || (event.target instanceof Element && event.target.closest("a, button"))) return;
    event.preventDefault();
    form.requestSubmit(one(`button[value="${armed.dataset.armed}"]`, form));
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (event.key === "Escape") { leave(event.target); return; }
    if (event.key === "Enter") { enter(event); return; }
    if (!("keys" in body.dataset) || isField(event.target)) return;
    if (leading && Date.now() - leading < 1500 && PAGES[event.key]) {
      leading = 0;
      location.assign(PAGES[event.key]);
      return;
    }
    leading = 0;
    const act = KEYS[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  // --- Begin -----------------------------------------------------------------------------------

  const themed = one("[data-theme-button]");
  if (themed && !document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches) {
    themed.value = "light";
    themed.textContent = "Light";
  }
  for (const each of all("[data-print]")) {
    each.hidden = false;
    each.addEventListener("click", () => print());
  }
  for (const each of all("[data-here]")) each.value = location.pathname + location.search;

  setInterval(() => {
    if (document.hidden) return;
    countDown();
    watchExpiry();
    if (live && lost) tellLive();
  }, 1000);
  setInterval(() => { if (!document.hidden) countUp(); }, 60000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { countDown(); countUp(); } });
  if (live) listen();
})();
