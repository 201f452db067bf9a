"use strict";
// Adds to a page that can be read without it: themes, search and choice in lists, sorting, jumps to rules, copying.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Light and dark. The choice is kept where the browser lets a file keep anything.
const root = document.documentElement;
const theme = document.getElementById("theme");
const stored = (work) => { try { return work(localStorage); } catch { return null; } };
function show(name) {
  if (name) root.dataset.theme = name;
  const dark = (name || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  theme.textContent = dark ? "Light theme" : "Dark theme";
  return dark;
}
let dark = show(stored((storage) => storage.getItem("csl-theme")));
theme.addEventListener("click", () => {
  const name = dark ? "light" : "dark";
  dark = show(name);
  stored((storage) => storage.setItem("csl-theme", name));
});
theme.hidden = false;

// Lists: what does not match the search or a choice is hidden; long lists show their first items until asked for more.
for (const tools of all("[data-tools]")) {
  const list = document.getElementById(tools.dataset.tools);
  const items = [...list.children];
  const search = tools.querySelector("input");
  const choices = all("select", tools);
  const output = tools.querySelector("output");
  const what = output.textContent.trim().split(" ").pop();
  const searched = (item) => (list.dataset.search ? all(list.dataset.search, item) : [item]);
  const texts = new Map();
  const text = (item) => {
    if (!texts.has(item)) texts.set(item, searched(item).map((part) => part.textContent).join(" ").toLowerCase());
    return texts.get(item);
  };
  let room = Number(list.dataset.first) || Infinity;
  const more = document.createElement("button");
  more.type = "button";
  more.className = "more";
  const update = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = items.filter((item) =>
      choices.every((choice) => !choice.value || item.dataset[choice.dataset.key] === choice.value) &&
      words.every((word) => text(item).includes(word)));
    const shown = new Set(matching.slice(0, room));
    for (const item of items) item.hidden = !shown.has(item);
    output.textContent = `${matching.length.toLocaleString("en")} of ${items.length.toLocaleString("en")} ${what}`;
    more.hidden = shown.size === matching.length;
    more.textContent = `Show ${(matching.length - shown.size).toLocaleString("en")} more`;
  };
  more.addEventListener("click", () => { room = Infinity; update(); });
  search.addEventListener("input", update);
  for (const choice of choices) choice.addEventListener("change", update);
  list.addEventListener("reveal", () => { search.value = ""; room = Infinity; update(); });
  list.after(...(list.tagName === "OL" ? [more] : []));
  tools.hidden = false;
  update();
}

// Tables: each heading is a button; numbers start with the largest.
for (const table of all("[data-sortable]")) {
  const body = table.tBodies[0];
  all("th", table.tHead).forEach((head, column) => {
    const numeric = body.rows[0]?.cells[column].classList.contains("n");
    const value = ({ cells: { [column]: cell } }) => (numeric ? Number(cell.dataset.v ?? -1e9) : cell.textContent);
    if (numeric) head.dataset.kind = "number";
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const down = now ? now === "ascending" : numeric;
      for (const other of all("th", table.tHead)) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = [...body.rows].map((row) => [value(row), row]);
      keyed.sort(([a], [b]) => (numeric ? a - b : a.localeCompare(b, "en")) * (down ? -1 : 1));
      body.append(...keyed.map(([, row]) => row));
    });
  });
}

// Jumps: a rule that a search has hidden is shown again, with its examples.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target || target.tagName !== "TR") return;
  if (target.hidden) target.parentElement.dispatchEvent(new Event("reveal"));
  const details = target.querySelector("details");
  if (details) details.open = true;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}
addEventListener("hashchange", reveal);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.ref");
  if (link && link.hash === location.hash) reveal();
});
document.addEventListener("mouseover", (event) => {
  const link = event.target.closest("a.ref:not([title])");
  const row = link && document.getElementById(link.hash.slice(1));
  if (row) link.title = all("code", row).slice(0, 2).map((code) => code.textContent).join(" → ");
});
reveal();

// Derivations: pointing at a node, or moving the focus into it, marks the tokens that it derives, and the other way.
function mark(event) {
  const derivation = event.target.closest(".derivation");
  for (const on of all(".on")) on.classList.remove("on");
  if (!derivation) return;
  const node = event.target.closest(".tree li");
  const token = event.target.closest(".yield [data-n]");
  if (node) {
    node.classList.add("on");
    const [first, end] = [Number(node.dataset.n), Number(node.dataset.end)];
    for (const each of all(".yield [data-n]", derivation)) each.classList.toggle("on", first <= each.dataset.n && each.dataset.n < end);
  } else if (token) {
    for (const each of all(`[data-n="${token.dataset.n}"]`, derivation)) each.classList.add("on");
  }
}
document.addEventListener("mouseover", mark);
document.addEventListener("focusin", mark);

// Copying.
for (const button of all("[data-copy]")) {
  const pre = button.parentElement.querySelector("pre");
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(pre);
    try { await navigator.clipboard.writeText(pre.textContent); } catch { document.execCommand("copy"); }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  button.hidden = false;
}

// Where the reader is, among the sections.
const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
const seen = new Set();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) isIntersecting ? seen.add(target.id) : seen.delete(target.id);
  const first = [...links.keys()].find((id) => seen.has(id));
  if (!first) return;
  for (const [id, link] of links) {
    if (id !== first) { link.removeAttribute("aria-current"); continue; }
    link.setAttribute("aria-current", "true");
    const strip = link.closest("nav");
    strip.scrollLeft = link.offsetLeft - strip.clientWidth / 3;
  }
}, { rootMargin: "-10% 0px -60% 0px" });
for (const section of all("main > section")) observer.observe(section);
