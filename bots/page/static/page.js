"use strict";

// Times in the reader's own zone.
const localTimes = (within) => {
  for (const time of within.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.title = time.textContent;
    const year = moment.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
    const short = { year, month: "short", day: "numeric", hour: "numeric", minute: "2-digit" };
    time.textContent = moment.toLocaleString([], short);
  }
};

// On a phone the menu goes on sideways: the view that is open is in sight.
const showView = () => document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A footnote that a marker leads to shows its quote.
const openTarget = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = target && target.querySelector("details");
  if (details) details.open = true;
};

// Live turns: the server names a turn that changed, and its part of the page is fetched anew.
const replaceTurn = async (thread, id) => {
  const reply = await fetch(`/threads/${thread}/turns/${id}`);
  if (!reply.ok) return;
  const part = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("article");
  const old = document.getElementById(`turn-${id}`);
  if (!part) return;
  localTimes(part);
  const stage = old && old.querySelector("[role=status]");
  const next = part.querySelector("[role=status]");
  if (stage && next) {
    stage.textContent = next.textContent;
    const beginning = part.querySelector(".outcome");
    if (beginning) {
      old.querySelector(".outcome")?.remove();
      stage.before(beginning);
    }
  } else if (old) old.replaceWith(part);
  else document.querySelector("[data-thread]").append(part);
};

const watch = (thread) => {
  const source = new EventSource(thread.dataset.watch);
  let last = Promise.resolve();
  source.onmessage = (event) => {
    const { turn } = JSON.parse(event.data);
    last = last.then(() => replaceTurn(thread.dataset.thread, turn));
  };
  source.addEventListener("rest", () => source.close());
};

// The keyboard: g and a letter goes to a view, / to the search, j and k through a list.
let pending = false;
const step = (by) => {
  const rows = [...document.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement);
  const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
  if (next) next.focus();
};

const press = (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (typing && event.key === "Enter" && (event.ctrlKey || event.metaKey)) typing.form.requestSubmit();
  if (typing && event.key === "Escape") typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (pending) {
    const link = document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`);
    pending = false;
    if (link) link.click();
  } else if (event.key === "g") pending = true;
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (search) { event.preventDefault(); search.focus(); }
  }
};

// Days are the viewer's where no other ones stand in the address.
const ownDays = () => {
  const zone = document.querySelector("[name=zone]");
  if (!zone || zone.value || zone.form.since.value || zone.form.until.value) return;
  zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  document.querySelector("[data-zone]").textContent = zone.value || "UTC";
};

localTimes(document);
ownDays();
showView();
openTarget();
addEventListener("hashchange", openTarget);
addEventListener("keydown", press);
const thread = document.querySelector("[data-watch]");
if (thread) watch(thread);
// What is still being made is looked for again, unless somebody has begun to read it.
const lookAgain = () => {
  if (document.activeElement === document.body && !scrollY) location.reload();
};
if (document.querySelector("[data-again]")) setTimeout(lookAgain, 2000);
