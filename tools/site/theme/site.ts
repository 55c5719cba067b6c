// The script of all pages: appearance, menu on narrow screens, and search.
import { type Entry, findEntries } from "./search.ts";

const { documentElement: html } = document;
const APPEARANCE = "mooring-docs-appearance";

function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

byId("appearance").addEventListener("click", () => {
  const isDark = html.classList.toggle("dark");
  localStorage.setItem(APPEARANCE, isDark ? "dark" : "light");
});

byId("menu").addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("menu-open");
  byId("menu").setAttribute("aria-expanded", String(isOpen));
});

const input = byId<HTMLInputElement>("search");
const results = byId("results");
/** The index, read at the first search. */
let index: Promise<readonly Entry[]> | undefined;

async function search(): Promise<void> {
  const query = input.value;
  index ??= fetch(input.dataset["index"] ?? "").then((reply) => reply.json());
  const found = findEntries(await index, query);
  if (query !== input.value) return;
  const items = found.map((entry) => {
    const link = document.createElement("a");
    link.href = (input.dataset["root"] ?? "") + entry.path;
    const heading = document.createElement("strong");
    heading.textContent = entry.heading || entry.title;
    const page = document.createElement("span");
    page.textContent = entry.title;
    link.append(heading, page);
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  if (items.length === 0 && query.trim() !== "") {
    const none = document.createElement("li");
    none.textContent = input.dataset["none"] ?? "";
    items.push(none);
  }
  results.replaceChildren(...items);
  results.hidden = query.trim() === "";
}

input.addEventListener("input", () => void search());
input.addEventListener("focus", () => void search());
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    input.focus();
    input.select();
  } else if (event.key === "Escape") {
    results.hidden = true;
    input.blur();
  } else if (event.key === "Enter" && document.activeElement === input) {
    results.querySelector("a")?.click();
  }
});
document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest(".search") === null) results.hidden = true;
});
results.addEventListener("click", () => {
  results.hidden = true;
});

// The sidebar shows the current page.
document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
